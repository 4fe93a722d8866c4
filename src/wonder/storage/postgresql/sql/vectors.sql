-- SQLite and PostgreSQL take a list in JSON apart with functions of different names.

-- name: indexable_artifacts_by_id
SELECT id, artifact_type_id, schema_data FROM artifacts
WHERE project_id = $1 AND id IN (SELECT json_array_elements_text($2::text::json));
