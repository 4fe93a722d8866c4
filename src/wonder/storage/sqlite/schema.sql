-- The whole schema on SQLite. JSON is text, flags are 0 or 1, times are ISO 8601 text in UTC.

-- Which migrations were applied, by whom and when.
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
    budget TEXT NOT NULL,
    allowed_model_base_urls TEXT,
    model_prices TEXT NOT NULL DEFAULT '[]'
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
    retention TEXT NOT NULL,
    run_limits TEXT NOT NULL DEFAULT '{}',
    record_io TEXT NOT NULL DEFAULT 'all'
) STRICT;

-- A library without a workspace is public (RES-1).
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

-- The five kinds of definition begin alike. One name in one owner is one id, whatever the version (RES-2).
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

-- The order in which nodes and transitions were written counts (CTL-5, CTL-9), so both have an ordinal.
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

-- What starts when a run of this version has completed. The target may be missing at that time (PHS-6): no foreign key.
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
    on_timeout TEXT,
    PRIMARY KEY (workflow_def_id, workflow_def_version, id),
    UNIQUE (workflow_def_id, workflow_def_version, ordinal),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE INDEX triggers_workflow ON triggers (workflow_id);

-- Without versions, read when used (RES-2). An archived one leaves its name free.
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

-- What a person starts: a definition, pinned or at its newest version (RES-3).
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

-- The tables and views that were generated for the context of a definition version (CTX-2).
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
CREATE INDEX context_tables_name ON context_tables (lower(table_name));

-- The versions whose contexts are in tables that definitions share, and which these are (CTX-2).
CREATE TABLE shared_context_tables (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    layout_format INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version, table_name),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT, WITHOUT ROWID;

