-- Runs that were under way when a process ended without closing its engine: read and written when an engine begins.

-- name: run_deaths
SELECT run_id, deaths, quick, sequence, taken_ms FROM run_deaths;

-- name: insert_run_deaths
INSERT INTO run_deaths (run_id, deaths, quick, sequence, taken_ms) VALUES ($1, $2, $3, $4, $5);

-- name: forget_run_deaths
DELETE FROM run_deaths;

-- name: forget_deaths_of_run
DELETE FROM run_deaths WHERE run_id = $1;

-- name: quarantined_runs
SELECT id FROM runs WHERE completed_ms IS NULL AND status = 'paused' AND paused_reason = 'quarantined'
    AND project_id = $1 ORDER BY id LIMIT $2;
