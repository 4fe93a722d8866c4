-- The file of SQLite's journal. PostgreSQL writes every commit to its tables.
SELECT 1;
