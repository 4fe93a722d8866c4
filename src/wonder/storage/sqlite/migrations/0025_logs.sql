-- What actions, their programs and Wonder itself have logged (EVT-4a). `id` is a ULID of the time, so that all is found by
-- time; `level` is 10 debug, 20 info, 30 warning, 40 error. A record of no project is about the process itself.
CREATE TABLE log_records (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    level INTEGER NOT NULL,
    service TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    project_id TEXT,
    run_id TEXT,
    node TEXT,
    token_id TEXT,
    message TEXT NOT NULL,
    metadata TEXT,
    error_stack TEXT
) STRICT;
CREATE INDEX log_records_project ON log_records (project_id, id);
CREATE INDEX log_records_run ON log_records (run_id, id) WHERE run_id IS NOT NULL;

-- Older records lie compressed in the object store; here is what is in which object. `run_ids` is a list of the runs that
-- it has records of, or NULL where they are too many.
CREATE TABLE log_archives (
    storage_key TEXT NOT NULL PRIMARY KEY,
    project_id TEXT,
    first_id TEXT NOT NULL,
    last_id TEXT NOT NULL,
    records INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    level_max INTEGER NOT NULL,
    run_ids TEXT
) STRICT;
CREATE INDEX log_archives_last ON log_archives (last_id);

CREATE VIEW logs AS SELECT
    log_records.id, CASE WHEN log_records.level >= 40 THEN 'error' WHEN log_records.level >= 30 THEN 'warning'
        WHEN log_records.level >= 20 THEN 'info' ELSE 'debug' END AS level,
    log_records.service, log_records.trace_id, log_records.message, log_records.run_id AS workflow_run_id,
    log_records.node, log_records.token_id, log_records.metadata, log_records.error_stack, log_records.project_id,
    projects.workspace_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', log_records.at_ms / 1000.0, 'unixepoch') AS logged_at
FROM log_records
LEFT JOIN projects ON projects.id = log_records.project_id;
