-- The journal of SQLite, which spares it pages in small commits. PostgreSQL writes every commit to its tables.
SELECT 1;
