-- Artifacts: what actions have stored for good (ACT-6). The content lies in the object store under storage_key, and is
-- durable there before the row is written. `part` says which of its step's artifacts it is; whatever the same step of
-- the same token stores again as that part takes the row over, with its id (INV-4).
CREATE TABLE artifacts (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    node TEXT NOT NULL,
    path_id TEXT NOT NULL,
    step TEXT NOT NULL,
    part TEXT NOT NULL,
    artifact_type_id TEXT NOT NULL,
    artifact_type_version INTEGER,
    storage_key TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    schema_data TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_run ON artifacts (run_id, id);
CREATE INDEX artifacts_project ON artifacts (project_id, id);
CREATE INDEX artifacts_content ON artifacts (storage_key);

CREATE VIEW artifact_log AS SELECT
    artifacts.id, artifacts.run_id AS workflow_run_id, artifacts.node, artifacts.path_id, artifacts.token_id,
    artifacts.step, artifacts.part, COALESCE(artifact_types.name, artifacts.artifact_type_id) AS artifact_type,
    artifacts.artifact_type_id, artifacts.artifact_type_version, artifacts.content_type, artifacts.size_bytes,
    artifacts.storage_key, artifacts.schema_data, artifacts.project_id, projects.workspace_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', artifacts.created_ms / 1000.0, 'unixepoch') AS created_at
FROM artifacts
LEFT JOIN projects ON projects.id = artifacts.project_id
LEFT JOIN artifact_types ON artifact_types.id = artifacts.artifact_type_id
    AND artifact_types.version = artifacts.artifact_type_version;
