-- What was to follow from something durable, and was not durable itself when its process ended or its commit failed.

-- name: stray_children
-- Sub-workflows that are not as their callers are: the caller has ended, is paused, or goes on again.
SELECT child.id, parent.id, parent.status, child.status, child.paused_reason,
    parent.completed_ms IS NOT NULL OR tokens.ended_ms IS NOT NULL
FROM runs AS child
JOIN runs AS parent ON parent.id = child.parent_run_id
JOIN tokens ON tokens.run_id = parent.id AND tokens.id = child.parent_token_id
WHERE child.completed_ms IS NULL AND (
    parent.completed_ms IS NOT NULL OR tokens.ended_ms IS NOT NULL
    OR (parent.status = 'paused') <> (child.status = 'paused'))
ORDER BY child.id;

-- name: root_of_run
-- The last one that is there: a caller may have been removed.
WITH RECURSIVE callers (id, parent_run_id, level) AS (
    SELECT id, parent_run_id, 0 FROM runs WHERE id = $1
    UNION ALL
    SELECT runs.id, runs.parent_run_id, callers.level + 1
    FROM callers JOIN runs ON runs.id = callers.parent_run_id)
SELECT id FROM callers ORDER BY level DESC LIMIT 1;

-- name: count_live_called
-- Below one that has ended nothing is live for long: it is cancelled.
WITH RECURSIVE called (id) AS (
    SELECT id FROM runs WHERE parent_run_id = $1 AND completed_ms IS NULL
    UNION ALL
    SELECT runs.id FROM called JOIN runs ON runs.parent_run_id = called.id WHERE runs.completed_ms IS NULL)
SELECT count(*) FROM called;

-- name: calls_without_child
-- Tokens that wait for a sub-workflow that was never stored; who asks looks at state_data again.
SELECT tokens.run_id, tokens.id
FROM tokens LEFT JOIN runs AS child ON child.parent_run_id = tokens.run_id AND child.parent_token_id = tokens.id
WHERE tokens.ended_ms IS NULL AND tokens.status = 'suspended' AND child.id IS NULL
    AND CAST(tokens.state_data AS TEXT) LIKE '%"workflow_call"%'
ORDER BY tokens.run_id, tokens.born;

-- name: waits_for_functions
-- Tokens that wait for a process that has their function; who asks looks at state_data again.
SELECT tokens.run_id, tokens.id, tokens.state_data
FROM tokens
WHERE tokens.ended_ms IS NULL AND tokens.status = 'suspended'
    AND CAST(tokens.state_data AS TEXT) LIKE '%"function"%'
ORDER BY tokens.run_id, tokens.born;

-- name: waits_with_kept_event
-- Tokens that wait for an event although it has come.
SELECT event_waits.project_id, event_waits.run_id, event_waits.token_id, event_waits.event, event_waits.key
FROM event_waits
WHERE EXISTS (
    SELECT 1 FROM kept_events WHERE kept_events.project_id = event_waits.project_id
        AND kept_events.event = event_waits.event AND kept_events.key = event_waits.key
        AND kept_events.used_ms IS NULL AND kept_events.expires_ms > $1)
ORDER BY event_waits.created_ms, event_waits.run_id, event_waits.token_id;

-- name: counted_runs
-- For max_concurrent_runs: roots and triggered runs that are neither queued, waiting nor set aside (RES-6).
SELECT id, project_id FROM runs
WHERE completed_ms IS NULL AND parent_run_id IS NULL AND started_ms IS NOT NULL
    AND status IN ('running', 'paused') AND coalesce(paused_reason, '') <> 'quarantined' ORDER BY id;

-- name: projects_with_queued_runs
SELECT DISTINCT project_id FROM runs WHERE completed_ms IS NULL AND status = 'queued' ORDER BY project_id;

-- name: queued_runs
-- In the order in which they were accepted.
SELECT id FROM runs WHERE completed_ms IS NULL AND status = 'queued' AND project_id = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: bytes_written_by_family
-- What a run has written, with all that triggers and calls lead to from it on.
WITH RECURSIVE members (id) AS (
    SELECT id FROM runs WHERE id = $1
    UNION ALL
    SELECT run_id FROM triggered_runs WHERE root_run_id = $1
    UNION ALL
    SELECT runs.id FROM members JOIN runs ON runs.parent_run_id = members.id)
SELECT coalesce(sum(coalesce(
    (SELECT bytes_written FROM event_turns WHERE event_turns.run_id = members.id ORDER BY first DESC LIMIT 1), 0)), 0)
FROM members;
