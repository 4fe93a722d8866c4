-- What the checker reads: whole runs, one at a time, as the tables have them. It shares no query with the engine, so that
-- no mistake of one hides a mistake of the other.

-- name: checker_run_ids
-- Without those that are being removed with their family, some of which may be gone.
SELECT id FROM runs WHERE id > $1 AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = runs.id)
ORDER BY id LIMIT $2;

-- name: checker_count_runs
SELECT count(*) FROM runs;

-- name: checker_orphans
-- Rows of runs that are not there, and are not being removed either.
SELECT 'tokens' AS kind, run_id FROM (SELECT DISTINCT run_id FROM tokens) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'events' AS kind, run_id FROM (SELECT DISTINCT run_id FROM event_turns) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'indexed_events' AS kind, run_id FROM (SELECT DISTINCT run_id FROM indexed_events) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'timers' AS kind, run_id FROM (SELECT DISTINCT run_id FROM timers) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'inbox_items' AS kind, run_id FROM (SELECT DISTINCT run_id FROM inbox_items) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'event_waits' AS kind, run_id FROM (SELECT DISTINCT run_id FROM event_waits) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'trigger_firings' AS kind, run_id FROM (SELECT DISTINCT run_id FROM trigger_firings) AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
UNION ALL
SELECT 'triggered_runs' AS kind, run_id FROM triggered_runs AS t
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = t.run_id)
    AND NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = t.run_id)
ORDER BY 1, 2;

-- name: checker_run
SELECT * FROM runs WHERE id = $1;

-- name: checker_position
-- Where a run is. Read before and after its rows: when it differs, the run has moved on in between.
SELECT status, (SELECT last FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1) AS last,
    (SELECT CAST(sum(upto) AS BIGINT) FROM trigger_firings WHERE trigger_firings.run_id = runs.id) AS upto
FROM runs WHERE id = $1;

-- name: checker_event_rows
SELECT first, last, tokens_made FROM event_turns WHERE run_id = $1 ORDER BY first;

-- name: checker_events
SELECT sequence, step, type, at_ms, node_id, token_id, path_id, metadata FROM events
WHERE run_id = $1 ORDER BY sequence;

-- name: checker_indexed_events
SELECT sequence, project_id, type, at_ms, node_id, token_id FROM indexed_events WHERE run_id = $1 ORDER BY sequence;

-- name: checker_tokens
SELECT * FROM tokens WHERE run_id = $1 ORDER BY born, id;

-- name: checker_groups
SELECT * FROM run_groups WHERE run_id = $1 ORDER BY id;

-- name: checker_branches
SELECT * FROM run_branches WHERE run_id = $1 ORDER BY group_id, branch_index;

-- name: checker_loops
SELECT * FROM run_loops WHERE run_id = $1 ORDER BY group_id, branch_index, transition_id;

-- name: checker_timers
SELECT key, due_ms FROM timers WHERE run_id = $1 ORDER BY key;

-- name: checker_inbox_items
SELECT * FROM inbox_items WHERE run_id = $1 ORDER BY id;

-- name: checker_event_waits
SELECT * FROM event_waits WHERE run_id = $1 ORDER BY token_id;

-- name: checker_snapshots
SELECT sequence, context, tokens, rest FROM snapshots WHERE run_id = $1 ORDER BY sequence;

-- name: checker_children
SELECT id, status, parent_token_id, parent_node_id, depth FROM runs WHERE parent_run_id = $1 ORDER BY id;

-- name: checker_firings
SELECT * FROM trigger_firings WHERE run_id = $1 ORDER BY ordinal;

-- name: checker_triggered
SELECT triggered_runs.*, runs.status FROM triggered_runs LEFT JOIN runs ON runs.id = triggered_runs.run_id
WHERE triggered_by_run_id = $1 ORDER BY trigger_ordinal, item_index, attempt;

-- name: checker_origin
SELECT triggered_runs.*, runs.status FROM triggered_runs JOIN runs ON runs.id = triggered_runs.run_id
WHERE triggered_runs.run_id = $1;

-- name: checker_pending_triggers
SELECT run_id, 'its triggers are pending' FROM trigger_firings WHERE status = 'pending'
UNION ALL
SELECT run_id, 'it was not retried' FROM triggered_runs WHERE retry_due = 1
ORDER BY 1;

