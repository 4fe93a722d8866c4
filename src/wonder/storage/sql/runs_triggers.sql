-- Triggers of runs that have completed, and the runs that they started (PHS-6).

-- name: insert_trigger_firing
INSERT INTO trigger_firings
    (run_id, ordinal, trigger_id, workflow_id, status, items, upto, started, skipped, error)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: move_trigger_firing
UPDATE trigger_firings SET status = $3, upto = $4, started = $5, skipped = $6, error = $7
WHERE run_id = $1 AND ordinal = $2;

-- name: insert_triggered_run
INSERT INTO triggered_runs
    (run_id, triggered_by_run_id, trigger_ordinal, item_index, attempt, trigger_depth, max_retries,
     trigger_timeout_ms, root_run_id, trigger_on_timeout, retry_due)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0);

-- name: count_triggered_below
-- All that triggers have started from one run on, retries included.
SELECT count(*) FROM triggered_runs WHERE root_run_id = $1;

-- name: set_retry_due
UPDATE triggered_runs SET retry_due = $2 WHERE run_id = $1;

-- name: firings_of_run
SELECT * FROM trigger_firings WHERE run_id = $1 ORDER BY ordinal;

-- name: runs_with_pending_firings
SELECT DISTINCT run_id FROM trigger_firings WHERE status = 'pending' AND run_id > $1 ORDER BY run_id LIMIT $2;

-- name: retries_due
-- With what says when each is due: which try has failed, and when.
SELECT triggered_runs.run_id, triggered_runs.attempt, runs.completed_ms
FROM triggered_runs JOIN runs ON runs.id = triggered_runs.run_id
WHERE triggered_runs.retry_due = 1 AND triggered_runs.run_id > $1 ORDER BY triggered_runs.run_id LIMIT $2;

-- name: runs_triggered_by
-- In the order of the triggers, their items and attempts, behind one of them.
SELECT trigger_ordinal, item_index, attempt, run_id FROM triggered_runs
WHERE triggered_by_run_id = $1 AND (trigger_ordinal, item_index, attempt) > ($2, $3, $4)
ORDER BY trigger_ordinal, item_index, attempt LIMIT $5;

-- name: unfinished_triggered_by
-- What a run has triggered, and what that has triggered, as far as it has not ended or has triggers that are pending.
WITH RECURSIVE started (run_id) AS (
    SELECT run_id FROM triggered_runs WHERE triggered_by_run_id = $1
    UNION ALL
    SELECT triggered_runs.run_id FROM triggered_runs JOIN started ON triggered_runs.triggered_by_run_id = started.run_id
)
SELECT started.run_id FROM started JOIN runs ON runs.id = started.run_id
WHERE runs.completed_ms IS NULL OR EXISTS (
    SELECT 1 FROM trigger_firings WHERE trigger_firings.run_id = started.run_id AND trigger_firings.status = 'pending')
ORDER BY started.run_id;
