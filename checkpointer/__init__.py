"""Everything durable, in Postgres."""
