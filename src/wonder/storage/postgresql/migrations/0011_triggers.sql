-- What the triggers of a run that has completed are to do, stored with its completion, and how far each is (PHS-6).
-- `upto` is the item that comes next: it is moved on by the commit that stores the runs of the items before it.
CREATE TABLE trigger_firings (
    run_id TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    trigger_id TEXT COLLATE "C" NOT NULL,
    workflow_id TEXT COLLATE "C" NOT NULL,
    status TEXT NOT NULL,
    items BIGINT NOT NULL,
    upto BIGINT NOT NULL,
    started BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    error TEXT,
    PRIMARY KEY (run_id, ordinal)
);
CREATE INDEX trigger_firings_pending ON trigger_firings (run_id) WHERE status = 'pending';

-- Runs that a trigger started, and those that retried them: by which run, its trigger and item, and the how-manieth try.
CREATE TABLE triggered_runs (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    triggered_by_run_id TEXT COLLATE "C" NOT NULL,
    trigger_ordinal BIGINT NOT NULL,
    item_index BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    trigger_depth BIGINT NOT NULL,
    max_retries BIGINT NOT NULL,
    trigger_timeout_ms BIGINT,
    retry_due BIGINT NOT NULL
);
-- It also sees to it that nothing is ever started twice.
CREATE UNIQUE INDEX triggered_runs_item ON triggered_runs
    (triggered_by_run_id, trigger_ordinal, item_index, attempt);
CREATE INDEX triggered_runs_retry ON triggered_runs (run_id) WHERE retry_due = 1;
