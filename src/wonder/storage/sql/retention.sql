-- How long is kept what projects have (EVT-5).

-- name: retention_of_projects
-- A project without settings has the defaults.
SELECT projects.id, CAST(retention ->> 'events_days' AS BIGINT),
    CAST(coalesce(retention ->> 'logs_days', '30') AS BIGINT),
    CAST(coalesce(retention ->> 'audit_days', '365') AS BIGINT)
FROM projects LEFT JOIN project_settings ON project_settings.project_id = projects.id;

-- name: old_runs
-- Of a project, those that ended before a time, in the order of their ids; ids are in the order of creation.
SELECT id FROM runs WHERE project_id = $1 AND id > $2 AND id < $3 AND completed_ms < $4 ORDER BY id LIMIT $5;

-- name: count_old_runs
SELECT count(*) FROM runs WHERE project_id = $1 AND id < $2 AND completed_ms < $3;

-- name: count_old_log_records
SELECT count(*) FROM log_records WHERE project_id = $1 AND id < $2;

-- name: project_names
SELECT id, name FROM projects;

-- name: run_to_remove
-- What decides whether a run may go: a trigger of it that has not fired, or a retry that is due, needs it.
SELECT project_id, workflow_def_id, workflow_version, completed_ms,
    CASE WHEN EXISTS (SELECT 1 FROM trigger_firings WHERE trigger_firings.run_id = runs.id AND status = 'pending')
        OR EXISTS (SELECT 1 FROM triggered_runs WHERE triggered_runs.run_id = runs.id AND retry_due = 1)
    THEN 1 ELSE 0 END
FROM runs WHERE id = $1;

-- name: relatives_of_run
-- Its caller and those that it called, what it retries and what retries it, forks, triggers, in both directions.
SELECT id FROM runs WHERE parent_run_id = $1
UNION SELECT id FROM runs WHERE retry_of_run_id = $1
UNION SELECT id FROM runs WHERE forked_from_run_id = $1
UNION SELECT run_id FROM triggered_runs WHERE triggered_by_run_id = $1
UNION SELECT parent_run_id FROM runs WHERE id = $1 AND parent_run_id IS NOT NULL
UNION SELECT retry_of_run_id FROM runs WHERE id = $1 AND retry_of_run_id IS NOT NULL
UNION SELECT forked_from_run_id FROM runs WHERE id = $1 AND forked_from_run_id IS NOT NULL
UNION SELECT triggered_by_run_id FROM triggered_runs WHERE run_id = $1;

-- name: new_relatives
-- Runs that came to a family after it was listed: somebody retried or forked one of its runs.
SELECT runs.id FROM removed_runs JOIN runs ON runs.retry_of_run_id = removed_runs.run_id
WHERE removed_runs.family_id = $1 AND NOT EXISTS (SELECT 1 FROM removed_runs AS known WHERE known.run_id = runs.id)
UNION ALL
SELECT runs.id FROM removed_runs JOIN runs ON runs.forked_from_run_id = removed_runs.run_id
WHERE removed_runs.family_id = $1 AND NOT EXISTS (SELECT 1 FROM removed_runs AS known WHERE known.run_id = runs.id)
LIMIT 1;

-- name: artifact_ids_of_run
-- In the order of their ids, those after one.
SELECT id FROM artifacts WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: has_what_may_name
SELECT 1 FROM runs WHERE completed_ms IS NULL
UNION ALL SELECT 1 FROM kept_events WHERE used_ms IS NULL AND payload IS NOT NULL
UNION ALL SELECT 1 FROM schedules WHERE archived_at IS NULL AND input IS NOT NULL
LIMIT 1;

