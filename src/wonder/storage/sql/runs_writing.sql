-- What the one writer writes: the rows of a batch, each kind with one statement that is run for all of them.

-- name: insert_run
INSERT INTO runs
    (id, project_id, workflow_id, workflow_def_id, workflow_version, status, paused_reason, gate_item_id,
     timeout_left_ms, depth, parent_run_id, parent_token_id, parent_node_id, retry_of_run_id, forked_from_run_id,
     forked_from_sequence, idempotency_key, input_hash, owner_id, input, output, error,
     created_ms, started_ms, completed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25);

-- name: insert_run_with_key
-- The second that comes with an idempotency key leaves the first one's row as it is (CTL-17).
INSERT INTO runs
    (id, project_id, workflow_id, workflow_def_id, workflow_version, status, paused_reason, gate_item_id,
     timeout_left_ms, depth, parent_run_id, parent_token_id, parent_node_id, retry_of_run_id, forked_from_run_id,
     forked_from_sequence, idempotency_key, input_hash, owner_id, input, output, error,
     created_ms, started_ms, completed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25)
ON CONFLICT (workflow_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING;

-- name: update_run
-- All that may change of a run, at once. When it starts, its input goes to the context tables.
UPDATE runs SET status = $2, paused_reason = $3, gate_item_id = $4, timeout_left_ms = $5,
    started_ms = coalesce(CAST($6 AS BIGINT), started_ms),
    input = CASE WHEN coalesce(CAST($6 AS BIGINT), CAST($9 AS BIGINT)) IS NULL THEN input END,
    output = $7, error = $8, completed_ms = $9
WHERE id = $1;

-- name: add_run_count
INSERT INTO run_counts (project_id, workflow_def_id, status, part, runs) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (project_id, workflow_def_id, status, part) DO UPDATE SET runs = run_counts.runs + excluded.runs;

-- name: insert_run_failure
INSERT INTO run_failures (run_id, project_id, workflow_def_id, code, node) VALUES ($1, $2, $3, $4, $5);

-- name: add_run_cost
INSERT INTO run_costs (run_id, project_id, cost_usd) VALUES ($1, $2, $3)
ON CONFLICT (run_id) DO UPDATE SET cost_usd = run_costs.cost_usd + excluded.cost_usd;

-- name: insert_token
INSERT INTO tokens
    (run_id, id, node_id, path_id, parent_token_id, group_id, branch_index, branch_total, fan_out_transition_id,
     status, born, held, losses, input, last_error, state_data, created_ms, updated_ms, ended_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19);

-- name: end_tokens_of_run
-- All that are live, at once: of a run with very many of them.
UPDATE tokens SET status = $2, updated_ms = $3, ended_ms = $3,
    input = CASE WHEN CAST($4 AS INTEGER) = 1 THEN input END
WHERE run_id = $1 AND ended_ms IS NULL;

-- name: move_token
-- Executing, or ended: the rest stays for people to look at.
UPDATE tokens SET status = $3, updated_ms = $4, ended_ms = $5 WHERE run_id = $1 AND id = $2;

-- name: end_token_without_input
-- Where the project's `record_io` keeps no input of it.
UPDATE tokens SET status = $3, updated_ms = $4, ended_ms = $5, input = NULL WHERE run_id = $1 AND id = $2;

-- name: end_token_with_input
-- Dispatched and ended within one commit.
UPDATE tokens SET status = $3, updated_ms = $4, ended_ms = $5, input = $6 WHERE run_id = $1 AND id = $2;

-- name: update_token
-- Dispatched, suspended or let go by max_parallel.
UPDATE tokens SET status = $3, held = $4, losses = $5, input = $6, state_data = $7, updated_ms = $8
WHERE run_id = $1 AND id = $2;

-- name: join_token
UPDATE tokens SET status = $3, losses = $4, state_data = $5, updated_ms = $6, last_error = NULL
WHERE run_id = $1 AND id = $2;

-- name: join_token_without_input
UPDATE tokens SET status = $3, losses = $4, state_data = $5, updated_ms = $6, input = NULL, last_error = NULL
WHERE run_id = $1 AND id = $2;

-- name: join_token_with_input
UPDATE tokens SET status = $3, losses = $4, state_data = $5, updated_ms = $6, input = $7, last_error = NULL
WHERE run_id = $1 AND id = $2;

-- name: insert_group
INSERT INTO run_groups (run_id, id, node_id, path_id, outer_group_id, outer_index, segments, fired)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: set_fired_joins
UPDATE run_groups SET fired = $3 WHERE run_id = $1 AND id = $2;

-- name: delete_group
DELETE FROM run_groups WHERE run_id = $1 AND id = $2;

-- name: delete_groups_of_run
DELETE FROM run_groups WHERE run_id = $1;

-- name: delete_branches_of_run
DELETE FROM run_branches WHERE run_id = $1;

-- name: delete_loops_of_run
DELETE FROM run_loops WHERE run_id = $1;

-- name: delete_branches
DELETE FROM run_branches WHERE run_id = $1 AND group_id = $2;

-- name: delete_loops
DELETE FROM run_loops WHERE run_id = $1 AND group_id = $2;

-- name: put_branch
-- A branch has no row until there is something to say about it.
INSERT INTO run_branches
    (run_id, group_id, branch_index, status, abandoned, entered_node_id, arrived_as, output, error, replaced)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (run_id, group_id, branch_index) DO UPDATE SET
    status = excluded.status, abandoned = excluded.abandoned, entered_node_id = excluded.entered_node_id,
    arrived_as = excluded.arrived_as, output = excluded.output, error = excluded.error, replaced = excluded.replaced;

-- name: put_loop
INSERT INTO run_loops (run_id, group_id, branch_index, transition_id, count, first_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (run_id, group_id, branch_index, transition_id) DO UPDATE SET
    count = excluded.count, first_ms = excluded.first_ms;

-- name: delete_loop
DELETE FROM run_loops WHERE run_id = $1 AND group_id = $2 AND branch_index = $3 AND transition_id = $4;

-- name: put_timer
INSERT INTO timers (run_id, key, due_ms) VALUES ($1, $2, $3)
ON CONFLICT (run_id, key) DO UPDATE SET due_ms = excluded.due_ms;

-- name: delete_timer
DELETE FROM timers WHERE run_id = $1 AND key = $2;

-- name: delete_timers_of_run
DELETE FROM timers WHERE run_id = $1;

-- name: insert_events
INSERT INTO event_turns (run_id, first, last, events, tokens_made, bytes_written) VALUES ($1, $2, $3, $4, $5, $6);

-- name: put_snapshot
-- The same state can only be snapshot again with the same content.
INSERT INTO snapshots (run_id, sequence, at_ms, context, tokens, rest) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (run_id, sequence) DO NOTHING;

-- name: insert_inbox_item
INSERT INTO inbox_items
    (id, project_id, run_id, token_id, kind, prompt, schema, input, due_ms, status, answer, answered_by,
     created_ms, closed_ms, assignee, role, claimed_by, people, evidence, rules, progress)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

-- name: update_inbox_item
-- How an item stands whose assignee, claim, answers or reminders have changed, closed with that or not.
UPDATE inbox_items SET status = COALESCE($2, status), answer = COALESCE($3, answer),
    answered_by = COALESCE($4, answered_by), closed_ms = $5, assignee = $6, claimed_by = $7, people = $8, progress = $9
WHERE id = $1 AND closed_ms IS NULL;

-- name: close_inbox_item
-- Answered or withdrawn, whichever came first.
UPDATE inbox_items SET status = $2, answer = $3, answered_by = $4, closed_ms = $5
WHERE id = $1 AND closed_ms IS NULL;

-- name: withdraw_items_of_run
UPDATE inbox_items SET status = 'withdrawn', closed_ms = $2 WHERE run_id = $1 AND closed_ms IS NULL;

-- name: insert_event_wait
INSERT INTO event_waits (run_id, token_id, project_id, event, key, created_ms) VALUES ($1, $2, $3, $4, $5, $6);

-- name: delete_event_wait
DELETE FROM event_waits WHERE run_id = $1 AND token_id = $2;

-- name: delete_event_waits_of_run
DELETE FROM event_waits WHERE run_id = $1;

-- name: insert_kept_event
INSERT INTO kept_events (id, project_id, event, key, sender_id, payload, arrived_ms, expires_ms, used_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: use_kept_event
UPDATE kept_events SET used_ms = $2, payload = NULL WHERE id = $1;

-- name: answer_request
UPDATE requests SET result = $2, error = $3, answered_ms = $4 WHERE id = $1 AND answered_ms IS NULL;
