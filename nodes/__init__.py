"""One file per node of the graph: state in, update out."""
