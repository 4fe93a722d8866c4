-- Runs that are being removed because they ended long ago (EVT-5): listed with their whole family before anything of it is
-- deleted, and gone from here when nothing of them is left. The run that the family is named after says that the list is
-- whole (`is_ready`).
CREATE TABLE removed_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    family_id TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    workflow_version INTEGER NOT NULL,
    is_ready INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_runs_family ON removed_runs (family_id);

-- Content of artifacts that were removed, until it is deleted from the object store too.
CREATE TABLE removed_contents (
    storage_key TEXT NOT NULL PRIMARY KEY,
    since_ms INTEGER NOT NULL
) STRICT;

-- What was forked from a run has to be found before the run is removed.
CREATE INDEX runs_forked_from ON runs (forked_from_run_id) WHERE forked_from_run_id IS NOT NULL;
CREATE INDEX metrics_age ON metrics (project_id, minute_ms);
