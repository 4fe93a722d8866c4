-- A backup of PostgreSQL is made by pg_dump, which is told the moment to dump; SQLite copies its file.

-- name: export_snapshot
SELECT pg_export_snapshot();

-- name: free_leases
-- Of a database that was restored: the owners of the leases when it was dumped own those of another database.
UPDATE leases SET deadline_ms = 0;
