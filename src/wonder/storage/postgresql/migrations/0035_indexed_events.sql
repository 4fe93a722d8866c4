-- Events of the types that people look for across runs, by type and time (EVT-1). What every node and every run has is left
-- out: a row for each would cost every node more than all that it is found by (storage/runs/indexed_events.py).
CREATE TABLE indexed_events (
    run_id TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    node_id TEXT COLLATE "C",
    token_id TEXT COLLATE "C",
    PRIMARY KEY (run_id, sequence)
);
CREATE INDEX indexed_events_type ON indexed_events (project_id, type, at_ms, run_id, sequence);
-- All other events are found by the runs that were under way at a time.
CREATE INDEX runs_ended ON runs (project_id, completed_ms, id) WHERE completed_ms IS NOT NULL;

INSERT INTO indexed_events (run_id, sequence, project_id, type, at_ms, node_id, token_id)
SELECT events.run_id, events.sequence, runs.project_id, events.type, events.at_ms, events.node_id, events.token_id
FROM events JOIN runs ON runs.id = events.run_id
WHERE events.type NOT IN (
    'workflow_queued', 'workflow_started', 'workflow_waiting', 'workflow_completed', 'context_snapshot',
    'token_spawned', 'token_dispatched', 'token_suspended', 'token_resumed', 'token_completed', 'token_cancelled',
    'node_started', 'node_completed', 'transitions_evaluated', 'fan_out_started', 'fan_in_waiting',
    'fan_in_completed', 'context_updated', 'timer_set', 'timer_fired'
);
