-- PostgreSQL lets transactions run beside each other, so who numbers versions takes the owner's row first.

-- name: lock_owner
-- tables: projects, libraries
-- NO KEY: rows that merely refer to the owner may still be inserted meanwhile.
SELECT id FROM {table} WHERE id = $1 FOR NO KEY UPDATE;
