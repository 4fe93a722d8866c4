-- Which tables and views were generated for the context of which definition version (CTX-2).

-- name: register_context_table
-- Registering twice is harmless: making the tables again is.
INSERT INTO context_tables (table_name, workflow_def_id, workflow_def_version, kind, layout_format, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (table_name) DO UPDATE SET
    workflow_def_id = excluded.workflow_def_id, workflow_def_version = excluded.workflow_def_version;

-- name: context_tables_of
SELECT table_name, kind FROM context_tables
WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY kind, table_name;

-- name: owner_of_context_table
-- Names are compared without case, because SQLite takes names that differ only in case for the same.
SELECT workflow_def_id FROM context_tables WHERE lower(table_name) = lower($1);
