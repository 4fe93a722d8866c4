-- A view with `->>` or an ORDER BY inside of group_concat keeps SQLite before 3.38 or 3.44 from reading any table (CTX-2).
-- The views of contexts are made anew with this migration, by storage/renewing.py.
DROP VIEW event_log;
DROP VIEW events;

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
    events.tokens, events.cost_usd, json_extract(events.metadata, '$.error.message') AS message, events.metadata,
    strftime('%Y-%m-%dT%H:%M:%fZ', events.at_ms / 1000.0, 'unixepoch') AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;