-- The views for people that are not in the catalogue: `definition` makes one for the connection that wants it.
CREATE TABLE query_views (
    name TEXT NOT NULL PRIMARY KEY,
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    column_names TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE UNIQUE INDEX query_views_name ON query_views (lower(name));

-- Runs: what happens when a definition is started, and all that a process needs to go on with them after a crash.
-- Times are milliseconds since 1970, as the engine has them; the views at the end show them as text.
-- These tables are written with every step of every run, so none has a foreign key, and each index has earned its cost.

CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    workflow_id TEXT,
    workflow_def_id TEXT NOT NULL,
    workflow_version INTEGER NOT NULL,
    status TEXT NOT NULL,
    paused_reason TEXT,
    gate_item_id TEXT,
    timeout_left_ms INTEGER,
    depth INTEGER NOT NULL,
    parent_run_id TEXT,
    parent_token_id TEXT,
    parent_node_id TEXT,
    retry_of_run_id TEXT,
    forked_from_run_id TEXT,
    forked_from_sequence INTEGER,
    idempotency_key TEXT,
    input_hash TEXT,
    owner_id TEXT,
    input TEXT,
    output TEXT,
    error TEXT,
    created_ms INTEGER NOT NULL,
    started_ms INTEGER,
    completed_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX runs_idempotency_key ON runs (workflow_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_live ON runs (id) WHERE completed_ms IS NULL;
CREATE INDEX runs_project ON runs (project_id, id);
CREATE INDEX runs_parent ON runs (parent_run_id, id) WHERE parent_run_id IS NOT NULL;
-- Lists say of each run whether it was retried.
CREATE INDEX runs_retries ON runs (retry_of_run_id) WHERE retry_of_run_id IS NOT NULL;
-- Lists of runs by status, by workflow and by caller, newest first. What most runs only pass through is in no index by
-- status: those that run are found among the live ones, most have completed, and those that failed have rows of their own.
CREATE INDEX runs_status ON runs (project_id, status, id) WHERE completed_ms IS NULL AND status <> 'running';
CREATE INDEX runs_cancelled ON runs (project_id, id) WHERE status = 'cancelled';
CREATE INDEX runs_workflow ON runs (workflow_def_id, id);

-- Why runs have failed, to find them by: the first 200 characters of the error's code and of the node's ref.
CREATE TABLE run_failures (
    run_id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    code TEXT NOT NULL,
    node TEXT
) STRICT;
CREATE INDEX run_failures_project ON run_failures (project_id, run_id);
CREATE INDEX run_failures_workflow ON run_failures (workflow_def_id, run_id);
CREATE INDEX run_failures_code ON run_failures (project_id, code, run_id);
CREATE INDEX run_failures_node ON run_failures (project_id, node, run_id) WHERE node IS NOT NULL;

-- What runs have cost, the sum of their events; those that have cost nothing have no row.
CREATE TABLE run_costs (
    run_id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    cost_usd REAL NOT NULL
) STRICT;
CREATE INDEX run_costs_project ON run_costs (project_id, run_id);

-- How many runs there are: the sum over the parts, of which the engine writes 0 and retention 1.
CREATE TABLE run_counts (
    project_id TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    status TEXT NOT NULL,
    part INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    PRIMARY KEY (project_id, workflow_def_id, status, part)
) STRICT;

CREATE TABLE tokens (
    run_id TEXT NOT NULL,
    id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    path_id TEXT NOT NULL,
    parent_token_id TEXT,
    group_id TEXT,
    branch_index INTEGER NOT NULL,
    branch_total INTEGER NOT NULL,
    fan_out_transition_id TEXT,
    status TEXT NOT NULL,
    born INTEGER NOT NULL,
    held INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    input TEXT,
    last_error TEXT,
    state_data TEXT,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    PRIMARY KEY (run_id, id)
) STRICT;
-- By a column that is NULL, not by a list of statuses: SQLite takes eight times as long to see whether a row fits a list.
CREATE INDEX tokens_live ON tokens (run_id) WHERE ended_ms IS NULL;

CREATE TABLE run_groups (
    run_id TEXT NOT NULL,
    id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    path_id TEXT NOT NULL,
    outer_group_id TEXT,
    outer_index INTEGER NOT NULL,
    segments TEXT NOT NULL,
    fired TEXT NOT NULL,
    PRIMARY KEY (run_id, id)
) STRICT;

CREATE TABLE run_branches (
    run_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    branch_index INTEGER NOT NULL,
    status TEXT NOT NULL,
    abandoned INTEGER NOT NULL,
    entered_node_id TEXT,
    arrived_as INTEGER NOT NULL,
    output TEXT NOT NULL,
    error TEXT,
    replaced TEXT,
    PRIMARY KEY (run_id, group_id, branch_index)
) STRICT;

CREATE TABLE run_loops (
    run_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    branch_index INTEGER NOT NULL,
    transition_id TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_ms INTEGER NOT NULL,
    PRIMARY KEY (run_id, group_id, branch_index, transition_id)
) STRICT;

-- `events` is a list of lists: sequence, step, type, at_ms, node_id, token_id, path_id, metadata, tokens, cost_usd.
CREATE TABLE event_turns (
    run_id TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    events TEXT NOT NULL,
    tokens_made INTEGER,
    bytes_written INTEGER,
    PRIMARY KEY (run_id, first)
) STRICT;

CREATE TABLE snapshots (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    context TEXT NOT NULL,
    tokens TEXT NOT NULL,
    rest TEXT NOT NULL,
    PRIMARY KEY (run_id, sequence)
) STRICT;

CREATE TABLE timers (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    due_ms INTEGER NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT;
CREATE INDEX timers_due ON timers (due_ms);

-- Who is asked, who has claimed a question, what several approvers have answered so far, and what is shown beside it (ACT-4).
-- `people` has the names of those whose turn it is, as JSON.
CREATE TABLE inbox_items (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    token_id TEXT,
    kind TEXT NOT NULL,
    prompt TEXT NOT NULL,
    schema TEXT NOT NULL,
    input TEXT,
    due_ms INTEGER,
    status TEXT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    created_ms INTEGER NOT NULL,
    closed_ms INTEGER,
    assignee TEXT,
    role TEXT,
    claimed_by TEXT,
    people TEXT,
    evidence TEXT,
    rules TEXT,
    progress TEXT
) STRICT;
CREATE INDEX inbox_items_open ON inbox_items (project_id, id) WHERE closed_ms IS NULL;
CREATE INDEX inbox_items_run ON inbox_items (run_id);

CREATE TABLE event_waits (
    run_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    event TEXT NOT NULL,
    key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (run_id, token_id)
) STRICT;
CREATE INDEX event_waits_event ON event_waits (project_id, event, key);

-- Events from outside that nobody waited for yet, and those that were used, as long as their sender's id must be known.
CREATE TABLE kept_events (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    event TEXT NOT NULL,
    key TEXT NOT NULL,
    sender_id TEXT,
    payload TEXT,
    arrived_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    used_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX kept_events_sender ON kept_events (project_id, sender_id) WHERE sender_id IS NOT NULL;
CREATE INDEX kept_events_event ON kept_events (project_id, event, key, id) WHERE used_ms IS NULL;
CREATE INDEX kept_events_expiry ON kept_events (expires_ms);

-- What other processes want the owner of the engine to do.
CREATE TABLE requests (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    answered_ms INTEGER
) STRICT;
CREATE INDEX requests_pending ON requests (id) WHERE answered_ms IS NULL;
CREATE INDEX requests_answered ON requests (answered_ms) WHERE answered_ms IS NOT NULL;

-- Who may write; deadline_ms is by the database's own clock, and NULL where an OS lock says whether the owner lives.
CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    owner_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    deadline_ms INTEGER,
    claimed_ms INTEGER NOT NULL
) STRICT;

CREATE VIEW run_log AS SELECT
    runs.id, runs.status, workflow_defs.name AS workflow, runs.workflow_version, runs.workflow_id, runs.workflow_def_id,
    runs.project_id, projects.workspace_id, runs.paused_reason, runs.parent_run_id, runs.parent_node_id, runs.depth,
    runs.retry_of_run_id, runs.forked_from_run_id, runs.idempotency_key, runs.output, runs.error,
    strftime('%Y-%m-%dT%H:%M:%fZ', runs.created_ms / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', runs.started_ms / 1000.0, 'unixepoch') AS started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', runs.completed_ms / 1000.0, 'unixepoch') AS completed_at
FROM runs
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN workflow_defs ON workflow_defs.id = runs.workflow_def_id AND workflow_defs.version = runs.workflow_version;

CREATE VIEW token_log AS SELECT
    tokens.id, tokens.run_id AS workflow_run_id, nodes.ref AS node, tokens.node_id, tokens.status, tokens.path_id,
    tokens.parent_token_id, tokens.fan_out_transition_id, tokens.branch_index, tokens.branch_total, tokens.input,
    tokens.last_error, tokens.state_data,
    strftime('%Y-%m-%dT%H:%M:%fZ', tokens.created_ms / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', tokens.updated_ms / 1000.0, 'unixepoch') AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', tokens.ended_ms / 1000.0, 'unixepoch') AS ended_at
FROM tokens
LEFT JOIN runs ON runs.id = tokens.run_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = tokens.node_id;

-- The packed events, one by one. Views use only what SQLite 3.37 knows: a view that it can't parse hides all tables (CTX-2).
CREATE VIEW events AS SELECT
    event_turns.run_id, json_extract(event.value, '$[0]') AS sequence, json_extract(event.value, '$[1]') AS step,
    json_extract(event.value, '$[2]') AS type, json_extract(event.value, '$[3]') AS at_ms,
    json_extract(event.value, '$[4]') AS node_id, json_extract(event.value, '$[5]') AS token_id,
    json_extract(event.value, '$[6]') AS path_id, json_extract(event.value, '$[7]') AS metadata,
    json_extract(event.value, '$[8]') AS tokens, json_extract(event.value, '$[9]') AS cost_usd
FROM event_turns, json_each(event_turns.events) AS event;

CREATE VIEW event_log AS SELECT
    events.run_id || '-' || events.sequence AS id, events.at_ms AS timestamp, events.sequence AS sequence_number,
    events.step, events.type AS event_type, events.run_id AS workflow_run_id, runs.parent_run_id, runs.workflow_def_id,
    events.node_id, nodes.ref AS node, events.token_id, events.path_id, projects.workspace_id, runs.project_id,
    events.tokens, events.cost_usd,
    CASE
        WHEN events.type = 'token_dispatched' AND json_type(events.metadata, '$.lost_with') IS NOT NULL THEN
            'attempt ' || json_extract(events.metadata, '$.losses') || ' was lost with its '
            || json_extract(events.metadata, '$.lost_with') || ', and the task is sent to a worker again'
        ELSE CASE events.type
            WHEN 'workflow_queued' THEN 'the run was accepted and waits for its start'
            WHEN 'workflow_started' THEN 'the run started'
            WHEN 'context_snapshot' THEN 'a fork or a retry begins with this snapshot'
            WHEN 'workflow_waiting' THEN 'everything in the run waits for a person, a time, an event or a sub-workflow'
            WHEN 'workflow_paused' THEN 'the run was paused: nothing more is dispatched'
            WHEN 'workflow_resumed' THEN 'a paused run goes on'
            WHEN 'workflow_timed_out' THEN 'the run took longer than its `timeout_ms`: it fails, or a person is asked'
            WHEN 'workflow_extended' THEN 'a run at its time-out was given more time'
            WHEN 'workflow_completed' THEN 'the run ended well'
            WHEN 'workflow_failed' THEN 'the run failed'
            WHEN 'workflow_cancelled' THEN 'the run was cancelled'
            WHEN 'trigger_fired' THEN 'a trigger of a completed run started its runs'
            WHEN 'trigger_skipped' THEN 'a trigger of a completed run started nothing, because something that it refers to is missing'
            WHEN 'trigger_failed' THEN 'a trigger of a completed run could not start all of its runs'
            WHEN 'token_spawned' THEN 'a token was made'
            WHEN 'token_dispatched' THEN 'the task of a token was sent to a worker'
            WHEN 'token_suspended' THEN 'a token began to wait for a person, a time, an event, a sub-workflow, a decision about a budget or a function'
            WHEN 'token_resumed' THEN 'a token waits no longer'
            WHEN 'token_completed' THEN 'a token ended well'
            WHEN 'token_failed' THEN 'a token failed'
            WHEN 'token_timed_out' THEN 'a token ended because its time, that of its join or that of the run was over'
            WHEN 'token_cancelled' THEN 'a token was stopped, because its run or its branch ended without it'
            WHEN 'tokens_ended' THEN 'all live tokens of a run ended at once'
            WHEN 'node_started' THEN 'a worker began with the task of a node'
            WHEN 'node_completed' THEN 'a node succeeded'
            WHEN 'node_failed' THEN 'a node failed'
            WHEN 'transitions_evaluated' THEN 'the transitions out of a node were looked at'
            WHEN 'fan_out_started' THEN 'a token became a group of branches'
            WHEN 'fan_in_waiting' THEN 'a token or a branch arrived at a join'
            WHEN 'fan_in_completed' THEN 'a join went on with the branches that had arrived'
            WHEN 'fan_in_failed' THEN 'a join failed: too few branches can arrive, it took too long, or their outputs can''t be merged'
            WHEN 'context_updated' THEN 'the run''s state and output were written or, with `group` and `branch`, a branch''s output'
            WHEN 'timer_set' THEN 'a timer was set'
            WHEN 'timer_fired' THEN 'a timer was due'
            WHEN 'human_input_requested' THEN 'a person was asked: by a node, at a budget or at the run''s time-out'
            WHEN 'human_input_claimed' THEN 'somebody claimed a question: nobody else may answer it'
            WHEN 'human_input_released' THEN 'a claimed question is free again'
            WHEN 'human_input_delegated' THEN 'a question, or the place of an approver, was handed to another person'
            WHEN 'human_input_reminded' THEN 'it was time to remind people of a question that is still open'
            WHEN 'human_input_counted' THEN 'one of several approvers answered'
            WHEN 'human_input_answered' THEN 'a person answered, or enough approvers did'
            WHEN 'human_input_withdrawn' THEN 'a question was taken back: nobody has to answer it any more'
            WHEN 'late_result_ignored' THEN 'a result came too late to count'
            WHEN 'artifact_written' THEN 'a step stored an artifact'
            WHEN 'llm_call_completed' THEN 'a call of a model ended, well or with an `error`'
            WHEN 'budget_alert' THEN 'a budget has reached its `alert_threshold_cents` for the month'
            ELSE events.type END
        || CASE json_type(events.metadata, '$.error') WHEN 'object' THEN
            ': ' || json_extract(events.metadata, '$.error.code') || ': ' || json_extract(events.metadata, '$.error.message')
            ELSE '' END
        || coalesce(CASE json_type(events.metadata, '$.error') WHEN 'object' THEN ', ' ELSE ': ' END
            || nullif(CASE events.type
            WHEN 'token_suspended' THEN 'it waits for ' || json_extract(events.metadata, '$.wait.kind')
            WHEN 'token_resumed' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'workflow_paused' THEN json_extract(events.metadata, '$.reason')
            WHEN 'workflow_cancelled' THEN json_extract(events.metadata, '$.reason')
            WHEN 'human_input_requested' THEN json_extract(events.metadata, '$.prompt')
            WHEN 'human_input_claimed' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'human_input_released' THEN 'by ' || nullif(json_extract(events.metadata, '$.by'), '')
            WHEN 'human_input_delegated' THEN 'to ' || json_extract(events.metadata, '$.to')
            WHEN 'human_input_counted' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'human_input_answered' THEN 'by ' || nullif(json_extract(events.metadata, '$.by'), '')
            WHEN 'fan_out_started' THEN json_extract(events.metadata, '$.total') || ' branches'
            WHEN 'fan_in_completed' THEN
                json_extract(events.metadata, '$.arrived') || ' of ' || json_extract(events.metadata, '$.total') || ' branches'
            WHEN 'context_updated' THEN (
                SELECT group_concat(place, ', ') FROM (
                    SELECT coalesce(
                        (SELECT group_concat(part.value, '.') FROM json_each(change.value, '$[0]') AS part), '') AS place
                    FROM json_each(events.metadata, '$.changes') AS change ORDER BY change.key))
            WHEN 'artifact_written' THEN
                json_extract(events.metadata, '$.artifact_id') || ', '
                || printf('%,d', json_extract(events.metadata, '$.size_bytes')) || ' bytes of '
                || json_extract(events.metadata, '$.content_type')
            WHEN 'llm_call_completed' THEN
                json_extract(events.metadata, '$.profile') || ' (' || json_extract(events.metadata, '$.model') || ') in '
                || json_extract(events.metadata, '$.duration_ms') || ' ms'
            WHEN 'tokens_ended' THEN
                printf('%,d', json_extract(events.metadata, '$.count')) || ' are ' || json_extract(events.metadata, '$.status')
            END, ''), '')
        END AS message, events.metadata,
    strftime('%Y-%m-%dT%H:%M:%fZ', events.at_ms / 1000.0, 'unixepoch') AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;

-- Who answered what when, one row per answer.
CREATE VIEW answer_log AS SELECT
    inbox_items.id AS item_id, inbox_items.run_id AS workflow_run_id, inbox_items.token_id, inbox_items.kind,
    inbox_items.prompt, inbox_items.answered_by, inbox_items.answer, projects.workspace_id, inbox_items.project_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', inbox_items.closed_ms / 1000.0, 'unixepoch') AS answered_at
FROM inbox_items
LEFT JOIN projects ON projects.id = inbox_items.project_id
WHERE inbox_items.status = 'answered' AND json_type(inbox_items.progress, '$.answers') IS NULL
UNION ALL SELECT
    inbox_items.id, inbox_items.run_id, inbox_items.token_id, inbox_items.kind, inbox_items.prompt,
    json_extract(given.value, '$.by'),
    -- As JSON: a value that is taken out alone loses its type, and one of several does not.
    substr(json_remove(json_extract(given.value, '$.answer', '$.by'), '$[1]'), 2,
        length(json_remove(json_extract(given.value, '$.answer', '$.by'), '$[1]')) - 2),
    projects.workspace_id, inbox_items.project_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(given.value, '$.at_ms') / 1000.0, 'unixepoch')
FROM inbox_items
JOIN json_each(inbox_items.progress, '$.answers') AS given
LEFT JOIN projects ON projects.id = inbox_items.project_id;

-- What actions with `idempotency` have given, so that they act once per key in whatever process (RET-4).
-- The key is as it was rendered, or a hash where that is long; a record that never expires has no expires_ms.
CREATE TABLE idempotency_records (
    project_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    key TEXT NOT NULL,
    output TEXT NOT NULL,
    kept_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (project_id, action_id, key)
) STRICT;
CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_ms) WHERE expires_ms IS NOT NULL;

-- Artifacts: what actions have stored for good (ACT-6). The content lies in the object store under storage_key, and is
-- durable there before the row is written. `part` says which of its step's artifacts it is; whatever the same step of
-- the same token stores again as that part takes the row over, with its id (INV-4).
CREATE TABLE artifacts (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    token_id TEXT NOT NULL,
    node TEXT NOT NULL,
    path_id TEXT NOT NULL,
    step TEXT NOT NULL,
    part TEXT NOT NULL,
    artifact_type_id TEXT NOT NULL,
    artifact_type_version INTEGER,
    storage_key TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    schema_data TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX artifacts_run ON artifacts (run_id, id);
CREATE INDEX artifacts_project ON artifacts (project_id, id);
CREATE INDEX artifacts_content ON artifacts (storage_key);
CREATE INDEX artifacts_type ON artifacts (project_id, artifact_type_id, id);

CREATE VIEW artifact_log AS SELECT
    artifacts.id, artifacts.run_id AS workflow_run_id, artifacts.node, artifacts.path_id, artifacts.token_id,
    artifacts.step, artifacts.part, COALESCE(artifact_types.name, artifacts.artifact_type_id) AS artifact_type,
    artifacts.artifact_type_id, artifacts.artifact_type_version, artifacts.content_type, artifacts.size_bytes,
    artifacts.storage_key, artifacts.schema_data, artifacts.project_id, projects.workspace_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', artifacts.created_ms / 1000.0, 'unixepoch') AS created_at
FROM artifacts
LEFT JOIN projects ON projects.id = artifacts.project_id
LEFT JOIN artifact_types ON artifact_types.id = artifacts.artifact_type_id
    AND artifact_types.version = artifacts.artifact_type_version;

-- What calls of models have cost, in billionths of a dollar: by project and by workspace, each in its own row (RES-6).
CREATE TABLE spending (
    scope_id TEXT NOT NULL,
    month TEXT NOT NULL,
    spent_nanousd INTEGER NOT NULL,
    reserved_nanousd INTEGER NOT NULL,
    extended_nanousd INTEGER NOT NULL,
    alerted_nanousd INTEGER,
    PRIMARY KEY (scope_id, month)
) STRICT;

-- What calls under way can cost at most.
CREATE TABLE reservations (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    month TEXT NOT NULL,
    nanousd INTEGER NOT NULL,
    owner_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    made_ms INTEGER NOT NULL
) STRICT;

-- When models were called, for limits of how often, also for those that are set later.
CREATE TABLE model_calls (
    project_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (project_id, at_ms, id)
) STRICT;
CREATE INDEX model_calls_age ON model_calls (at_ms);

-- Numbers that `emit_metric` gave, added up by minute and dimensions (EVT-4).
CREATE TABLE metrics (
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    dimensions_hash TEXT NOT NULL,
    minute_ms INTEGER NOT NULL,
    dimensions TEXT NOT NULL,
    count INTEGER NOT NULL,
    sum REAL NOT NULL,
    min REAL NOT NULL,
    max REAL NOT NULL,
    PRIMARY KEY (project_id, name, dimensions_hash, minute_ms)
) STRICT;

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
    scope TEXT,
    CHECK ((workspace_id IS NULL) <> (project_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX secrets_of_workspace ON secrets (workspace_id, name) WHERE workspace_id IS NOT NULL;
CREATE UNIQUE INDEX secrets_of_project ON secrets (project_id, name) WHERE project_id IS NOT NULL;

-- Transforms as the TypeScript compiler gave them, by the hash of compiler, library and source (PHS-5): a source that was
-- compiled once is not compiled again. Nothing refers to a row, so that all of them may be deleted at any time.
CREATE TABLE compiled_transforms (
    hash TEXT NOT NULL PRIMARY KEY,
    javascript TEXT NOT NULL,
    input_schema TEXT NOT NULL,
    output_schema TEXT NOT NULL
) STRICT;

-- The phase form of the workflow versions that were written in it (PHS-1): the text to the byte as it was deployed last,
-- the schemas of its steps (PHS-4), and the tools that these come from, as they were then.
CREATE TABLE phase_forms (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    written BLOB NOT NULL,
    schemas TEXT NOT NULL,
    tools TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;

-- What MCP servers have said of their tools. Kept by what a server is, not by its name: another command is asked anew.
CREATE TABLE tool_schemas (
    project_id TEXT NOT NULL REFERENCES projects (id),
    connection_hash TEXT NOT NULL,
    tools TEXT NOT NULL,
    fetched_at TEXT NOT NULL,
    PRIMARY KEY (project_id, connection_hash)
) STRICT;

-- What the triggers of a run that has completed are to do, stored with its completion, and how far each is (PHS-6).
-- `upto` is the item that comes next: it is moved on by the commit that stores the runs of the items before it.
CREATE TABLE trigger_firings (
    run_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    trigger_id TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    status TEXT NOT NULL,
    items INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    started INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (run_id, ordinal)
) STRICT;
CREATE INDEX trigger_firings_pending ON trigger_firings (run_id) WHERE status = 'pending';

-- Runs that a trigger started, and those that retried them: by which run, its trigger and item, and the how-manieth try.
CREATE TABLE triggered_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    triggered_by_run_id TEXT NOT NULL,
    trigger_ordinal INTEGER NOT NULL,
    item_index INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    trigger_depth INTEGER NOT NULL,
    max_retries INTEGER NOT NULL,
    trigger_timeout_ms INTEGER,
    retry_due INTEGER NOT NULL,
    -- The run at the beginning of all triggers that led here, which nothing has triggered. NULL in rows of before.
    root_run_id TEXT,
    -- What happens at trigger_timeout_ms. NULL in rows of before: the run fails.
    trigger_on_timeout TEXT
) STRICT;
-- It also sees to it that nothing is ever started twice.
CREATE UNIQUE INDEX triggered_runs_item ON triggered_runs
    (triggered_by_run_id, trigger_ordinal, item_index, attempt);
CREATE INDEX triggered_runs_root ON triggered_runs (root_run_id) WHERE root_run_id IS NOT NULL;
CREATE INDEX triggered_runs_retry ON triggered_runs (run_id) WHERE retry_due = 1;

-- Which workflows are started when, with which input. Without versions, read when used; what is archived starts nothing.
CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    description TEXT NOT NULL,
    workflow_id TEXT NOT NULL REFERENCES workflows (id),
    cron TEXT,
    every_ms INTEGER,
    time_zone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    catch_up TEXT NOT NULL,
    catch_up_ms INTEGER,
    catch_up_max INTEGER NOT NULL,
    jitter_ms INTEGER NOT NULL,
    starts_at TEXT,
    ends_at TEXT,
    input TEXT
) STRICT;
CREATE UNIQUE INDEX schedules_name ON schedules (project_id, name) WHERE archived_at IS NULL;
CREATE INDEX schedules_workflow ON schedules (workflow_id);

-- What each schedule has done, and when it has something to do next. `revision` goes up with each change from outside:
-- an engine that decided by what it read before writes nothing here. Planned times up to `after_ms` never come again.
CREATE TABLE schedule_states (
    schedule_id TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    note TEXT,
    after_ms INTEGER NOT NULL,
    due_ms INTEGER,
    queued TEXT NOT NULL,
    last_planned_ms INTEGER,
    last_run_id TEXT,
    last_skipped_ms INTEGER,
    last_missed_ms INTEGER,
    last_error TEXT,
    last_error_ms INTEGER,
    started INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;
CREATE INDEX schedule_states_due ON schedule_states (due_ms) WHERE paused = 0;

-- The runs that schedules have started, one for a planned time; `live` until the run is seen to have ended.
CREATE TABLE schedule_firings (
    schedule_id TEXT NOT NULL,
    planned_ms INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    live INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, planned_ms)
) STRICT;
CREATE INDEX schedule_firings_live ON schedule_firings (schedule_id) WHERE live = 1;
CREATE INDEX schedule_firings_run ON schedule_firings (run_id);

-- Commits of a few rows, each written down as one page and durable like any other, whose rows reach the tables a moment
-- later. Slot 0 has the number of the last one that did, slots from 1 on are written over again and again, and what the
-- tables refused is kept below 0. Numbers go up.
CREATE TABLE journal (
    slot INTEGER NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    length INTEGER NOT NULL,
    body BLOB NOT NULL,
    salt INTEGER NOT NULL DEFAULT 0,
    in_use INTEGER NOT NULL DEFAULT 0,
    file_epoch INTEGER,
    last_number INTEGER,
    last_slot INTEGER,
    accepted INTEGER
) STRICT;

-- Which MCP servers somebody has agreed to start or to reach (RES-6): `approval_hash` is over what a server is and the
-- folder that it is started in, so that anything else needs an approval of its own. `what` is the command, or the address.
CREATE TABLE mcp_approvals (
    project_id TEXT NOT NULL REFERENCES projects (id),
    approval_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    what TEXT NOT NULL,
    folder TEXT,
    approved_by TEXT NOT NULL,
    approved_at TEXT NOT NULL,
    PRIMARY KEY (project_id, approval_hash)
) STRICT;

-- Runs that were under way when a process ended without closing its engine; emptied when one closes it.
-- `deaths` are those in a row without a step forward between them, `quick` those in a row within a minute of each other;
-- `sequence` is the run's last event when it was taken up again, at `taken_ms`.
CREATE TABLE run_deaths (
    run_id TEXT NOT NULL PRIMARY KEY,
    deaths INTEGER NOT NULL,
    quick INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    taken_ms INTEGER NOT NULL
) STRICT;

-- What actions, their programs and Wonder itself have logged (EVT-4a). `id` is a ULID of the time, so that all is found by
-- time; `level` is 10 debug, 20 info, 30 warning, 40 error. A record of no project is about the process itself.
CREATE TABLE log_records (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    level INTEGER NOT NULL,
    service TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    project_id TEXT,
    run_id TEXT,
    node TEXT,
    token_id TEXT,
    message TEXT NOT NULL,
    metadata TEXT,
    error_stack TEXT
) STRICT;
CREATE INDEX log_records_project ON log_records (project_id, id);
CREATE INDEX log_records_run ON log_records (run_id, id) WHERE run_id IS NOT NULL;

-- Older records lie compressed in the object store; here is what is in which object. `run_ids` is a list of the runs that
-- it has records of, or NULL where they are too many.
CREATE TABLE log_archives (
    storage_key TEXT NOT NULL PRIMARY KEY,
    project_id TEXT,
    first_id TEXT NOT NULL,
    last_id TEXT NOT NULL,
    records INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    level_max INTEGER NOT NULL,
    run_ids TEXT
) STRICT;
CREATE INDEX log_archives_last ON log_archives (last_id);

CREATE VIEW logs AS SELECT
    log_records.id, CASE WHEN log_records.level >= 40 THEN 'error' WHEN log_records.level >= 30 THEN 'warning'
        WHEN log_records.level >= 20 THEN 'info' ELSE 'debug' END AS level,
    log_records.service, log_records.trace_id, log_records.message, log_records.run_id AS workflow_run_id,
    log_records.node, log_records.token_id, log_records.metadata, log_records.error_stack, log_records.project_id,
    projects.workspace_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', log_records.at_ms / 1000.0, 'unixepoch') AS logged_at
FROM log_records
LEFT JOIN projects ON projects.id = log_records.project_id;

-- Runs that are being removed because they ended long ago (EVT-5): listed with their whole family before anything of it is
-- deleted, and gone from here when nothing of them is left. The run that the family is named after says that the list is
-- whole (`is_ready`).
CREATE TABLE removed_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    family_id TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    workflow_version INTEGER NOT NULL,
    is_ready INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_runs_family ON removed_runs (family_id);

-- Content of artifacts that were removed, until it is deleted from the object store too.
CREATE TABLE removed_contents (
    storage_key TEXT NOT NULL PRIMARY KEY,
    since_ms INTEGER NOT NULL
) STRICT;

-- What was forked from a run has to be found before the run is removed.
CREATE INDEX runs_forked_from ON runs (forked_from_run_id) WHERE forked_from_run_id IS NOT NULL;
CREATE INDEX metrics_age ON metrics (project_id, minute_ms);

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

-- What a server has answered to requests with an idempotency key, so that the same request is carried out once (API-1).
-- Without a status it is under way. The answer is missing where it holds a secret or is very large.
CREATE TABLE http_answers (
    project_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    begun_ms INTEGER NOT NULL,
    http_status INTEGER,
    answer TEXT,
    PRIMARY KEY (project_id, caller, key)
) STRICT;
CREATE INDEX http_answers_age ON http_answers (begun_ms);

-- Random keys of a server, such as the one that it signs cursors with; each process of a database uses the same.
CREATE TABLE server_keys (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- Events of the types that people look for across runs, by type and time (EVT-1). What every node and every run has is left
-- out: a row for each would cost every node more than all that it is found by (storage/runs/indexed_events.py).
CREATE TABLE indexed_events (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    project_id TEXT NOT NULL,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    node_id TEXT,
    token_id TEXT,
    PRIMARY KEY (run_id, sequence)
) STRICT;
CREATE INDEX indexed_events_type ON indexed_events (project_id, type, at_ms, run_id, sequence);
-- All other events are found by the runs that were under way at a time.
CREATE INDEX runs_ended ON runs (project_id, completed_ms, id) WHERE completed_ms IS NOT NULL;

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
