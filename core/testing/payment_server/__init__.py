"""A real payment service over SQLite for tests of targets: a process of its own, with faults."""
