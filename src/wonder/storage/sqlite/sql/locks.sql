-- BEGIN IMMEDIATE has locked out every other writer already; SQLite knows no FOR UPDATE.

-- name: lock_owner
-- tables: projects, libraries
SELECT id FROM {table} WHERE id = $1;
