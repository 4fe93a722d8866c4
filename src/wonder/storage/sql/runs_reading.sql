-- Runs, their tokens and their events, as people and programs ask for them.

-- name: run_headers
-- The newest sequence number is not kept: it is the last event's, or the last snapshot's where events have gone. What the
-- run has made and written stands with its last events, and is counted where they are of before it did.
SELECT runs.*, triggered_runs.*, coalesce(
    (SELECT last FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT max(sequence) FROM snapshots WHERE snapshots.run_id = runs.id), 0) AS sequence, coalesce(
    (SELECT tokens_made FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT count(*) FROM tokens WHERE tokens.run_id = runs.id)) AS tokens_made, coalesce(
    (SELECT bytes_written FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    0) AS bytes_written
FROM runs LEFT JOIN triggered_runs ON triggered_runs.run_id = runs.id WHERE id = $1;

-- name: newest_retry
-- The run that a failed one was last retried as.
SELECT max(id) FROM runs WHERE retry_of_run_id = $1;

-- name: count_children_of_run
SELECT count(*) FROM runs WHERE parent_run_id = $1;

-- name: child_statuses_of_run
-- Page by page, and no more than lists show.
SELECT id, status FROM runs WHERE parent_run_id = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: children_of_run
SELECT runs.*, triggered_runs.*, 0 AS sequence, 0 AS tokens_made, 0 AS bytes_written
FROM runs LEFT JOIN triggered_runs ON triggered_runs.run_id = runs.id WHERE parent_run_id = $1 ORDER BY id;

-- name: ended_children
-- Calls that wait although the sub-workflow has ended: told so before the process died, or not at all.
SELECT child.id, child.parent_run_id, child.parent_token_id, child.status, child.output, child.error
FROM tokens JOIN runs AS child ON child.parent_run_id = tokens.run_id AND child.parent_token_id = tokens.id
WHERE tokens.ended_ms IS NULL AND child.completed_ms IS NOT NULL ORDER BY child.id;

-- name: called_with_key
-- The sub-workflow that was called with an idempotency key ($1) in a project ($2): one that completed after $3, or one
-- that has not ended. Only those of calls have a key and no workflow.
SELECT id, completed_ms, output FROM runs
WHERE workflow_id IS NULL AND idempotency_key = $1 AND project_id = $2
    AND (completed_ms IS NULL OR status = 'completed' AND completed_ms > $3)
ORDER BY CASE WHEN completed_ms IS NULL THEN 1 ELSE 0 END, id DESC LIMIT 1;

-- name: runs_to_recover
-- Runs that a process had to move on when it ended; those that only wait are left where they are.
SELECT id, status FROM runs
WHERE completed_ms IS NULL AND id > $1 AND (
    status IN ('queued', 'running')
    OR status = 'paused' AND EXISTS (
        SELECT 1 FROM tokens WHERE tokens.run_id = runs.id AND tokens.ended_ms IS NULL
            AND tokens.status IN ('dispatched', 'executing')
    )
)
ORDER BY id LIMIT $2;

-- name: count_live_tokens
SELECT count(*) FROM tokens WHERE run_id = $1 AND ended_ms IS NULL;

-- name: live_children
SELECT id FROM runs WHERE parent_run_id = $1 AND completed_ms IS NULL AND id > $2 ORDER BY id LIMIT $3;

-- name: timer_of_run
SELECT due_ms FROM timers WHERE run_id = $1 AND key = $2;

-- name: live_runs
SELECT id, status FROM runs WHERE completed_ms IS NULL AND id > $1 ORDER BY id LIMIT $2;

-- name: active_run_counts
-- For max_concurrent_runs: roots and triggered runs that are neither queued, waiting nor set aside (RES-6).
SELECT project_id, count(*) FROM runs
WHERE completed_ms IS NULL AND parent_run_id IS NULL AND started_ms IS NOT NULL
    AND status IN ('running', 'paused') AND coalesce(paused_reason, '') <> 'quarantined'
GROUP BY project_id ORDER BY project_id;

-- name: tokens_of_run
-- In the order in which they were made.
SELECT * FROM tokens WHERE run_id = $1 AND born > $2 ORDER BY born LIMIT $3;

-- name: events_of_run
-- Packed, from the row that has the first event wanted to the row that has the last one. The index is of `first`: with a
-- condition on `last` alone, every page would read all rows before it.
SELECT events FROM event_turns
WHERE run_id = $1 AND last > $2 AND first <= $3
    AND first >= coalesce((SELECT first FROM event_turns WHERE run_id = $1 AND first <= $2 ORDER BY first DESC LIMIT 1), 0)
ORDER BY first;

-- name: next_event_of_run
SELECT first FROM event_turns WHERE run_id = $1 AND first > $2 ORDER BY first LIMIT 1;

-- name: event_rows_of_run
-- Page by page of rows, for what adds up all events.
SELECT first, events FROM event_turns WHERE run_id = $1 AND first > $2 ORDER BY first LIMIT $3;

-- name: newest_snapshot
-- The last one at or before a sequence number; NULL for the last of all.
SELECT sequence, at_ms, context, tokens, rest FROM snapshots
WHERE run_id = $1 AND (CAST($2 AS BIGINT) IS NULL OR sequence <= $2) ORDER BY sequence DESC LIMIT 1;

-- name: oldest_snapshot
SELECT sequence, at_ms, context, tokens, rest FROM snapshots WHERE run_id = $1 ORDER BY sequence LIMIT 1;

-- name: count_tokens_of_run
-- How far a run is, for people who watch it.
SELECT node_id, status, count(*) FROM tokens WHERE run_id = $1 GROUP BY node_id, status;
