-- Which MCP servers somebody has agreed to start or to reach (RES-6): `approval_hash` is over what a server is and the
-- folder that it is started in, so that anything else needs an approval of its own. `what` is the command, or the address.
CREATE TABLE mcp_approvals (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    approval_hash TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    what TEXT NOT NULL,
    folder TEXT,
    approved_by TEXT NOT NULL,
    approved_at TEXT NOT NULL,
    PRIMARY KEY (project_id, approval_hash)
);
