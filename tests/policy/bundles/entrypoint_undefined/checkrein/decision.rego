# METADATA
# title: An entrypoint of one's own
# description: Refused when it is loaded; what it answers must not be believed either.
package checkrein

decision := "unused" if input.phase == "never"
