"""One suite per port, to be run against every adapter of that port."""
