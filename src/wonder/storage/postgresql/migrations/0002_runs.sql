-- Runs: what happens when a definition is started, and all that a process needs to go on with them after a crash.
-- Times are milliseconds since 1970, as the engine has them; the views at the end show them as text.
-- These tables are written with every step of every run, so none has a foreign key, and each index has earned its cost.

CREATE TABLE runs (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    workflow_id TEXT COLLATE "C",
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_version BIGINT NOT NULL,
    status TEXT NOT NULL,
    paused_reason TEXT,
    gate_item_id TEXT COLLATE "C",
    timeout_left_ms BIGINT,
    depth BIGINT NOT NULL,
    parent_run_id TEXT COLLATE "C",
    parent_token_id TEXT COLLATE "C",
    parent_node_id TEXT COLLATE "C",
    retry_of_run_id TEXT COLLATE "C",
    forked_from_run_id TEXT COLLATE "C",
    forked_from_sequence BIGINT,
    idempotency_key TEXT COLLATE "C",
    input_hash TEXT,
    owner_id TEXT COLLATE "C",
    input JSON,
    output JSON,
    error JSON,
    created_ms BIGINT NOT NULL,
    started_ms BIGINT,
    completed_ms BIGINT
);
CREATE UNIQUE INDEX runs_idempotency_key ON runs (workflow_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_live ON runs (id) WHERE completed_ms IS NULL;
CREATE INDEX runs_project ON runs (project_id, id);
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE tokens (
    run_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    node_id TEXT COLLATE "C" NOT NULL,
    path_id TEXT NOT NULL,
    parent_token_id TEXT COLLATE "C",
    group_id TEXT COLLATE "C",
    branch_index BIGINT NOT NULL,
    branch_total BIGINT NOT NULL,
    fan_out_transition_id TEXT COLLATE "C",
    status TEXT NOT NULL,
    born BIGINT NOT NULL,
    held BOOLEAN NOT NULL,
    losses BIGINT NOT NULL,
    input JSON,
    last_error JSON,
    state_data JSON,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    PRIMARY KEY (run_id, id)
);
-- By a column that is NULL, not by a list of statuses: SQLite takes eight times as long to see whether a row fits a list.
CREATE INDEX tokens_live ON tokens (run_id) WHERE ended_ms IS NULL;

CREATE TABLE run_groups (
    run_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    node_id TEXT COLLATE "C" NOT NULL,
    path_id TEXT NOT NULL,
    outer_group_id TEXT COLLATE "C",
    outer_index BIGINT NOT NULL,
    segments JSON NOT NULL,
    fired JSON NOT NULL,
    PRIMARY KEY (run_id, id)
);

CREATE TABLE run_branches (
    run_id TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    branch_index BIGINT NOT NULL,
    status TEXT NOT NULL,
    abandoned BOOLEAN NOT NULL,
    entered_node_id TEXT COLLATE "C",
    arrived_as BIGINT NOT NULL,
    output JSON NOT NULL,
    error JSON,
    PRIMARY KEY (run_id, group_id, branch_index)
);

CREATE TABLE run_loops (
    run_id TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    branch_index BIGINT NOT NULL,
    transition_id TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    first_ms BIGINT NOT NULL,
    PRIMARY KEY (run_id, group_id, branch_index, transition_id)
);

CREATE TABLE events (
    run_id TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    step BIGINT NOT NULL,
    type TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    node_id TEXT COLLATE "C",
    token_id TEXT COLLATE "C",
    path_id TEXT,
    metadata JSON NOT NULL,
    tokens BIGINT,
    cost_usd DOUBLE PRECISION,
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE snapshots (
    run_id TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    context JSON NOT NULL,
    tokens JSON NOT NULL,
    rest JSON NOT NULL,
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE timers (
    run_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    due_ms BIGINT NOT NULL,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX timers_due ON timers (due_ms);

CREATE TABLE inbox_items (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    token_id TEXT COLLATE "C",
    kind TEXT NOT NULL,
    prompt TEXT NOT NULL,
    schema JSON NOT NULL,
    input JSON,
    due_ms BIGINT,
    status TEXT NOT NULL,
    answer JSON,
    answered_by TEXT,
    created_ms BIGINT NOT NULL,
    closed_ms BIGINT
);
CREATE INDEX inbox_items_open ON inbox_items (project_id, id) WHERE closed_ms IS NULL;
CREATE INDEX inbox_items_run ON inbox_items (run_id);

CREATE TABLE event_waits (
    run_id TEXT COLLATE "C" NOT NULL,
    token_id TEXT COLLATE "C" NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    event TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (run_id, token_id)
);
CREATE INDEX event_waits_event ON event_waits (project_id, event, key);

-- Events from outside that nobody waited for yet, and those that were used, as long as their sender's id must be known.
CREATE TABLE kept_events (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    event TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    sender_id TEXT COLLATE "C",
    payload JSON,
    arrived_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    used_ms BIGINT
);
CREATE UNIQUE INDEX kept_events_sender ON kept_events (project_id, sender_id) WHERE sender_id IS NOT NULL;
CREATE INDEX kept_events_event ON kept_events (project_id, event, key, id) WHERE used_ms IS NULL;
CREATE INDEX kept_events_expiry ON kept_events (expires_ms);

-- What other processes want the owner of the engine to do.
CREATE TABLE requests (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    payload JSON NOT NULL,
    created_ms BIGINT NOT NULL,
    result JSON,
    error JSON,
    answered_ms BIGINT
);
CREATE INDEX requests_pending ON requests (id) WHERE answered_ms IS NULL;
CREATE INDEX requests_answered ON requests (answered_ms) WHERE answered_ms IS NOT NULL;

-- Who may write; deadline_ms is by the database's own clock, and NULL where an OS lock says whether the owner lives.
CREATE TABLE leases (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner_id TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    deadline_ms BIGINT,
    claimed_ms BIGINT NOT NULL
);

CREATE VIEW run_log AS SELECT
    runs.id, runs.status, workflow_defs.name AS workflow, runs.workflow_version, runs.workflow_id, runs.workflow_def_id,
    runs.project_id, projects.workspace_id, runs.paused_reason, runs.parent_run_id, runs.parent_node_id, runs.depth,
    runs.retry_of_run_id, runs.forked_from_run_id, runs.idempotency_key, runs.output, runs.error,
    to_char(to_timestamp(runs.created_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(to_timestamp(runs.started_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS started_at,
    to_char(to_timestamp(runs.completed_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS completed_at
FROM runs
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN workflow_defs ON workflow_defs.id = runs.workflow_def_id AND workflow_defs.version = runs.workflow_version;

CREATE VIEW token_log AS SELECT
    tokens.id, tokens.run_id AS workflow_run_id, nodes.ref AS node, tokens.node_id, tokens.status, tokens.path_id,
    tokens.parent_token_id, tokens.fan_out_transition_id, tokens.branch_index, tokens.branch_total, tokens.input,
    tokens.last_error, tokens.state_data,
    to_char(to_timestamp(tokens.created_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(to_timestamp(tokens.updated_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(to_timestamp(tokens.ended_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended_at
FROM tokens
LEFT JOIN runs ON runs.id = tokens.run_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = tokens.node_id;

CREATE VIEW event_log AS SELECT
    events.run_id || '-' || events.sequence AS id, events.at_ms AS timestamp, events.sequence AS sequence_number,
    events.step, events.type AS event_type, events.run_id AS workflow_run_id, runs.parent_run_id, runs.workflow_def_id,
    events.node_id, nodes.ref AS node, events.token_id, events.path_id, projects.workspace_id, runs.project_id,
    events.tokens, events.cost_usd, events.metadata -> 'error' ->> 'message' AS message, events.metadata,
    to_char(to_timestamp(events.at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;
