-- API keys (KEY-1): only a hash of what is shown once. Without a workspace a key is of the whole server, without a project
-- of its whole workspace. Times are texts in UTC, whose order is that of time.
CREATE TABLE api_keys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret_hash BYTEA NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'author', 'admin')),
    workspace_id TEXT COLLATE "C" REFERENCES workspaces (id),
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    created_at TEXT COLLATE "C" NOT NULL,
    created_by TEXT NOT NULL,
    created_by_key TEXT COLLATE "C",
    expires_at TEXT COLLATE "C",
    last_used_at TEXT COLLATE "C",
    revoked_at TEXT COLLATE "C",
    revoked_by TEXT,
    CHECK (project_id IS NULL OR workspace_id IS NOT NULL)
);
CREATE INDEX api_keys_age ON api_keys (created_at, id);
CREATE INDEX api_keys_made_with ON api_keys (created_by_key) WHERE created_by_key IS NOT NULL;
