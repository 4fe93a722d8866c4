-- What actions, their programs and Wonder itself have logged (EVT-4a). `id` is a ULID of the time, so that all is found by
-- time; `level` is 10 debug, 20 info, 30 warning, 40 error. A record of no project is about the process itself.
CREATE TABLE log_records (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    level BIGINT NOT NULL,
    service TEXT NOT NULL,
    trace_id TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    node TEXT,
    token_id TEXT COLLATE "C",
    message TEXT NOT NULL,
    metadata JSON,
    error_stack TEXT
);
CREATE INDEX log_records_project ON log_records (project_id, id);
CREATE INDEX log_records_run ON log_records (run_id, id) WHERE run_id IS NOT NULL;

-- Older records lie compressed in the object store; here is what is in which object. `run_ids` is a list of the runs that
-- it has records of, or NULL where they are too many.
CREATE TABLE log_archives (
    storage_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C",
    first_id TEXT COLLATE "C" NOT NULL,
    last_id TEXT COLLATE "C" NOT NULL,
    records BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    level_max BIGINT NOT NULL,
    run_ids JSON
);
CREATE INDEX log_archives_last ON log_archives (last_id);

CREATE VIEW logs AS SELECT
    log_records.id, CASE WHEN log_records.level >= 40 THEN 'error' WHEN log_records.level >= 30 THEN 'warning'
        WHEN log_records.level >= 20 THEN 'info' ELSE 'debug' END AS level,
    log_records.service, log_records.trace_id, log_records.message, log_records.run_id AS workflow_run_id,
    log_records.node, log_records.token_id, log_records.metadata, log_records.error_stack, log_records.project_id,
    projects.workspace_id,
    to_timestamp(log_records.at_ms / 1000.0) AS logged_at
FROM log_records
LEFT JOIN projects ON projects.id = log_records.project_id;
