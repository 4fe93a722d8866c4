-- What vector indexes are over (ACT-6); the vectors themselves are elsewhere.

-- name: live_vector_indexes
-- Of all projects.
SELECT * FROM vector_indexes WHERE archived_at IS NULL ORDER BY id;

-- name: indexable_artifacts
SELECT id, artifact_type_id, schema_data FROM artifacts
WHERE project_id = $1 AND artifact_type_id = $2 AND id > $3 ORDER BY id LIMIT $4;
