-- A list of names goes in as one JSON parameter; each database unfolds JSON with a function of its own.

-- name: newest_versions_in_project
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- The highest number ever given to each name, archived ones included: a number is never given twice.
SELECT name, id, version, content_hash, archived_at FROM {table} AS found
WHERE project_id = $1 AND name IN (SELECT value FROM json_each($2))
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = found.id);

-- name: newest_versions_in_library
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
SELECT name, id, version, content_hash, archived_at FROM {table} AS found
WHERE library_id = $1 AND name IN (SELECT value FROM json_each($2))
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = found.id);

-- name: indexes_of_artifact_type
-- The vector indexes that embed artifacts of a type.
SELECT 'vector index' AS kind, name, CAST(NULL AS BIGINT) AS version FROM vector_indexes
WHERE archived_at IS NULL AND $1 IN (SELECT value FROM json_each(artifact_type_ids))
ORDER BY name;
