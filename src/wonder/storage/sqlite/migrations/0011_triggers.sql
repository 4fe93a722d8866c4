-- What the triggers of a run that has completed are to do, stored with its completion, and how far each is (PHS-6).
-- `upto` is the item that comes next: it is moved on by the commit that stores the runs of the items before it.
CREATE TABLE trigger_firings (
    run_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    trigger_id TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    status TEXT NOT NULL,
    items INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    started INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (run_id, ordinal)
) STRICT;
CREATE INDEX trigger_firings_pending ON trigger_firings (run_id) WHERE status = 'pending';

-- Runs that a trigger started, and those that retried them: by which run, its trigger and item, and the how-manieth try.
CREATE TABLE triggered_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    triggered_by_run_id TEXT NOT NULL,
    trigger_ordinal INTEGER NOT NULL,
    item_index INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    trigger_depth INTEGER NOT NULL,
    max_retries INTEGER NOT NULL,
    trigger_timeout_ms INTEGER,
    retry_due INTEGER NOT NULL
) STRICT;
-- It also sees to it that nothing is ever started twice.
CREATE UNIQUE INDEX triggered_runs_item ON triggered_runs
    (triggered_by_run_id, trigger_ordinal, item_index, attempt);
CREATE INDEX triggered_runs_retry ON triggered_runs (run_id) WHERE retry_due = 1;
