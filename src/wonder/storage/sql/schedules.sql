-- Schedules: what they have done, when they have something to do next, and the runs that they have started.

-- name: put_schedules
INSERT INTO schedules
    (id, project_id, name, created_at, updated_at, description, workflow_id, cron, every_ms, time_zone, overlap,
     catch_up, catch_up_ms, catch_up_max, jitter_ms, starts_at, ends_at, input)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
ON CONFLICT (id) DO UPDATE SET
    updated_at = excluded.updated_at,
    description = excluded.description,
    workflow_id = excluded.workflow_id,
    cron = excluded.cron,
    every_ms = excluded.every_ms,
    time_zone = excluded.time_zone,
    overlap = excluded.overlap,
    catch_up = excluded.catch_up,
    catch_up_ms = excluded.catch_up_ms,
    catch_up_max = excluded.catch_up_max,
    jitter_ms = excluded.jitter_ms,
    starts_at = excluded.starts_at,
    ends_at = excluded.ends_at,
    input = excluded.input
WHERE schedules.project_id = excluded.project_id AND schedules.name = excluded.name;

-- name: begin_schedule
-- Due at once: the engine finds out when it really is.
INSERT INTO schedule_states (schedule_id, revision, paused, after_ms, due_ms, queued, started, skipped, failed)
VALUES ($1, 1, $2, $3, $3, '[]', 0, 0, 0);

-- name: replan_schedule
-- Its times are others now: those from $2 on count, and none that was planned before.
UPDATE schedule_states SET revision = revision + 1, after_ms = $2, due_ms = $2, queued = '[]' WHERE schedule_id = $1;

-- name: revise_schedule
-- It was changed, but not its times.
UPDATE schedule_states SET revision = revision + 1 WHERE schedule_id = $1;

-- name: pause_schedule
UPDATE schedule_states SET revision = revision + 1, paused = 1, note = $2 WHERE schedule_id = $1;

-- name: resume_schedule
-- What was planned while it was paused is not caught up with.
UPDATE schedule_states
SET revision = revision + 1, paused = 0, note = NULL, due_ms = $2,
    after_ms = CASE WHEN after_ms < $2 THEN $2 ELSE after_ms END
WHERE schedule_id = $1 AND paused = 1;

-- name: end_schedule
DELETE FROM schedule_states WHERE schedule_id = $1;

-- name: move_schedule
UPDATE schedule_states
SET after_ms = $3, due_ms = $4, queued = $5, last_planned_ms = $6, last_run_id = $7, last_skipped_ms = $8,
    last_missed_ms = $9, last_error = $10, last_error_ms = $11, started = $12, skipped = $13, failed = $14
WHERE schedule_id = $1 AND revision = $2;

-- name: due_schedules
SELECT * FROM schedule_states JOIN schedules ON schedules.id = schedule_states.schedule_id
WHERE schedule_states.paused = 0 AND schedule_states.due_ms <= $1
ORDER BY schedule_states.due_ms LIMIT $2;

-- name: next_schedule_due
SELECT due_ms FROM schedule_states WHERE paused = 0 AND due_ms > $1 ORDER BY due_ms LIMIT 1;

-- name: schedule_by_id
SELECT * FROM schedule_states JOIN schedules ON schedules.id = schedule_states.schedule_id
WHERE schedule_states.schedule_id = $1;

-- name: schedules_of_project
SELECT * FROM schedule_states JOIN schedules ON schedules.id = schedule_states.schedule_id
WHERE schedules.project_id = $1 AND schedules.name > $2 AND schedules.archived_at IS NULL
ORDER BY schedules.name LIMIT $3;

-- name: put_schedule_firing
-- The first run for a planned time is the one: a second could only be found with the same idempotency key.
INSERT INTO schedule_firings (schedule_id, planned_ms, run_id, at_ms, live) VALUES ($1, $2, $3, $4, 1)
ON CONFLICT (schedule_id, planned_ms) DO NOTHING;

-- name: schedule_firing
SELECT run_id FROM schedule_firings WHERE schedule_id = $1 AND planned_ms = $2;

-- name: close_schedule_firing
UPDATE schedule_firings SET live = 0 WHERE schedule_id = $1 AND planned_ms = $2;

-- name: live_schedule_firings
SELECT schedule_firings.planned_ms, schedule_firings.run_id,
    CASE WHEN runs.id IS NULL OR runs.completed_ms IS NOT NULL THEN 1 ELSE 0 END AS has_ended
FROM schedule_firings LEFT JOIN runs ON runs.id = schedule_firings.run_id
WHERE schedule_firings.schedule_id = $1 AND schedule_firings.live = 1
ORDER BY schedule_firings.planned_ms LIMIT $2;

-- name: last_schedule_firings
SELECT schedule_firings.planned_ms, schedule_firings.run_id, schedule_firings.at_ms, runs.status
FROM schedule_firings LEFT JOIN runs ON runs.id = schedule_firings.run_id
WHERE schedule_firings.schedule_id = $1
ORDER BY schedule_firings.planned_ms DESC LIMIT $2;
