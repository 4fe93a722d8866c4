-- Events across the runs of a project, newest first. `indexed_events` has those of the rarer types; the others are found
-- by the runs that were under way at the time.

-- name: insert_indexed_events
INSERT INTO indexed_events (run_id, sequence, project_id, type, at_ms, node_id, token_id)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: indexed_events_before
-- Of one type, not before $3, and before the event that the last page ended with.
SELECT indexed_events.run_id, indexed_events.sequence, indexed_events.at_ms, indexed_events.node_id,
    indexed_events.token_id, runs.workflow_def_id, runs.workflow_version
FROM indexed_events JOIN runs ON runs.id = indexed_events.run_id
WHERE indexed_events.project_id = $1 AND indexed_events.type = $2 AND indexed_events.at_ms >= $3
    AND (indexed_events.at_ms, indexed_events.run_id, indexed_events.sequence) < ($4, $5, $6)
ORDER BY indexed_events.at_ms DESC, indexed_events.run_id DESC, indexed_events.sequence DESC LIMIT $7;

-- name: ended_runs_before
-- Runs that ended at $2 or later, the last ones first; $5 is an id that only runs made before a time are below.
SELECT id, workflow_def_id, workflow_version, completed_ms FROM runs
WHERE project_id = $1 AND completed_ms IS NOT NULL AND completed_ms >= $2 AND (completed_ms, id) < ($3, $4) AND id < $5
ORDER BY completed_ms DESC, id DESC LIMIT $6;

-- name: run_of_token
-- The run is older than its token, most often not much: ids are in the order of time.
SELECT runs.id, runs.workflow_def_id, runs.workflow_version FROM runs
WHERE runs.project_id = $1 AND runs.id <= $2
    AND EXISTS (SELECT 1 FROM tokens WHERE tokens.run_id = runs.id AND tokens.id = $2)
ORDER BY runs.id DESC LIMIT 1;

-- name: birth_of_token
-- The number of its first event; tokens that a fork or a retry begins with have lower ones.
SELECT born FROM tokens WHERE run_id = $1 AND id = $2;

-- name: nodes_named
SELECT workflow_def_id, workflow_def_version, id FROM nodes WHERE ref = $1;
