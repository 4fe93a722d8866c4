-- Runs that were under way when a process ended without closing its engine; emptied when one closes it.
-- `deaths` are those in a row without a step forward between them, `quick` those in a row within a minute of each other;
-- `sequence` is the run's last event when it was taken up again, at `taken_ms`.
CREATE TABLE run_deaths (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    deaths BIGINT NOT NULL,
    quick BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    taken_ms BIGINT NOT NULL
);
