-- Artifacts: what actions have stored for good (ACT-6). The content lies in the object store under storage_key, and is
-- durable there before the row is written. `part` says which of its step's artifacts it is; whatever the same step of
-- the same token stores again as that part takes the row over, with its id (INV-4).
CREATE TABLE artifacts (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    node TEXT NOT NULL,
    path_id TEXT NOT NULL,
    step TEXT NOT NULL,
    part TEXT NOT NULL,
    artifact_type_id TEXT COLLATE "C" NOT NULL,
    artifact_type_version BIGINT,
    storage_key TEXT COLLATE "C" NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    schema_data JSON NOT NULL,
    created_ms BIGINT NOT NULL
);
CREATE INDEX artifacts_run ON artifacts (run_id, id);
CREATE INDEX artifacts_project ON artifacts (project_id, id);
CREATE INDEX artifacts_content ON artifacts (storage_key);

CREATE VIEW artifact_log AS SELECT
    artifacts.id, artifacts.run_id AS workflow_run_id, artifacts.node, artifacts.path_id, artifacts.token_id,
    artifacts.step, artifacts.part, COALESCE(artifact_types.name, artifacts.artifact_type_id) AS artifact_type,
    artifacts.artifact_type_id, artifacts.artifact_type_version, artifacts.content_type, artifacts.size_bytes,
    artifacts.storage_key, artifacts.schema_data, artifacts.project_id, projects.workspace_id,
    to_char(to_timestamp(artifacts.created_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
FROM artifacts
LEFT JOIN projects ON projects.id = artifacts.project_id
LEFT JOIN artifact_types ON artifact_types.id = artifacts.artifact_type_id
    AND artifact_types.version = artifacts.artifact_type_version;
