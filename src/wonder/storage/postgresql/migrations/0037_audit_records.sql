-- What callers have changed (KEY-5): who, when, what, and how it ended. Nothing changes a row; retention alone deletes
-- old ones. `id` is a ULID of the time, so that all is found by time. A record of no project is about a workspace, or the
-- whole server.
CREATE TABLE audit_records (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    who TEXT NOT NULL,
    who_kind TEXT NOT NULL,
    key_id TEXT COLLATE "C",
    role TEXT NOT NULL,
    operation TEXT NOT NULL,
    workspace_id TEXT COLLATE "C",
    project_id TEXT COLLATE "C",
    input JSON NOT NULL,
    ids JSON NOT NULL,
    before JSON,
    after JSON,
    outcome TEXT NOT NULL
);
CREATE INDEX audit_records_project ON audit_records (project_id, id);
