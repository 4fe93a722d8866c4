-- What calls of models have cost, in billionths of a dollar: by project and by workspace, each in its own row (RES-6).
CREATE TABLE spending (
    scope_id TEXT NOT NULL,
    month TEXT NOT NULL,
    spent_nanousd INTEGER NOT NULL,
    reserved_nanousd INTEGER NOT NULL,
    extended_nanousd INTEGER NOT NULL,
    PRIMARY KEY (scope_id, month)
) STRICT;

-- What calls under way can cost at most.
CREATE TABLE reservations (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    month TEXT NOT NULL,
    nanousd INTEGER NOT NULL,
    owner_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    made_ms INTEGER NOT NULL
) STRICT;

-- When models were called, for the projects that limit how often.
CREATE TABLE model_calls (
    project_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (project_id, at_ms, id)
) STRICT;
CREATE INDEX model_calls_age ON model_calls (at_ms);

-- Numbers that `emit_metric` gave, added up by minute and dimensions (EVT-4).
CREATE TABLE metrics (
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    dimensions_hash TEXT NOT NULL,
    minute_ms INTEGER NOT NULL,
    dimensions TEXT NOT NULL,
    count INTEGER NOT NULL,
    sum REAL NOT NULL,
    min REAL NOT NULL,
    max REAL NOT NULL,
    PRIMARY KEY (project_id, name, dimensions_hash, minute_ms)
) STRICT;
