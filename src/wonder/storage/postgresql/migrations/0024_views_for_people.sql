-- Times that can be compared with now(): as text, `created_at > now() - interval '7 days'` was an error.
DROP VIEW run_log;
DROP VIEW token_log;
DROP VIEW event_log;
DROP VIEW artifact_log;

CREATE VIEW run_log AS SELECT
    runs.id, runs.status, workflow_defs.name AS workflow, runs.workflow_version, runs.workflow_id, runs.workflow_def_id,
    runs.project_id, projects.workspace_id, runs.paused_reason, runs.parent_run_id, runs.parent_node_id, runs.depth,
    runs.retry_of_run_id, runs.forked_from_run_id, runs.idempotency_key, runs.output, runs.error,
    to_timestamp(runs.created_ms / 1000.0) AS created_at,
    to_timestamp(runs.started_ms / 1000.0) AS started_at,
    to_timestamp(runs.completed_ms / 1000.0) AS completed_at
FROM runs
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN workflow_defs ON workflow_defs.id = runs.workflow_def_id AND workflow_defs.version = runs.workflow_version;

CREATE VIEW token_log AS SELECT
    tokens.id, tokens.run_id AS workflow_run_id, nodes.ref AS node, tokens.node_id, tokens.status, tokens.path_id,
    tokens.parent_token_id, tokens.fan_out_transition_id, tokens.branch_index, tokens.branch_total, tokens.input,
    tokens.last_error, tokens.state_data,
    to_timestamp(tokens.created_ms / 1000.0) AS created_at,
    to_timestamp(tokens.updated_ms / 1000.0) AS updated_at,
    to_timestamp(tokens.ended_ms / 1000.0) AS ended_at
FROM tokens
LEFT JOIN runs ON runs.id = tokens.run_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = tokens.node_id;

CREATE VIEW event_log AS SELECT
    events.run_id || '-' || events.sequence AS id, events.at_ms AS timestamp, events.sequence AS sequence_number,
    events.step, events.type AS event_type, events.run_id AS workflow_run_id, runs.parent_run_id, runs.workflow_def_id,
    events.node_id, nodes.ref AS node, events.token_id, events.path_id, projects.workspace_id, runs.project_id,
    events.tokens, events.cost_usd, events.metadata -> 'error' ->> 'message' AS message, events.metadata,
    to_timestamp(events.at_ms / 1000.0) AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;

CREATE VIEW artifact_log AS SELECT
    artifacts.id, artifacts.run_id AS workflow_run_id, artifacts.node, artifacts.path_id, artifacts.token_id,
    artifacts.step, artifacts.part, COALESCE(artifact_types.name, artifacts.artifact_type_id) AS artifact_type,
    artifacts.artifact_type_id, artifacts.artifact_type_version, artifacts.content_type, artifacts.size_bytes,
    artifacts.storage_key, artifacts.schema_data, artifacts.project_id, projects.workspace_id,
    to_timestamp(artifacts.created_ms / 1000.0) AS created_at
FROM artifacts
LEFT JOIN projects ON projects.id = artifacts.project_id
LEFT JOIN artifact_types ON artifact_types.id = artifacts.artifact_type_id
    AND artifact_types.version = artifacts.artifact_type_version;
