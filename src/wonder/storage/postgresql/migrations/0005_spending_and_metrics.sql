-- What calls of models have cost, in billionths of a dollar: by project and by workspace, each in its own row (RES-6).
CREATE TABLE spending (
    scope_id TEXT NOT NULL,
    month TEXT NOT NULL,
    spent_nanousd BIGINT NOT NULL,
    reserved_nanousd BIGINT NOT NULL,
    extended_nanousd BIGINT NOT NULL,
    PRIMARY KEY (scope_id, month)
);

-- What calls under way can cost at most.
CREATE TABLE reservations (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    month TEXT NOT NULL,
    nanousd BIGINT NOT NULL,
    owner_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    made_ms BIGINT NOT NULL
);

-- When models were called, for the projects that limit how often.
CREATE TABLE model_calls (
    project_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (project_id, at_ms, id)
);
CREATE INDEX model_calls_age ON model_calls (at_ms);

-- Numbers that `emit_metric` gave, added up by minute and dimensions (EVT-4).
CREATE TABLE metrics (
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    dimensions_hash TEXT NOT NULL,
    minute_ms BIGINT NOT NULL,
    dimensions TEXT NOT NULL,
    count BIGINT NOT NULL,
    sum DOUBLE PRECISION NOT NULL,
    min DOUBLE PRECISION NOT NULL,
    max DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (project_id, name, dimensions_hash, minute_ms)
);
