-- What callers have changed (KEY-5): who, when, what, and how it ended. Nothing changes a row; retention alone deletes
-- old ones. `id` is a ULID of the time, so that all is found by time. A record of no project is about a workspace, or the
-- whole server.
CREATE TABLE audit_records (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    who TEXT NOT NULL,
    who_kind TEXT NOT NULL,
    key_id TEXT,
    role TEXT NOT NULL,
    operation TEXT NOT NULL,
    workspace_id TEXT,
    project_id TEXT,
    input TEXT NOT NULL,
    ids TEXT NOT NULL,
    before TEXT,
    after TEXT,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_records_project ON audit_records (project_id, id);
