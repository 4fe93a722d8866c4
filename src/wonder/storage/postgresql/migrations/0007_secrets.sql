-- Secrets of a project or of a whole workspace, sealed with AES-256-GCM (INV-8). `sealed` is the nonce and what was
-- encrypted; `key_id` says which key opens it, and no key is ever in the database.
CREATE TABLE secrets (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" REFERENCES workspaces (id),
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK ((workspace_id IS NULL) <> (project_id IS NULL))
);
CREATE UNIQUE INDEX secrets_of_workspace ON secrets (workspace_id, name) WHERE workspace_id IS NOT NULL;
CREATE UNIQUE INDEX secrets_of_project ON secrets (project_id, name) WHERE project_id IS NOT NULL;