-- name: names_id
-- A live run that was given an id, or has written it: all that is written in a run is in its events, and the input of
-- one that has not started is in its row. Then what a run will be given: by an event that is kept, by a schedule.
SELECT 1 FROM runs JOIN event_turns ON event_turns.run_id = runs.id
WHERE runs.completed_ms IS NULL AND CAST(event_turns.events AS TEXT) LIKE '%' || $1 || '%'
UNION ALL SELECT 1 FROM runs WHERE completed_ms IS NULL AND CAST(input AS TEXT) LIKE '%' || $1 || '%'
UNION ALL SELECT 1 FROM kept_events WHERE used_ms IS NULL AND CAST(payload AS TEXT) LIKE '%' || $1 || '%'
UNION ALL SELECT 1 FROM schedules WHERE archived_at IS NULL AND CAST(input AS TEXT) LIKE '%' || $1 || '%'
LIMIT 1;

-- name: list_removed_run
INSERT INTO removed_runs (run_id, family_id, workflow_def_id, workflow_version, is_ready) VALUES ($1, $2, $3, $4, 0)
ON CONFLICT (run_id) DO NOTHING;

-- name: begin_removal
-- From here on the whole family goes, whatever happens to this process.
UPDATE removed_runs SET is_ready = 1 WHERE run_id = $1;

-- name: forget_removal
DELETE FROM removed_runs WHERE family_id = $1;

-- name: forget_unready_removals
-- Of a process that ended while it listed a family: nothing of that was deleted.
DELETE FROM removed_runs WHERE family_id NOT IN
    (SELECT ready.family_id FROM removed_runs AS ready WHERE ready.is_ready = 1);

-- name: removed_runs_with_rows
-- The run itself goes first, so that nobody sees half of one.
SELECT removed_runs.run_id FROM removed_runs JOIN runs ON runs.id = removed_runs.run_id
WHERE removed_runs.family_id IN (SELECT ready.family_id FROM removed_runs AS ready WHERE ready.is_ready = 1) LIMIT $1;

-- name: uncount_run
-- Before its row goes. In rows of retention's own, which no commit of the engine waits for.
INSERT INTO run_counts (project_id, workflow_def_id, status, part, runs)
SELECT project_id, workflow_def_id, CASE WHEN paused_reason = 'quarantined' THEN 'quarantined' ELSE status END, 1, -1
FROM runs WHERE id = $1
ON CONFLICT (project_id, workflow_def_id, status, part) DO UPDATE SET runs = run_counts.runs - 1;

-- name: delete_run
DELETE FROM runs WHERE id = $1;

-- name: mark_schedule_of_run
-- A schedule of which firings were deleted can't be counted anew: it counts as changed from outside.
UPDATE schedule_states SET revision = CASE WHEN revision = 1 THEN 2 ELSE revision END,
    last_run_id = CASE WHEN last_run_id = $1 THEN NULL ELSE last_run_id END
WHERE schedule_id IN (SELECT schedule_id FROM schedule_firings WHERE run_id = $1);

-- name: delete_schedule_firings_of_run
DELETE FROM schedule_firings WHERE run_id = $1;

-- name: next_removed_runs
-- Of each family the one that makes it ready comes last.
SELECT run_id, workflow_def_id, workflow_version FROM removed_runs
WHERE family_id IN (SELECT ready.family_id FROM removed_runs AS ready WHERE ready.is_ready = 1)
ORDER BY is_ready, run_id LIMIT $1;

-- name: delete_removed_run
DELETE FROM removed_runs WHERE run_id = $1;

-- name: note_removed_contents
INSERT INTO removed_contents (storage_key, since_ms)
SELECT DISTINCT storage_key, CAST($2 AS BIGINT) FROM artifacts WHERE run_id = $1
ON CONFLICT (storage_key) DO UPDATE SET since_ms = excluded.since_ms;

-- name: removed_contents
SELECT storage_key FROM removed_contents WHERE since_ms < $1 ORDER BY since_ms LIMIT $2;

-- name: content_is_used
SELECT 1 FROM artifacts WHERE storage_key = $1
UNION ALL SELECT 1 FROM log_archives WHERE storage_key = $1 LIMIT 1;

-- name: delete_removed_content
DELETE FROM removed_contents WHERE storage_key = $1;

-- name: delete_old_spending
DELETE FROM spending WHERE scope_id = $1 AND month < $2 AND reserved_nanousd = 0;

-- name: workspaces_of_projects
SELECT id, workspace_id FROM projects;
