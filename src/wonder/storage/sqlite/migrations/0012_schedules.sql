-- Which workflows are started when, with which input. Without versions, read when used; what is archived starts nothing.
CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    description TEXT NOT NULL,
    workflow_id TEXT NOT NULL REFERENCES workflows (id),
    cron TEXT,
    every_ms INTEGER,
    time_zone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    catch_up TEXT NOT NULL,
    catch_up_ms INTEGER,
    catch_up_max INTEGER NOT NULL,
    jitter_ms INTEGER NOT NULL,
    starts_at TEXT,
    ends_at TEXT,
    input TEXT
) STRICT;
CREATE UNIQUE INDEX schedules_name ON schedules (project_id, name) WHERE archived_at IS NULL;
CREATE INDEX schedules_workflow ON schedules (workflow_id);

-- What each schedule has done, and when it has something to do next. `revision` goes up with each change from outside:
-- an engine that decided by what it read before writes nothing here. Planned times up to `after_ms` never come again.
CREATE TABLE schedule_states (
    schedule_id TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    note TEXT,
    after_ms INTEGER NOT NULL,
    due_ms INTEGER,
    queued TEXT NOT NULL,
    last_planned_ms INTEGER,
    last_run_id TEXT,
    last_skipped_ms INTEGER,
    last_missed_ms INTEGER,
    last_error TEXT,
    last_error_ms INTEGER,
    started INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;
CREATE INDEX schedule_states_due ON schedule_states (due_ms) WHERE paused = 0;

-- The runs that schedules have started, one for a planned time; `live` until the run is seen to have ended.
CREATE TABLE schedule_firings (
    schedule_id TEXT NOT NULL,
    planned_ms INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    live INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, planned_ms)
) STRICT;
CREATE INDEX schedule_firings_live ON schedule_firings (schedule_id) WHERE live = 1;
CREATE INDEX schedule_firings_run ON schedule_firings (run_id);
