-- Many runs at once: their ids go in as one JSON parameter, which each database unfolds with a function of its own.

-- name: headers_of_runs
SELECT runs.*, triggered_runs.*, coalesce(
    (SELECT last FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT max(sequence) FROM snapshots WHERE snapshots.run_id = runs.id), 0) AS sequence, coalesce(
    (SELECT tokens_made FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT count(*) FROM tokens WHERE tokens.run_id = runs.id)) AS tokens_made, coalesce(
    (SELECT bytes_written FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    0) AS bytes_written
FROM runs LEFT JOIN triggered_runs ON triggered_runs.run_id = runs.id
WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id;

-- name: live_tokens_of_runs
SELECT run_id, id, node_id, status, path_id, parent_token_id, group_id, branch_index, born, held, losses,
    input, last_error, state_data
FROM tokens WHERE run_id IN (SELECT value FROM json_each($1)) AND ended_ms IS NULL;

-- name: ends_of_tokens
-- Of some tokens of one run.
SELECT id, status, ended_ms FROM tokens
WHERE run_id = $1 AND id IN (SELECT value FROM json_each($2));

-- name: groups_of_runs
SELECT run_id, id, node_id, path_id, outer_group_id, outer_index, segments, fired
FROM run_groups WHERE run_id IN (SELECT value FROM json_each($1));

-- name: branches_of_runs
SELECT run_id, group_id, branch_index, status, abandoned, entered_node_id, arrived_as, output, error
FROM run_branches WHERE run_id IN (SELECT value FROM json_each($1));

-- name: loops_of_runs
SELECT run_id, group_id, branch_index, transition_id, count, first_ms
FROM run_loops WHERE run_id IN (SELECT value FROM json_each($1));

-- name: timers_of_runs
SELECT run_id, key, due_ms FROM timers WHERE run_id IN (SELECT value FROM json_each($1));

-- name: runs_of_keys
-- The runs that have these idempotency keys, given as a list of pairs: workflow, key.
SELECT runs.workflow_id, runs.idempotency_key, runs.id, runs.input_hash
FROM json_each($1) AS wanted JOIN runs
    ON runs.workflow_id = wanted.value ->> 0 AND runs.idempotency_key = wanted.value ->> 1;
