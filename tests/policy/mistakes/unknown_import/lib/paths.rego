package checkrein.lib.paths

outside(path) if path.inside == false