-- name: checker_trigger_definitions
SELECT ordinal, for_each, inputs FROM triggers WHERE workflow_def_id = $1 AND workflow_def_version = $2
ORDER BY ordinal;

-- name: checker_triggers_since
SELECT applied_at FROM schema_migrations WHERE name = 'triggers';

-- name: checker_definition
SELECT initial_node_id, timeout_ms, on_timeout, input_schema, context_schema, output_schema FROM workflow_defs
WHERE id = $1 AND version = $2;

-- name: checker_nodes
-- Each node with what limits its task.
SELECT nodes.id, nodes.ref, nodes.task_id, nodes.task_version, task_defs.timeout_ms, task_defs.retry
FROM nodes LEFT JOIN task_defs ON task_defs.id = nodes.task_id AND task_defs.version = nodes.task_version
WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY ordinal;

-- name: checker_steps
SELECT nodes.id AS node_id, steps.ref, action_defs.implementation, action_defs.execution
FROM nodes
JOIN steps ON steps.task_def_id = nodes.task_id AND steps.task_def_version = nodes.task_version
JOIN action_defs ON action_defs.id = steps.action_id AND action_defs.version = steps.action_version
WHERE nodes.workflow_def_id = $1 AND nodes.workflow_def_version = $2 ORDER BY nodes.ordinal, steps.ordinal;

-- name: checker_transitions
SELECT id, ref, from_node_id, to_node_id, priority, spawn_count, foreach, synchronization, loop_config
FROM transitions WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY ordinal;

-- name: checker_context_tables
SELECT table_name, layout_format FROM context_tables
WHERE workflow_def_id = $1 AND workflow_def_version = $2 AND kind = 'table'
UNION ALL
SELECT table_name, layout_format FROM shared_context_tables
WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY table_name;

-- name: checker_leases
SELECT name, owner_id, epoch FROM leases ORDER BY name;

-- name: checker_inbox_item
SELECT run_id, status, answer FROM inbox_items WHERE id = $1;

-- name: checker_kept_events
SELECT id, sender_id, used_ms, expires_ms FROM kept_events
WHERE project_id = $1 AND event = $2 AND key = $3 ORDER BY id;

-- name: checker_waits_for_event
SELECT run_id, token_id FROM event_waits WHERE project_id = $1 AND event = $2 AND key = $3 ORDER BY run_id, token_id;

-- name: checker_overdue_timers
SELECT timers.run_id, timers.key, timers.due_ms FROM timers WHERE due_ms < $1 ORDER BY run_id, key LIMIT 1000;

-- name: checker_live_runs
SELECT id, status FROM runs WHERE completed_ms IS NULL ORDER BY id;

-- name: checker_suspended_for_events
-- Runs of which a token waits for an event, or has waited for one.
SELECT DISTINCT run_id FROM tokens WHERE state_data IS NOT NULL ORDER BY run_id;

-- name: checker_schedule_ids
SELECT id FROM schedules WHERE id > $1 ORDER BY id LIMIT $2;

-- name: checker_schedule
-- A schedule with all that it says of itself. Read before and after its firings: when it differs, it has moved on.
SELECT * FROM schedules LEFT JOIN schedule_states ON schedule_states.schedule_id = schedules.id
WHERE schedules.id = $1;

-- name: checker_schedule_orphans
SELECT 'schedule_states' AS kind, schedule_id FROM schedule_states
WHERE NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.id = schedule_id AND schedules.archived_at IS NULL)
UNION ALL
SELECT 'schedule_firings' AS kind, schedule_id FROM (SELECT DISTINCT schedule_id FROM schedule_firings) AS t
WHERE NOT EXISTS (SELECT 1 FROM schedules WHERE schedules.id = t.schedule_id)
ORDER BY 1, 2;

-- name: checker_schedule_firings
SELECT schedule_firings.*, runs.id AS found_id, runs.status, runs.created_ms, runs.completed_ms, runs.workflow_id,
    runs.idempotency_key
FROM schedule_firings LEFT JOIN runs ON runs.id = schedule_firings.run_id
WHERE schedule_firings.schedule_id = $1 AND schedule_firings.planned_ms > $2
ORDER BY schedule_firings.planned_ms LIMIT $3;

