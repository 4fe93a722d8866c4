-- The events that a run has within one commit become one row, and `events` a view with the columns that it had as a table.
-- Seven of ten rows of a step forward were events, and each took as long as a token's.

DROP VIEW event_log;
ALTER TABLE events RENAME TO old_events;

-- `events` is a list of lists: sequence, step, type, at_ms, node_id, token_id, path_id, metadata, tokens, cost_usd.
CREATE TABLE event_turns (
    run_id TEXT COLLATE "C" NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    events JSON NOT NULL,
    PRIMARY KEY (run_id, first)
);
INSERT INTO event_turns (run_id, first, last, events)
SELECT run_id, sequence, sequence, json_build_array(json_build_array(
    sequence, step, type, at_ms, node_id, token_id, path_id, metadata, tokens, cost_usd))
FROM old_events ORDER BY run_id, sequence;
DROP TABLE old_events;

CREATE VIEW events AS SELECT
    event_turns.run_id, CAST(event.value ->> 0 AS BIGINT) AS sequence, CAST(event.value ->> 1 AS BIGINT) AS step,
    event.value ->> 2 AS type, CAST(event.value ->> 3 AS BIGINT) AS at_ms, event.value ->> 4 AS node_id,
    event.value ->> 5 AS token_id, event.value ->> 6 AS path_id, event.value -> 7 AS metadata,
    CAST(event.value ->> 8 AS BIGINT) AS tokens, CAST(event.value ->> 9 AS DOUBLE PRECISION) AS cost_usd
FROM event_turns, json_array_elements(event_turns.events) AS event;

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
