-- Runs that were under way when a process ended without closing its engine; emptied when one closes it.
-- `deaths` are those in a row without a step forward between them, `quick` those in a row within a minute of each other;
-- `sequence` is the run's last event when it was taken up again, at `taken_ms`.
CREATE TABLE run_deaths (
    run_id TEXT NOT NULL PRIMARY KEY,
    deaths INTEGER NOT NULL,
    quick INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    taken_ms INTEGER NOT NULL
) STRICT;
