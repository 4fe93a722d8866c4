-- The run at the beginning of all triggers that led to a run, which nothing has triggered, so that all that it has set off
-- can be counted. NULL in rows of before.
ALTER TABLE triggered_runs ADD COLUMN root_run_id TEXT;
CREATE INDEX triggered_runs_root ON triggered_runs (root_run_id) WHERE root_run_id IS NOT NULL;
