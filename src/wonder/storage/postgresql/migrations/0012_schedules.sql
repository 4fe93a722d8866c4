-- Which workflows are started when, with which input. Without versions, read when used; what is archived starts nothing.
CREATE TABLE schedules (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    name TEXT COLLATE "C" NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    archived_at TEXT,
    description TEXT NOT NULL,
    workflow_id TEXT COLLATE "C" NOT NULL REFERENCES workflows (id),
    cron TEXT,
    every_ms BIGINT,
    time_zone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    catch_up TEXT NOT NULL,
    catch_up_ms BIGINT,
    catch_up_max BIGINT NOT NULL,
    jitter_ms BIGINT NOT NULL,
    starts_at TEXT,
    ends_at TEXT,
    input JSON
);
CREATE UNIQUE INDEX schedules_name ON schedules (project_id, name) WHERE archived_at IS NULL;
CREATE INDEX schedules_workflow ON schedules (workflow_id);

-- What each schedule has done, and when it has something to do next. `revision` goes up with each change from outside:
-- an engine that decided by what it read before writes nothing here. Planned times up to `after_ms` never come again.
CREATE TABLE schedule_states (
    schedule_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    note TEXT,
    after_ms BIGINT NOT NULL,
    due_ms BIGINT,
    queued TEXT NOT NULL,
    last_planned_ms BIGINT,
    last_run_id TEXT,
    last_skipped_ms BIGINT,
    last_missed_ms BIGINT,
    last_error TEXT,
    last_error_ms BIGINT,
    started BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    failed BIGINT NOT NULL
);
CREATE INDEX schedule_states_due ON schedule_states (due_ms) WHERE paused = 0;

-- The runs that schedules have started, one for a planned time; `live` until the run is seen to have ended.
CREATE TABLE schedule_firings (
    schedule_id TEXT COLLATE "C" NOT NULL,
    planned_ms BIGINT NOT NULL,
    run_id TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    live BIGINT NOT NULL,
    PRIMARY KEY (schedule_id, planned_ms)
);
CREATE INDEX schedule_firings_live ON schedule_firings (schedule_id) WHERE live = 1;
CREATE INDEX schedule_firings_run ON schedule_firings (run_id);
