-- Lists of names are JSON parameters and tags are stored as JSON; each database unfolds JSON with a function of its own.

-- name: newest_versions_in_project
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- The highest number ever given to each name, archived ones included: a number is never given twice.
SELECT name, id, version, content_hash, archived_at FROM {table} AS found
WHERE project_id = $1 AND name IN (SELECT json_array_elements_text(CAST($2 AS JSON)))
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = found.id);

-- name: newest_versions_in_library
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
SELECT name, id, version, content_hash, archived_at FROM {table} AS found
WHERE library_id = $1 AND name IN (SELECT json_array_elements_text(CAST($2 AS JSON)))
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = found.id);

-- name: indexes_of_artifact_type
-- The vector indexes that embed artifacts of a type.
SELECT 'vector index' AS kind, name, CAST(NULL AS BIGINT) AS version, CAST(NULL AS TEXT) AS stored_in,
    CAST(NULL AS TEXT) AS id, CAST(NULL AS TEXT) AS library_id
FROM vector_indexes
WHERE archived_at IS NULL AND $1 IN (SELECT json_array_elements_text(artifact_type_ids))
ORDER BY name;

-- name: named
-- tables: task_defs, action_defs, prompt_specs
-- One page of a project's definitions, live ($4 is 0) or archived (1), each at its newest version. The page begins
-- after the name $2 and id $3; $5 is a pattern for the name, $7 a tag.
SELECT * FROM {table} AS listed
WHERE project_id = $1 AND (name, id) > ($2, $3) AND (archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1)
    AND lower(name) LIKE $5 ESCAPE '!' AND (CAST($7 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM json_array_elements_text(listed.tags) AS tag WHERE tag = $7))
    AND version = (
        SELECT max(version) FROM {table} AS newest
        WHERE newest.id = listed.id AND (newest.archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1))
ORDER BY name, id LIMIT $6;

-- name: named(workflows)
-- Each with the description and tags of the version that a start takes, or would if it were not archived.
SELECT listed.*, definition.description AS definition_description, definition.tags AS tags
FROM workflows AS listed LEFT JOIN workflow_defs AS definition
    ON definition.id = listed.workflow_def_id AND definition.version = coalesce(
        listed.pinned_version,
        (SELECT max(version) FROM workflow_defs AS newest
         WHERE newest.id = listed.workflow_def_id
            AND (newest.archived_at IS NULL OR newest.archived_at = listed.archived_at)))
WHERE listed.project_id = $1 AND (listed.name, listed.id) > ($2, $3)
    AND (listed.archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1) AND lower(listed.name) LIKE $5 ESCAPE '!'
    AND (CAST($7 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM json_array_elements_text(definition.tags) AS tag WHERE tag = $7))
ORDER BY listed.name, listed.id LIMIT $6;
