-- Secrets of a project or of a whole workspace, sealed with AES-256-GCM (INV-8). `sealed` is the nonce and what was
-- encrypted; `key_id` says which key opens it, and no key is ever in the database.
CREATE TABLE secrets (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT REFERENCES workspaces (id),
    project_id TEXT REFERENCES projects (id),
    name TEXT NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK ((workspace_id IS NULL) <> (project_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX secrets_of_workspace ON secrets (workspace_id, name) WHERE workspace_id IS NOT NULL;
CREATE UNIQUE INDEX secrets_of_project ON secrets (project_id, name) WHERE project_id IS NOT NULL;
