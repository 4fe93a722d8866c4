-- Who needs a thing: asked before it is archived (RES-5). Each row is the kind, name and version of a live user, and
-- then its table, id and library, where it may be one that nothing starts any more (needed_versions.py).
-- `pinned` users name a version; `floating` ones take the newest, so they only suffer when no version is left.

-- name: pinned_users(task_defs)
SELECT DISTINCT 'workflow' AS kind, workflow_defs.name, workflow_defs.version, 'workflow_defs' AS stored_in,
    workflow_defs.id, workflow_defs.library_id
FROM nodes JOIN workflow_defs
    ON workflow_defs.id = nodes.workflow_def_id AND workflow_defs.version = nodes.workflow_def_version
WHERE nodes.task_id = $1 AND nodes.task_version = coalesce(CAST($2 AS BIGINT), nodes.task_version)
    AND workflow_defs.archived_at IS NULL
ORDER BY 2, 3;

-- name: pinned_users(action_defs)
SELECT DISTINCT 'task' AS kind, task_defs.name, task_defs.version, 'task_defs' AS stored_in, task_defs.id,
    task_defs.library_id
FROM steps JOIN task_defs ON task_defs.id = steps.task_def_id AND task_defs.version = steps.task_def_version
WHERE steps.action_id = $1 AND steps.action_version = coalesce(CAST($2 AS BIGINT), steps.action_version)
    AND task_defs.archived_at IS NULL
ORDER BY 2, 3;

-- name: pinned_users(workflow_defs)
-- Workflows that are pinned to it, and calls of that version, or of one that the context says: that may be any.
SELECT 'workflow' AS kind, name, pinned_version AS version, 'workflows' AS stored_in, id,
    CAST(NULL AS TEXT) AS library_id
FROM workflows
WHERE workflow_def_id = $1 AND pinned_version = coalesce(CAST($2 AS BIGINT), pinned_version) AND archived_at IS NULL
UNION ALL
SELECT 'action' AS kind, name, version, 'action_defs' AS stored_in, id, library_id FROM action_defs
WHERE kind = 'workflow_call' AND archived_at IS NULL
    AND implementation ->> 'workflow_def_id' = $1
    AND (CAST(implementation ->> 'version' AS TEXT)
            = coalesce(CAST(CAST($2 AS BIGINT) AS TEXT), CAST(implementation ->> 'version' AS TEXT))
        OR CAST(implementation ->> 'version' AS TEXT) LIKE '{%')
ORDER BY 1, 2, 3;

-- name: floating_users(workflow_defs)
SELECT 'workflow' AS kind, name, pinned_version AS version, 'workflows' AS stored_in, id,
    CAST(NULL AS TEXT) AS library_id
FROM workflows
WHERE workflow_def_id = $1 AND pinned_version IS NULL AND archived_at IS NULL
UNION ALL
SELECT 'action' AS kind, name, version, 'action_defs' AS stored_in, id, library_id FROM action_defs
WHERE kind = 'workflow_call' AND archived_at IS NULL
    AND implementation ->> 'workflow_def_id' = $1 AND implementation ->> 'version' IS NULL
ORDER BY 1, 2, 3;

-- name: actions_that_name
-- $1 is what is named, $2 the kind of action, and $3 the field of its implementation that names it.
SELECT 'action' AS kind, name, version, 'action_defs' AS stored_in, id, library_id FROM action_defs
WHERE kind = $2 AND archived_at IS NULL AND implementation ->> CAST($3 AS TEXT) = $1
ORDER BY 2, 3;

-- name: users(model_profiles)
-- Besides the actions that name one.
SELECT 'default of project' AS kind, projects.name, CAST(NULL AS BIGINT) AS version, CAST(NULL AS TEXT) AS stored_in,
    CAST(NULL AS TEXT) AS id, CAST(NULL AS TEXT) AS library_id
FROM project_settings JOIN projects ON projects.id = project_settings.project_id
WHERE project_settings.default_model_profile_id = $1 AND projects.archived_at IS NULL
ORDER BY 2;

