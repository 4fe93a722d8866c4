-- What SQLite's tables know of the journal's file. PostgreSQL has no such file.
SELECT 1;
