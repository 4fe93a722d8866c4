-- Which tables and views were generated for the context of which definition version (CTX-2).

-- name: register_context_table
-- Registering twice is harmless: making the tables again is.
INSERT INTO context_tables (table_name, workflow_def_id, workflow_def_version, kind, layout_format, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (table_name) DO UPDATE SET
    workflow_def_id = excluded.workflow_def_id, workflow_def_version = excluded.workflow_def_version;

-- name: register_shared_context_table
INSERT INTO shared_context_tables (table_name, workflow_def_id, workflow_def_version, layout_format, created_at)
VALUES ($1, $2, $3, $4, $5);

-- name: register_query_view
INSERT INTO query_views (name, workflow_def_id, workflow_def_version, column_names, definition, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET
    workflow_def_version = excluded.workflow_def_version, column_names = excluded.column_names,
    definition = excluded.definition, created_at = excluded.created_at;

-- name: forget_query_view
DELETE FROM query_views WHERE name = $1;

-- name: forget_context_view
DELETE FROM context_tables WHERE table_name = $1 AND kind = 'view';

-- name: context_tables_of
SELECT table_name, kind FROM context_tables
WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY kind, table_name;

-- name: is_context_shared
SELECT 1 FROM shared_context_tables WHERE workflow_def_id = $1 AND workflow_def_version = $2 LIMIT 1;

-- name: owner_of_context_table
-- Names are compared without case, because SQLite takes names that differ only in case for the same.
SELECT workflow_def_id FROM context_tables WHERE lower(table_name) = lower($1)
UNION ALL
SELECT workflow_def_id FROM query_views WHERE lower(name) = lower($1);

-- name: generated_in_catalogue
-- How many tables the catalogue has for contexts, and how many views of other workflows; no more than $2 are counted.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM context_tables WHERE kind = 'table' LIMIT $2) AS made),
    (SELECT count(*) FROM
        (SELECT 1 FROM context_tables WHERE kind = 'view' AND workflow_def_id <> $1 LIMIT $2) AS others);

-- name: context_views
-- The views that are in the catalogue, with what each is made from.
SELECT views.table_name, views.workflow_def_id, views.workflow_def_version,
    workflow_defs.input_schema, workflow_defs.context_schema, workflow_defs.output_schema,
    (SELECT count(*) FROM shared_context_tables AS shared
     WHERE shared.workflow_def_id = views.workflow_def_id
         AND shared.workflow_def_version = views.workflow_def_version) AS shared_tables
FROM context_tables AS views JOIN workflow_defs
    ON workflow_defs.id = views.workflow_def_id AND workflow_defs.version = views.workflow_def_version
WHERE views.kind = 'view' ORDER BY views.table_name;

-- name: all_context_views
-- The newest view of each name, in the catalogue or kept for queries.
SELECT table_name, workflow_def_id, workflow_def_version, created_at FROM context_tables WHERE kind = 'view'
UNION ALL
SELECT name, workflow_def_id, workflow_def_version, created_at FROM query_views;

-- name: all_workflow_versions
SELECT id, version FROM workflow_defs ORDER BY id, version;
