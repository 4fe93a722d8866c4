-- Ids of runs, newest first, each query by an index that has them in this order: those below one id, down to another.
-- Those of a workflow may be of several projects, if it is of a library: whoever lists them looks at the project as well.

-- name: find_by_project
SELECT id FROM runs WHERE project_id = $1 AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4;

-- name: find_by_live_status
-- Of any but `running`.
SELECT id FROM runs
WHERE project_id = $1 AND completed_ms IS NULL AND status <> 'running' AND status = $5 AND id < $2 AND id >= $3
ORDER BY id DESC LIMIT $4;

-- name: find_live
-- Of all projects: an index for those that run would cost every run two writes.
SELECT id FROM runs WHERE completed_ms IS NULL AND id < $1 AND id >= $2 ORDER BY id DESC LIMIT $3;

-- name: find_cancelled
SELECT id FROM runs WHERE project_id = $1 AND status = 'cancelled' AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4;

-- name: find_failed
SELECT run_id FROM run_failures WHERE project_id = $1 AND run_id < $2 AND run_id >= $3 ORDER BY run_id DESC LIMIT $4;

-- name: find_failed_by_workflow
SELECT run_id FROM run_failures
WHERE workflow_def_id = $1 AND run_id < $2 AND run_id >= $3 ORDER BY run_id DESC LIMIT $4;

-- name: find_failed_by_code
SELECT run_id FROM run_failures
WHERE project_id = $1 AND code = $5 AND run_id < $2 AND run_id >= $3 ORDER BY run_id DESC LIMIT $4;

-- name: find_failed_by_node
SELECT run_id FROM run_failures
WHERE project_id = $1 AND node = $5 AND run_id < $2 AND run_id >= $3 ORDER BY run_id DESC LIMIT $4;

-- name: find_by_workflow
SELECT id FROM runs
WHERE workflow_def_id = $1 AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4;

-- name: find_by_parent
SELECT id FROM runs
WHERE parent_run_id = $1 AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4;

-- name: find_with_cost
SELECT run_id FROM run_costs WHERE project_id = $1 AND run_id < $2 AND run_id >= $3 ORDER BY run_id DESC LIMIT $4;

-- name: run_counts_of_project
-- By workflow and status, or of one workflow.
SELECT workflow_def_id,
    coalesce((SELECT max(name) FROM workflow_defs WHERE workflow_defs.id = run_counts.workflow_def_id), ''), status,
    CAST(sum(runs) AS BIGINT)
FROM run_counts WHERE project_id = $1 AND (CAST($2 AS TEXT) IS NULL OR workflow_def_id = $2)
GROUP BY workflow_def_id, status HAVING sum(runs) <> 0 ORDER BY 1, 3;
