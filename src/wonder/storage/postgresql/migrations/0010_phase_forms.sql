-- The phase form of the workflow versions that were written in it (PHS-1): the text to the byte as it was deployed last,
-- the schemas of its steps (PHS-4), and the tools that these come from, as they were then.
CREATE TABLE phase_forms (
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    written BYTEA NOT NULL,
    schemas TEXT NOT NULL,
    tools TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
);

-- What MCP servers have said of their tools. Kept by what a server is, not by its name: another command is asked anew.
CREATE TABLE tool_schemas (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    connection_hash TEXT COLLATE "C" NOT NULL,
    tools TEXT NOT NULL,
    fetched_at TEXT NOT NULL,
    PRIMARY KEY (project_id, connection_hash)
);
