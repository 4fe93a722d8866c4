-- Which live runs need a thing: asked before it is archived (RES-5). A run needs all that its definition version names,
-- archived or not, and all that is named by what it calls.

-- name: versions_with_task
-- The workflow versions with a node that runs a task: one version of it, or any.
SELECT DISTINCT workflow_def_id, workflow_def_version FROM nodes
WHERE task_id = $1 AND task_version = coalesce(CAST($2 AS BIGINT), task_version);

-- name: versions_with_action
SELECT DISTINCT nodes.workflow_def_id, nodes.workflow_def_version
FROM steps JOIN nodes ON nodes.task_id = steps.task_def_id AND nodes.task_version = steps.task_def_version
WHERE steps.action_id = $1 AND steps.action_version = coalesce(CAST($2 AS BIGINT), steps.action_version);

-- name: versions_with_action_that_names
-- $1 is what is named, $2 the kind of action, and $3 the field of its implementation that names it.
SELECT DISTINCT nodes.workflow_def_id, nodes.workflow_def_version
FROM action_defs
JOIN steps ON steps.action_id = action_defs.id AND steps.action_version = action_defs.version
JOIN nodes ON nodes.task_id = steps.task_def_id AND nodes.task_version = steps.task_def_version
WHERE action_defs.kind = $2 AND action_defs.implementation ->> CAST($3 AS TEXT) = $1;

-- name: versions_that_call
-- The workflow versions that call one version of a workflow ($2; NULL is any), one that the context says, or also its
-- newest ($3).
SELECT DISTINCT nodes.workflow_def_id, nodes.workflow_def_version
FROM action_defs
JOIN steps ON steps.action_id = action_defs.id AND steps.action_version = action_defs.version
JOIN nodes ON nodes.task_id = steps.task_def_id AND nodes.task_version = steps.task_def_version
WHERE action_defs.kind = 'workflow_call' AND action_defs.implementation ->> 'workflow_def_id' = $1
    AND coalesce(
        CAST(action_defs.implementation ->> 'version' AS TEXT)
            = coalesce(CAST(CAST($2 AS BIGINT) AS TEXT), CAST(action_defs.implementation ->> 'version' AS TEXT))
            OR CAST(action_defs.implementation ->> 'version' AS TEXT) LIKE '{%',
        CAST($3 AS INTEGER) = 1);

-- name: versions_that_trigger
-- The workflow versions whose runs start a workflow when they complete.
SELECT DISTINCT triggers.workflow_def_id, triggers.workflow_def_version
FROM triggers JOIN workflow_defs
    ON workflow_defs.id = triggers.workflow_def_id AND workflow_defs.version = triggers.workflow_def_version
JOIN workflows ON workflows.id = $1
WHERE triggers.workflow_id = workflows.id
    OR workflow_defs.project_id = workflows.project_id
        AND (triggers.workflow_id = workflows.name
            OR substr(triggers.workflow_id, 1, length(workflows.name) + 1) = workflows.name || '@');

-- name: live_runs_of_version
-- How many there are ($2 NULL: of any version), and the oldest of them.
SELECT id, count(*) OVER () AS found FROM runs
WHERE completed_ms IS NULL AND workflow_def_id = $1 AND workflow_version = coalesce(CAST($2 AS BIGINT), workflow_version)
ORDER BY id LIMIT $3;

-- name: live_runs_of_project
SELECT id, count(*) OVER () AS found FROM runs WHERE completed_ms IS NULL AND project_id = $1 ORDER BY id LIMIT $2;

-- name: live_runs_of_workflow
SELECT id, count(*) OVER () AS found FROM runs WHERE completed_ms IS NULL AND workflow_id = $1 ORDER BY id LIMIT $2;
