-- Many runs at once: ids go in as one JSON parameter, and errors and tags are JSON, which each database reads in its own way.
-- As an array they are looked up one by one; as a subquery PostgreSQL took them for many, and read whole tables.

-- name: headers_of_runs
SELECT runs.*, triggered_runs.*, coalesce(
    (SELECT last FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT max(sequence) FROM snapshots WHERE snapshots.run_id = runs.id), 0) AS sequence, coalesce(
    (SELECT tokens_made FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    (SELECT count(*) FROM tokens WHERE tokens.run_id = runs.id)) AS tokens_made, coalesce(
    (SELECT bytes_written FROM event_turns WHERE event_turns.run_id = runs.id ORDER BY first DESC LIMIT 1),
    0) AS bytes_written
FROM runs LEFT JOIN triggered_runs ON triggered_runs.run_id = runs.id
WHERE id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON)))) ORDER BY id;

-- name: live_tokens_of_runs
SELECT run_id, id, node_id, status, path_id, parent_token_id, group_id, branch_index, born, held, losses,
    CASE WHEN status <> 'waiting_for_siblings' THEN input END AS input, last_error, state_data
FROM tokens WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON)))) AND ended_ms IS NULL;

-- name: ends_of_tokens
-- Of some tokens of one run.
SELECT id, status, ended_ms FROM tokens
WHERE run_id = $1 AND id = ANY (ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))));

-- name: inputs_of_tokens
SELECT id, input FROM tokens
WHERE run_id = $1 AND id = ANY (ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON)))) AND input IS NOT NULL;

-- name: groups_of_runs
SELECT run_id, id, node_id, path_id, outer_group_id, outer_index, segments, fired
FROM run_groups WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON))));

-- name: branches_of_runs
SELECT run_id, group_id, branch_index, status, abandoned, entered_node_id, arrived_as, output, error, replaced
FROM run_branches WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON))));

-- name: loops_of_runs
SELECT run_id, group_id, branch_index, transition_id, count, first_ms
FROM run_loops WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON))));

-- name: timers_of_runs
SELECT run_id, key, due_ms FROM timers WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON))));

-- name: runs_of_keys
-- The runs that have these idempotency keys, given as a list of pairs: workflow, key.
SELECT runs.workflow_id, runs.idempotency_key, runs.id, runs.input_hash
FROM json_array_elements(CAST($1 AS JSON)) AS wanted (pair) JOIN runs
    ON runs.workflow_id = wanted.pair ->> 0 AND runs.idempotency_key = wanted.pair ->> 1;

-- name: list_runs
-- Of some runs those that fit, newest first; what is NULL does not narrow the list. $6 and $7 are the times between which
-- a run was made, $8 a code of an error or a part of its message, $9 a code, $10 the ref of a node that it is at or failed
-- at, $11 a tag of its definition, $12 says whether it was retried, and $16 is the least that it has cost.
WITH found AS (
    SELECT runs.id FROM runs
    WHERE runs.id = ANY (ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON)))) AND runs.project_id = $1
        AND (CAST($4 AS TEXT) IS NULL
            OR CASE WHEN runs.paused_reason = 'quarantined' THEN 'quarantined' ELSE runs.status END = $4)
        AND (CAST($5 AS TEXT) IS NULL OR runs.workflow_def_id = $5)
        AND (CAST($6 AS BIGINT) IS NULL OR runs.created_ms >= $6)
        AND (CAST($7 AS BIGINT) IS NULL OR runs.created_ms < $7)
        AND (CAST($8 AS TEXT) IS NULL OR runs.error ->> 'code' = $8 OR strpos(runs.error ->> 'message', $8) > 0)
        AND (CAST($9 AS TEXT) IS NULL OR runs.error ->> 'code' = $9)
        AND (CAST($10 AS TEXT) IS NULL OR runs.error ->> 'node' = $10 OR (runs.completed_ms IS NULL AND EXISTS (
            SELECT 1 FROM tokens JOIN nodes ON nodes.id = tokens.node_id
                AND nodes.workflow_def_id = runs.workflow_def_id AND nodes.workflow_def_version = runs.workflow_version
            WHERE tokens.run_id = runs.id AND tokens.ended_ms IS NULL AND nodes.ref = $10)))
        AND (CAST($11 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM workflow_defs, json_array_elements_text(workflow_defs.tags) AS tag
            WHERE workflow_defs.id = runs.workflow_def_id AND workflow_defs.version = runs.workflow_version
                AND tag = $11))
        AND (CAST($12 AS BIGINT) IS NULL OR CAST($12 AS BIGINT) = (CASE WHEN EXISTS (
            SELECT 1 FROM runs AS again WHERE again.retry_of_run_id = runs.id) THEN 1 ELSE 0 END))
        AND (CAST($13 AS TEXT) IS NULL OR runs.workflow_id = $13)
        AND (CAST($14 AS BIGINT) IS NULL OR runs.workflow_version = $14)
        AND (CAST($15 AS TEXT) IS NULL OR runs.parent_run_id = $15)
        AND (CAST($16 AS DOUBLE PRECISION) IS NULL OR EXISTS (
            SELECT 1 FROM run_costs WHERE run_costs.run_id = runs.id AND run_costs.cost_usd >= $16))
    ORDER BY runs.id DESC LIMIT $3)
SELECT runs.*, triggered_runs.*, 0 AS sequence, 0 AS tokens_made, 0 AS bytes_written,
    (SELECT max(again.id) FROM runs AS again WHERE again.retry_of_run_id = runs.id) AS retried_as
FROM found JOIN runs ON runs.id = found.id LEFT JOIN triggered_runs ON triggered_runs.run_id = runs.id
ORDER BY runs.id DESC;

-- name: find_by_workflows
-- Of several workflows, given as a list of ids: as many of each as are asked for, and of these the newest.
SELECT found.id FROM json_array_elements_text(CAST($1 AS JSON)) AS wanted CROSS JOIN LATERAL (
    SELECT of_one.id FROM runs AS of_one WHERE of_one.workflow_def_id = wanted
        AND of_one.id < $2 AND of_one.id >= $3 ORDER BY of_one.id DESC LIMIT $4) AS found
ORDER BY found.id DESC LIMIT $4;

-- name: workflows_with_tag
-- Of any version.
SELECT DISTINCT workflow_defs.id FROM workflow_defs, json_array_elements_text(workflow_defs.tags) AS tag WHERE tag = $1 ORDER BY 1 LIMIT $2;