-- name: users(projects)
-- What is going to start runs in a project: schedules that are not paused, and triggers and retries that are due.
SELECT 'schedule' AS kind, schedules.name, CAST(NULL AS BIGINT) AS version
FROM schedules JOIN schedule_states ON schedule_states.schedule_id = schedules.id
WHERE schedules.project_id = $1 AND schedules.archived_at IS NULL AND schedule_states.paused = 0
UNION ALL
SELECT 'pending trigger of run' AS kind, trigger_firings.run_id AS name, CAST(NULL AS BIGINT) AS version
FROM trigger_firings JOIN runs ON runs.id = trigger_firings.run_id
WHERE runs.project_id = $1 AND trigger_firings.status = 'pending'
UNION ALL
SELECT 'pending retry of run' AS kind, triggered_runs.run_id AS name, CAST(NULL AS BIGINT) AS version
FROM triggered_runs JOIN runs ON runs.id = triggered_runs.run_id
WHERE runs.project_id = $1 AND triggered_runs.retry_due = 1
ORDER BY 1, 2;

-- name: users(workflows)
-- Workflows whose runs start this one when they complete, and schedules that do.
SELECT DISTINCT 'trigger of workflow' AS kind, workflow_defs.name, workflow_defs.version,
    'workflow_defs' AS stored_in, workflow_defs.id, workflow_defs.library_id
FROM triggers JOIN workflow_defs
    ON workflow_defs.id = triggers.workflow_def_id AND workflow_defs.version = triggers.workflow_def_version
JOIN workflows ON workflows.id = $1
WHERE workflow_defs.archived_at IS NULL AND workflow_defs.id <> workflows.workflow_def_id
    AND (triggers.workflow_id = workflows.id
        OR workflow_defs.project_id = workflows.project_id
            AND (triggers.workflow_id = workflows.name
                OR substr(triggers.workflow_id, 1, length(workflows.name) + 1) = workflows.name || '@'))
UNION ALL
SELECT 'schedule' AS kind, name, CAST(NULL AS BIGINT) AS version, CAST(NULL AS TEXT) AS stored_in,
    CAST(NULL AS TEXT) AS id, CAST(NULL AS TEXT) AS library_id
FROM schedules
WHERE workflow_id = $1 AND archived_at IS NULL
ORDER BY 1, 2, 3;

-- name: users(schedules)
-- Nothing names a schedule.
SELECT 'schedule' AS kind, name, CAST(NULL AS BIGINT) AS version, CAST(NULL AS TEXT) AS stored_in, id,
    CAST(NULL AS TEXT) AS library_id
FROM schedules WHERE id = $1 AND id IS NULL;

-- name: triggers_into_library
-- Workflows whose runs start something of a library when they complete: $1 is its name, $2 its workspace, NULL if it is
-- public.
SELECT DISTINCT 'trigger of workflow' AS kind, workflow_defs.name, workflow_defs.version,
    'workflow_defs' AS stored_in, workflow_defs.id, workflow_defs.library_id
FROM triggers JOIN workflow_defs
    ON workflow_defs.id = triggers.workflow_def_id AND workflow_defs.version = triggers.workflow_def_version
LEFT JOIN projects ON projects.id = workflow_defs.project_id
LEFT JOIN libraries ON libraries.id = workflow_defs.library_id
WHERE workflow_defs.archived_at IS NULL
    AND substr(triggers.workflow_id, 1, length(CAST($1 AS TEXT)) + 1) = CAST($1 AS TEXT) || '/'
    AND coalesce(projects.workspace_id, libraries.workspace_id, '')
        = coalesce(CAST($2 AS TEXT), projects.workspace_id, libraries.workspace_id, '')
ORDER BY 2, 3;

-- name: tasks_with_action
-- The task versions with a step that runs a version of an action, archived ones too.
SELECT DISTINCT task_def_id, task_def_version FROM steps WHERE action_id = $1 AND action_version = $2;

-- name: live_calls_of
-- The actions that call a version of a workflow ($2), or its newest if that is the one ($3).
SELECT id, version FROM action_defs
WHERE kind = 'workflow_call' AND archived_at IS NULL AND implementation ->> 'workflow_def_id' = $1
    AND coalesce(
        CAST(implementation ->> 'version' AS TEXT) = CAST(CAST($2 AS BIGINT) AS TEXT)
            OR CAST(implementation ->> 'version' AS TEXT) LIKE '{%',
        CAST($3 AS INTEGER) = 1);

-- name: live_bindings
-- The workflows that bind a definition.
SELECT id, pinned_version, enabled FROM workflows WHERE workflow_def_id = $1 AND archived_at IS NULL;

-- name: enabled_workflow
SELECT 1 FROM workflows WHERE id = $1 AND enabled;
