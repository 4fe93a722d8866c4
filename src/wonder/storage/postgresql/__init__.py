"""Everything of PostgreSQL's own: the store, commits, queries, backup, the role that only reads."""
