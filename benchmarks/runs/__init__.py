"""Measures whole runs: from the start to the end of real workflows, on SQLite and PostgreSQL."""