-- name: checker_firing_of_run
SELECT * FROM schedule_firings WHERE run_id = $1 ORDER BY schedule_id, planned_ms;

-- name: checker_unlisted_scheduled_runs
-- Runs that say that a schedule started them, of which it knows nothing.
SELECT id, idempotency_key FROM runs
WHERE workflow_id = $1 AND idempotency_key LIKE 'schedule ' || $2 || ' %'
    AND NOT EXISTS (SELECT 1 FROM schedule_firings WHERE schedule_firings.run_id = runs.id)
ORDER BY id LIMIT 100;

-- name: checker_overlapping_runs
-- Planned runs of a schedule that began while another one of it had not ended, by more than $2 milliseconds.
SELECT run_id FROM (
    SELECT schedule_firings.run_id, schedule_firings.at_ms, runs.created_ms, runs.idempotency_key,
        max(coalesce(runs.completed_ms, 9000000000000000)) OVER (
            ORDER BY runs.created_ms, schedule_firings.planned_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ends_ms
    FROM schedule_firings JOIN runs ON runs.id = schedule_firings.run_id
    WHERE schedule_firings.schedule_id = $1
) AS begun
WHERE ends_ms > created_ms + $2 AND at_ms > $3 AND idempotency_key NOT LIKE '% by hand %'
ORDER BY run_id LIMIT 100;

-- name: checker_scheduled_run
-- By which schedule a run was started, for when, and how that stands to other runs of it.
SELECT schedules.id, schedules.name, schedules.overlap, schedules.catch_up, schedules.catch_up_ms,
    schedules.catch_up_max, schedules.jitter_ms, schedule_firings.planned_ms, runs.idempotency_key,
    schedule_states.revision
FROM schedule_firings JOIN schedules ON schedules.id = schedule_firings.schedule_id
JOIN runs ON runs.id = schedule_firings.run_id
LEFT JOIN schedule_states ON schedule_states.schedule_id = schedules.id
WHERE schedule_firings.run_id = $1;

-- name: checker_overdue_schedules
SELECT schedules.name, schedule_states.due_ms
FROM schedule_states JOIN schedules ON schedules.id = schedule_states.schedule_id
WHERE schedule_states.paused = 0 AND schedule_states.due_ms < $1 ORDER BY schedules.name LIMIT 1000;

-- name: checker_miscounted_runs
-- What is counted of a project's workflow in a status, and how many runs more or fewer there are. One statement, so that
-- it sees both at the same moment.
SELECT project_id, workflow_def_id, status, sum(counted), sum(runs) FROM (
    SELECT project_id, workflow_def_id, status, runs AS counted, 0 AS runs FROM run_counts
    UNION ALL
    SELECT project_id, workflow_def_id, CASE WHEN paused_reason = 'quarantined' THEN 'quarantined' ELSE status END, 0, 1
    FROM runs
) AS both_ways
GROUP BY project_id, workflow_def_id, status HAVING sum(counted) <> sum(runs) ORDER BY 1, 2, 3 LIMIT 100;

-- name: checker_misfiled_runs
-- Failed runs that no list of failures would find, and runs that it would find though they have not failed.
SELECT id FROM runs WHERE status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM run_failures WHERE run_failures.run_id = runs.id AND run_failures.project_id = runs.project_id
        AND run_failures.workflow_def_id = runs.workflow_def_id)
UNION ALL
SELECT run_failures.run_id FROM run_failures JOIN runs ON runs.id = run_failures.run_id WHERE runs.status <> 'failed'
ORDER BY 1 LIMIT 100;

-- name: checker_wrong_costs
-- Runs that have cost something else than their events say, by more than adding in another order makes.
SELECT run_id FROM (
    SELECT run_id, cost_usd FROM run_costs
    UNION ALL SELECT run_id, -cost_usd FROM events WHERE cost_usd > 0
) AS both_ways
WHERE NOT EXISTS (SELECT 1 FROM removed_runs WHERE removed_runs.run_id = both_ways.run_id)
GROUP BY run_id HAVING abs(sum(cost_usd)) > 0.000000001 + sum(abs(cost_usd)) * 0.000000001 ORDER BY 1 LIMIT 100;
