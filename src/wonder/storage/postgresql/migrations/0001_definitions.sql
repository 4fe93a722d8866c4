-- Tenants, definitions with their versions, and what is bound to a project.

CREATE TABLE schema_migrations (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    wonder_version TEXT NOT NULL
);

CREATE TABLE workspaces (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
);
CREATE UNIQUE INDEX workspaces_name ON workspaces (name) WHERE archived_at IS NULL;

CREATE TABLE workspace_settings (
    workspace_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    allow_private_addresses BOOLEAN NOT NULL,
    allow_shell BOOLEAN NOT NULL,
    allowed_model_providers JSON,
    allowed_mcp_servers JSON,
    budget JSON NOT NULL
);

CREATE TABLE projects (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
);
CREATE UNIQUE INDEX projects_name ON projects (workspace_id, name) WHERE archived_at IS NULL;

CREATE TABLE project_settings (
    project_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES projects (id),
    default_model_profile_id TEXT COLLATE "C",
    files_root TEXT,
    foreach_limit BIGINT NOT NULL,
    call_depth_max BIGINT NOT NULL,
    rate_limits JSON NOT NULL,
    budget JSON NOT NULL,
    snapshot_policy JSON NOT NULL,
    retention JSON NOT NULL
);

CREATE TABLE libraries (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workspace_id TEXT COLLATE "C" REFERENCES workspaces (id),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
);
CREATE UNIQUE INDEX libraries_name ON libraries (workspace_id, name) WHERE archived_at IS NULL;
CREATE UNIQUE INDEX libraries_public_name ON libraries (name) WHERE workspace_id IS NULL AND archived_at IS NULL;

CREATE TABLE action_defs (
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    library_id TEXT COLLATE "C" REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    kind TEXT NOT NULL,
    tags JSON NOT NULL,
    implementation JSON NOT NULL,
    requires JSON,
    produces JSON,
    execution JSON,
    idempotency JSON,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
);

CREATE TABLE prompt_specs (
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    library_id TEXT COLLATE "C" REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    system_prompt TEXT,
    template TEXT NOT NULL,
    tags JSON,
    requires JSON NOT NULL,
    produces JSON NOT NULL,
    examples JSON,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
);

CREATE TABLE artifact_types (
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    library_id TEXT COLLATE "C" REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    schema JSON NOT NULL,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
);

CREATE TABLE task_defs (
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    library_id TEXT COLLATE "C" REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    timeout_ms BIGINT,
    queue TEXT COLLATE "C",
    tags JSON NOT NULL,
    input_schema JSON NOT NULL,
    output_schema JSON NOT NULL,
    retry JSON,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
);

CREATE TABLE steps (
    task_def_id TEXT COLLATE "C" NOT NULL,
    task_def_version BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    action_id TEXT COLLATE "C" NOT NULL,
    action_version BIGINT NOT NULL,
    on_failure TEXT NOT NULL,
    input_mapping JSON,
    output_mapping JSON,
    condition JSON,
    PRIMARY KEY (task_def_id, task_def_version, id),
    UNIQUE (task_def_id, task_def_version, ref),
    UNIQUE (task_def_id, task_def_version, ordinal),
    FOREIGN KEY (task_def_id, task_def_version) REFERENCES task_defs (id, version),
    FOREIGN KEY (action_id, action_version) REFERENCES action_defs (id, version)
);
CREATE INDEX steps_action ON steps (action_id, action_version);

CREATE TABLE workflow_defs (
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT COLLATE "C" REFERENCES projects (id),
    library_id TEXT COLLATE "C" REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    initial_node_id TEXT COLLATE "C" NOT NULL,
    timeout_ms BIGINT,
    on_timeout TEXT NOT NULL,
    tags JSON NOT NULL,
    input_schema JSON NOT NULL,
    output_schema JSON NOT NULL,
    context_schema JSON NOT NULL,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
);

CREATE TABLE nodes (
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    name TEXT,
    task_id TEXT COLLATE "C" NOT NULL,
    task_version BIGINT NOT NULL,
    input_mapping JSON,
    output_mapping JSON,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ref),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version),
    FOREIGN KEY (task_id, task_version) REFERENCES task_defs (id, version)
);
CREATE INDEX nodes_task ON nodes (task_id, task_version);

CREATE TABLE transitions (
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    ref TEXT COLLATE "C",
    ordinal BIGINT NOT NULL,
    from_node_id TEXT COLLATE "C" NOT NULL,
    to_node_id TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    spawn_count BIGINT,
    condition JSON,
    foreach JSON,
    synchronization JSON,
    loop_config JSON,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ref),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version, from_node_id)
        REFERENCES nodes (workflow_def_id, workflow_def_version, id),
    FOREIGN KEY (workflow_def_id, workflow_def_version, to_node_id)
        REFERENCES nodes (workflow_def_id, workflow_def_version, id)
);

CREATE TABLE triggers (
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    workflow_id TEXT COLLATE "C" NOT NULL,
    for_each TEXT,
    workflow_timeout_ms BIGINT,
    max_retries BIGINT,
    inputs JSON NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
);
CREATE INDEX triggers_workflow ON triggers (workflow_id);

CREATE TABLE model_profiles (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    provider TEXT NOT NULL,
    model_id TEXT NOT NULL,
    cost_per_1k_input_tokens DOUBLE PRECISION,
    cost_per_1k_output_tokens DOUBLE PRECISION,
    parameters JSON NOT NULL,
    execution_config JSON
);
CREATE UNIQUE INDEX model_profiles_name ON model_profiles (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE mcp_servers (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    connection JSON NOT NULL
);
CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE vector_indexes (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    embedding_provider TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    dimensions BIGINT NOT NULL,
    auto_index BOOLEAN NOT NULL,
    artifact_type_ids JSON NOT NULL,
    content_fields JSON NOT NULL
);
CREATE UNIQUE INDEX vector_indexes_name ON vector_indexes (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE workflows (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    description TEXT NOT NULL,
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    pinned_version BIGINT,
    enabled BOOLEAN NOT NULL,
    FOREIGN KEY (workflow_def_id, pinned_version) REFERENCES workflow_defs (id, version)
);
CREATE UNIQUE INDEX workflows_name ON workflows (project_id, name) WHERE archived_at IS NULL;
CREATE INDEX workflows_definition ON workflows (workflow_def_id);

CREATE TABLE context_tables (
    table_name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('table', 'view')),
    layout_format BIGINT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
);
CREATE INDEX context_tables_definition ON context_tables (workflow_def_id, workflow_def_version);
