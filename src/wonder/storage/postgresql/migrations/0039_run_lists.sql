-- Lists of runs that stay fast: indexes for each filter, in the order of the list, and what failed, by why (CMD-10).
CREATE INDEX runs_status ON runs (project_id, status, id) WHERE completed_ms IS NULL AND status <> 'running';
CREATE INDEX runs_cancelled ON runs (project_id, id) WHERE status = 'cancelled';
CREATE INDEX runs_workflow ON runs (workflow_def_id, id);
DROP INDEX runs_parent;
CREATE INDEX runs_parent ON runs (parent_run_id, id) WHERE parent_run_id IS NOT NULL;

-- Why runs have failed, to find them by: the first 200 characters of the error's code and of the node's ref.
CREATE TABLE run_failures (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    code TEXT COLLATE "C" NOT NULL,
    node TEXT COLLATE "C"
);
CREATE INDEX run_failures_project ON run_failures (project_id, run_id);
CREATE INDEX run_failures_workflow ON run_failures (workflow_def_id, run_id);
CREATE INDEX run_failures_code ON run_failures (project_id, code, run_id);
CREATE INDEX run_failures_node ON run_failures (project_id, node, run_id) WHERE node IS NOT NULL;

-- What runs have cost, the sum of their events; those that have cost nothing have no row.
CREATE TABLE run_costs (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL
);
CREATE INDEX run_costs_project ON run_costs (project_id, run_id);

INSERT INTO run_failures (run_id, project_id, workflow_def_id, code, node)
SELECT id, project_id, workflow_def_id, coalesce(substr(error ->> 'code', 1, 200), ''), substr(error ->> 'node', 1, 200) FROM runs WHERE status = 'failed';
INSERT INTO run_costs (run_id, project_id, cost_usd)
SELECT events.run_id, runs.project_id, sum(events.cost_usd) FROM events JOIN runs ON runs.id = events.run_id
WHERE events.cost_usd > 0 GROUP BY events.run_id, runs.project_id;
