-- Tenants, definitions with their versions, and what is bound to a project.

CREATE TABLE schema_migrations (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at TEXT NOT NULL,
    wonder_version TEXT NOT NULL
) STRICT;

CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
) STRICT;
CREATE UNIQUE INDEX workspaces_name ON workspaces (name) WHERE archived_at IS NULL;

CREATE TABLE workspace_settings (
    workspace_id TEXT NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    allow_private_addresses INTEGER NOT NULL CHECK (allow_private_addresses IN (0, 1)),
    allow_shell INTEGER NOT NULL CHECK (allow_shell IN (0, 1)),
    allowed_model_providers TEXT,
    allowed_mcp_servers TEXT,
    budget TEXT NOT NULL
) STRICT;

CREATE TABLE projects (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    description TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
) STRICT;
CREATE UNIQUE INDEX projects_name ON projects (workspace_id, name) WHERE archived_at IS NULL;

CREATE TABLE project_settings (
    project_id TEXT NOT NULL PRIMARY KEY REFERENCES projects (id),
    default_model_profile_id TEXT,
    files_root TEXT,
    foreach_limit INTEGER NOT NULL,
    call_depth_max INTEGER NOT NULL,
    rate_limits TEXT NOT NULL,
    budget TEXT NOT NULL,
    snapshot_policy TEXT NOT NULL,
    retention TEXT NOT NULL
) STRICT;

CREATE TABLE libraries (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT REFERENCES workspaces (id),
    name TEXT NOT NULL,
    description TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT
) STRICT;
CREATE UNIQUE INDEX libraries_name ON libraries (workspace_id, name) WHERE archived_at IS NULL;
CREATE UNIQUE INDEX libraries_public_name ON libraries (name) WHERE workspace_id IS NULL AND archived_at IS NULL;

CREATE TABLE action_defs (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT REFERENCES projects (id),
    library_id TEXT REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    kind TEXT NOT NULL,
    tags TEXT NOT NULL,
    implementation TEXT NOT NULL,
    requires TEXT,
    produces TEXT,
    execution TEXT,
    idempotency TEXT,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
) STRICT;

CREATE TABLE prompt_specs (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT REFERENCES projects (id),
    library_id TEXT REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    system_prompt TEXT,
    template TEXT NOT NULL,
    tags TEXT,
    requires TEXT NOT NULL,
    produces TEXT NOT NULL,
    examples TEXT,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
) STRICT;

CREATE TABLE artifact_types (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT REFERENCES projects (id),
    library_id TEXT REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    schema TEXT NOT NULL,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
) STRICT;

CREATE TABLE task_defs (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT REFERENCES projects (id),
    library_id TEXT REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    timeout_ms INTEGER,
    queue TEXT,
    tags TEXT NOT NULL,
    input_schema TEXT NOT NULL,
    output_schema TEXT NOT NULL,
    retry TEXT,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
) STRICT;

CREATE TABLE steps (
    task_def_id TEXT NOT NULL,
    task_def_version INTEGER NOT NULL,
    id TEXT NOT NULL,
    ref TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    action_id TEXT NOT NULL,
    action_version INTEGER NOT NULL,
    on_failure TEXT NOT NULL,
    input_mapping TEXT,
    output_mapping TEXT,
    condition TEXT,
    PRIMARY KEY (task_def_id, task_def_version, id),
    UNIQUE (task_def_id, task_def_version, ref),
    UNIQUE (task_def_id, task_def_version, ordinal),
    FOREIGN KEY (task_def_id, task_def_version) REFERENCES task_defs (id, version),
    FOREIGN KEY (action_id, action_version) REFERENCES action_defs (id, version)
) STRICT;
CREATE INDEX steps_action ON steps (action_id, action_version);

CREATE TABLE workflow_defs (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    project_id TEXT REFERENCES projects (id),
    library_id TEXT REFERENCES libraries (id),
    content_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    initial_node_id TEXT NOT NULL,
    timeout_ms INTEGER,
    on_timeout TEXT NOT NULL,
    tags TEXT NOT NULL,
    input_schema TEXT NOT NULL,
    output_schema TEXT NOT NULL,
    context_schema TEXT NOT NULL,
    PRIMARY KEY (id, version),
    UNIQUE (project_id, name, version),
    UNIQUE (library_id, name, version),
    CHECK ((project_id IS NULL) <> (library_id IS NULL))
) STRICT;

CREATE TABLE nodes (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    id TEXT NOT NULL,
    ref TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    name TEXT,
    task_id TEXT NOT NULL,
    task_version INTEGER NOT NULL,
    input_mapping TEXT,
    output_mapping TEXT,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ref),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version),
    FOREIGN KEY (task_id, task_version) REFERENCES task_defs (id, version)
) STRICT;
CREATE INDEX nodes_task ON nodes (task_id, task_version);

CREATE TABLE transitions (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    id TEXT NOT NULL,
    ref TEXT,
    ordinal INTEGER NOT NULL,
    from_node_id TEXT NOT NULL,
    to_node_id TEXT NOT NULL,
    priority INTEGER NOT NULL,
    spawn_count INTEGER,
    condition TEXT,
    foreach TEXT,
    synchronization TEXT,
    loop_config TEXT,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ref),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version, from_node_id)
        REFERENCES nodes (workflow_def_id, workflow_def_version, id),
    FOREIGN KEY (workflow_def_id, workflow_def_version, to_node_id)
        REFERENCES nodes (workflow_def_id, workflow_def_version, id)
) STRICT;

CREATE TABLE triggers (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    workflow_id TEXT NOT NULL,
    for_each TEXT,
    workflow_timeout_ms INTEGER,
    max_retries INTEGER,
    inputs TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE INDEX triggers_workflow ON triggers (workflow_id);

CREATE TABLE model_profiles (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    provider TEXT NOT NULL,
    model_id TEXT NOT NULL,
    cost_per_1k_input_tokens REAL,
    cost_per_1k_output_tokens REAL,
    parameters TEXT NOT NULL,
    execution_config TEXT
) STRICT;
CREATE UNIQUE INDEX model_profiles_name ON model_profiles (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE mcp_servers (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    connection TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE vector_indexes (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    embedding_provider TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    auto_index INTEGER NOT NULL CHECK (auto_index IN (0, 1)),
    artifact_type_ids TEXT NOT NULL,
    content_fields TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX vector_indexes_name ON vector_indexes (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    description TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    pinned_version INTEGER,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    FOREIGN KEY (workflow_def_id, pinned_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE UNIQUE INDEX workflows_name ON workflows (project_id, name) WHERE archived_at IS NULL;
CREATE INDEX workflows_definition ON workflows (workflow_def_id);

CREATE TABLE context_tables (
    table_name TEXT NOT NULL PRIMARY KEY,
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('table', 'view')),
    layout_format INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE INDEX context_tables_definition ON context_tables (workflow_def_id, workflow_def_version);
