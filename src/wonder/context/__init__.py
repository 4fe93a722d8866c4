"""A JSON Schema as SQL tables: their DDL, incremental writes, reading back. Pure."""
