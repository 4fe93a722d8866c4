"""Everything of SQLite's own: the store, its journal, commits, queries, backup."""
