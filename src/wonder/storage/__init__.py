"""What is remembered: one Store over named SQL, on SQLite and on PostgreSQL."""
