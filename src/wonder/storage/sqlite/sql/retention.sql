-- SQLite names a row by its rowid, so that some rows of a run can be deleted and others left for the next transaction.

-- name: delete_rows_of_run
-- tables: tokens, run_groups, run_branches, run_loops, event_turns, indexed_events, snapshots, timers, inbox_items, event_waits, trigger_firings, triggered_runs, schedule_firings, run_deaths, reservations, run_failures, run_costs, artifacts
DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE run_id = $1 LIMIT $2);

-- name: delete_old_metrics
DELETE FROM metrics WHERE rowid IN (SELECT rowid FROM metrics WHERE project_id = $1 AND minute_ms < $2 LIMIT $3);
