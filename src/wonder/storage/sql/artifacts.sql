-- Artifacts: what lies in the object store, and whose it is (ACT-6).

-- name: put_artifact
-- Over itself: when the answer to the first commit was lost, and when a task is run again (INV-4).
INSERT INTO artifacts (
    id, project_id, run_id, token_id, node, path_id, step, part, artifact_type_id, artifact_type_version, storage_key,
    content_type, size_bytes, schema_data, created_ms
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
ON CONFLICT (id) DO UPDATE SET
    artifact_type_id = excluded.artifact_type_id, artifact_type_version = excluded.artifact_type_version,
    storage_key = excluded.storage_key, content_type = excluded.content_type, size_bytes = excluded.size_bytes,
    schema_data = excluded.schema_data, created_ms = excluded.created_ms;

-- name: artifact
SELECT * FROM artifacts WHERE id = $1;

-- name: artifacts_of_project
SELECT * FROM artifacts WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3;

-- name: artifact_contents
-- What a backup has to have: every content that an artifact names, once, page by page.
SELECT DISTINCT storage_key, size_bytes FROM artifacts WHERE storage_key > $1 ORDER BY storage_key LIMIT $2;

-- name: newest_artifact_of_node
-- What a step has stored: an output that was too large for an event belongs to no step.
SELECT * FROM artifacts WHERE run_id = $1 AND node = $2 AND step <> '' ORDER BY created_ms DESC, id DESC LIMIT 1;
