-- API keys (KEY-1): only a hash of what is shown once. Without a workspace a key is of the whole server, without a project
-- of its whole workspace. Times are texts in UTC, whose order is that of time.
CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    workspace_id TEXT REFERENCES workspaces (id),
    project_id TEXT REFERENCES projects (id),
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_by_key TEXT,
    expires_at TEXT,
    last_used_at TEXT,
    revoked_at TEXT,
    revoked_by TEXT,
    CHECK (project_id IS NULL OR workspace_id IS NOT NULL)
) STRICT;
CREATE INDEX api_keys_age ON api_keys (created_at, id);
CREATE INDEX api_keys_made_with ON api_keys (created_by_key) WHERE created_by_key IS NOT NULL;
