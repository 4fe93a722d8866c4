-- How many runs each workflow has in each status, kept with every commit (CMD-14).
-- How many runs there are: the sum over the parts, of which the engine writes 0 and retention 1.
CREATE TABLE run_counts (
    project_id TEXT NOT NULL,
    workflow_def_id TEXT NOT NULL,
    status TEXT NOT NULL,
    part INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    PRIMARY KEY (project_id, workflow_def_id, status, part)
) STRICT;

INSERT INTO run_counts (project_id, workflow_def_id, status, part, runs)
SELECT project_id, workflow_def_id, CASE WHEN paused_reason = 'quarantined' THEN 'quarantined' ELSE status END, 0, count(*)
FROM runs GROUP BY 1, 2, 3;
