-- SQLite keeps its own catalogue, and BEGIN IMMEDIATE has locked out every other migrator already.

-- name: table_exists
-- A row if there is a table or view of this name; SQLite's names ignore case.
SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = $1 COLLATE NOCASE;

-- name: lock_migrations
-- Nothing to do: the transaction itself is the lock.
SELECT 1;

-- name: key_of_table
-- The columns of its primary key, in order.
SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk;
