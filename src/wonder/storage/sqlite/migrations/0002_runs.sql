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
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

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

CREATE TABLE events (
    run_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    type TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    node_id TEXT,
    token_id TEXT,
    path_id TEXT,
    metadata TEXT NOT NULL,
    tokens INTEGER,
    cost_usd REAL,
    PRIMARY KEY (run_id, sequence)
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
    closed_ms INTEGER
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

CREATE VIEW event_log AS SELECT
    events.run_id || '-' || events.sequence AS id, events.at_ms AS timestamp, events.sequence AS sequence_number,
    events.step, events.type AS event_type, events.run_id AS workflow_run_id, runs.parent_run_id, runs.workflow_def_id,
    events.node_id, nodes.ref AS node, events.token_id, events.path_id, projects.workspace_id, runs.project_id,
    events.tokens, events.cost_usd, events.metadata ->> '$.error.message' AS message, events.metadata,
    strftime('%Y-%m-%dT%H:%M:%fZ', events.at_ms / 1000.0, 'unixepoch') AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;
