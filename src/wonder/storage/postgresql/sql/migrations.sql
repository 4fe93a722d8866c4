-- PostgreSQL looks names up along the search path, and lets transactions run beside each other unless they ask for a lock.

-- name: table_exists
-- A row if there is a table or view of this name.
SELECT 1 WHERE to_regclass(quote_ident($1)) IS NOT NULL;

-- name: lock_migrations
-- Held until the transaction ends; the number is "wonder" in hexadecimal.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(131318158943602)) AS locked;

-- name: columns_of_table
SELECT column_name::text, data_type::text FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position;
