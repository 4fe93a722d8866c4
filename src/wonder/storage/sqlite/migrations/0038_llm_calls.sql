-- Calls of models are events of their own (EVT-1): their sentence for people.
DROP VIEW event_log;

CREATE VIEW event_log AS SELECT
    events.run_id || '-' || events.sequence AS id, events.at_ms AS timestamp, events.sequence AS sequence_number,
    events.step, events.type AS event_type, events.run_id AS workflow_run_id, runs.parent_run_id, runs.workflow_def_id,
    events.node_id, nodes.ref AS node, events.token_id, events.path_id, projects.workspace_id, runs.project_id,
    events.tokens, events.cost_usd,
    CASE
        WHEN events.type = 'token_dispatched' AND json_type(events.metadata, '$.lost_with') IS NOT NULL THEN
            'attempt ' || json_extract(events.metadata, '$.losses') || ' was lost with its '
            || json_extract(events.metadata, '$.lost_with') || ', and the task is sent to a worker again'
        ELSE CASE events.type
            WHEN 'workflow_queued' THEN 'the run was accepted and waits for its start'
            WHEN 'workflow_started' THEN 'the run started'
            WHEN 'context_snapshot' THEN 'a fork or a retry begins with this snapshot'
            WHEN 'workflow_waiting' THEN 'everything in the run waits for a person, a time, an event or a sub-workflow'
            WHEN 'workflow_paused' THEN 'the run was paused: nothing more is dispatched'
            WHEN 'workflow_resumed' THEN 'a paused run goes on'
            WHEN 'workflow_timed_out' THEN 'the run took longer than its `timeout_ms`: it fails, or a person is asked'
            WHEN 'workflow_extended' THEN 'a run at its time-out was given more time'
            WHEN 'workflow_completed' THEN 'the run ended well'
            WHEN 'workflow_failed' THEN 'the run failed'
            WHEN 'workflow_cancelled' THEN 'the run was cancelled'
            WHEN 'trigger_fired' THEN 'a trigger of a completed run started its runs'
            WHEN 'trigger_skipped' THEN 'a trigger of a completed run started nothing, because something that it refers to is missing'
            WHEN 'trigger_failed' THEN 'a trigger of a completed run could not start all of its runs'
            WHEN 'token_spawned' THEN 'a token was made'
            WHEN 'token_dispatched' THEN 'the task of a token was sent to a worker'
            WHEN 'token_suspended' THEN 'a token began to wait for a person, a time, an event, a sub-workflow, a decision about a budget or a function'
            WHEN 'token_resumed' THEN 'a token waits no longer'
            WHEN 'token_completed' THEN 'a token ended well'
            WHEN 'token_failed' THEN 'a token failed'
            WHEN 'token_timed_out' THEN 'a token ended because its time, that of its join or that of the run was over'
            WHEN 'token_cancelled' THEN 'a token was stopped, because its run or its branch ended without it'
            WHEN 'tokens_ended' THEN 'all live tokens of a run ended at once'
            WHEN 'node_started' THEN 'a worker began with the task of a node'
            WHEN 'node_completed' THEN 'a node succeeded'
            WHEN 'node_failed' THEN 'a node failed'
            WHEN 'transitions_evaluated' THEN 'the transitions out of a node were looked at'
            WHEN 'fan_out_started' THEN 'a token became a group of branches'
            WHEN 'fan_in_waiting' THEN 'a token or a branch arrived at a join'
            WHEN 'fan_in_completed' THEN 'a join went on with the branches that had arrived'
            WHEN 'fan_in_failed' THEN 'a join failed: too few branches can arrive, it took too long, or their outputs can''t be merged'
            WHEN 'context_updated' THEN 'the run''s state and output were written or, with `group` and `branch`, a branch''s output'
            WHEN 'timer_set' THEN 'a timer was set'
            WHEN 'timer_fired' THEN 'a timer was due'
            WHEN 'human_input_requested' THEN 'a person was asked: by a node, at a budget or at the run''s time-out'
            WHEN 'human_input_claimed' THEN 'somebody claimed a question: nobody else may answer it'
            WHEN 'human_input_released' THEN 'a claimed question is free again'
            WHEN 'human_input_delegated' THEN 'a question, or the place of an approver, was handed to another person'
            WHEN 'human_input_reminded' THEN 'it was time to remind people of a question that is still open'
            WHEN 'human_input_counted' THEN 'one of several approvers answered'
            WHEN 'human_input_answered' THEN 'a person answered, or enough approvers did'
            WHEN 'human_input_withdrawn' THEN 'a question was taken back: nobody has to answer it any more'
            WHEN 'late_result_ignored' THEN 'a result came too late to count'
            WHEN 'artifact_written' THEN 'a step stored an artifact'
            WHEN 'llm_call_completed' THEN 'a call of a model ended, well or with an `error`'
            WHEN 'budget_alert' THEN 'a budget has reached its `alert_threshold_cents` for the month'
            ELSE events.type END
        || CASE json_type(events.metadata, '$.error') WHEN 'object' THEN
            ': ' || json_extract(events.metadata, '$.error.code') || ': ' || json_extract(events.metadata, '$.error.message')
            ELSE '' END
        || coalesce(CASE json_type(events.metadata, '$.error') WHEN 'object' THEN ', ' ELSE ': ' END
            || nullif(CASE events.type
            WHEN 'token_suspended' THEN 'it waits for ' || json_extract(events.metadata, '$.wait.kind')
            WHEN 'token_resumed' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'workflow_paused' THEN json_extract(events.metadata, '$.reason')
            WHEN 'workflow_cancelled' THEN json_extract(events.metadata, '$.reason')
            WHEN 'human_input_requested' THEN json_extract(events.metadata, '$.prompt')
            WHEN 'human_input_claimed' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'human_input_released' THEN 'by ' || nullif(json_extract(events.metadata, '$.by'), '')
            WHEN 'human_input_delegated' THEN 'to ' || json_extract(events.metadata, '$.to')
            WHEN 'human_input_counted' THEN 'by ' || json_extract(events.metadata, '$.by')
            WHEN 'human_input_answered' THEN 'by ' || nullif(json_extract(events.metadata, '$.by'), '')
            WHEN 'fan_out_started' THEN json_extract(events.metadata, '$.total') || ' branches'
            WHEN 'fan_in_completed' THEN
                json_extract(events.metadata, '$.arrived') || ' of ' || json_extract(events.metadata, '$.total') || ' branches'
            WHEN 'context_updated' THEN (
                SELECT group_concat(place, ', ') FROM (
                    SELECT coalesce(
                        (SELECT group_concat(part.value, '.') FROM json_each(change.value, '$[0]') AS part), '') AS place
                    FROM json_each(events.metadata, '$.changes') AS change ORDER BY change.key))
            WHEN 'artifact_written' THEN
                json_extract(events.metadata, '$.artifact_id') || ', '
                || printf('%,d', json_extract(events.metadata, '$.size_bytes')) || ' bytes of '
                || json_extract(events.metadata, '$.content_type')
            WHEN 'llm_call_completed' THEN
                json_extract(events.metadata, '$.profile') || ' (' || json_extract(events.metadata, '$.model') || ') in '
                || json_extract(events.metadata, '$.duration_ms') || ' ms'
            WHEN 'tokens_ended' THEN
                printf('%,d', json_extract(events.metadata, '$.count')) || ' are ' || json_extract(events.metadata, '$.status')
            END, ''), '')
        END AS message, events.metadata,
    strftime('%Y-%m-%dT%H:%M:%fZ', events.at_ms / 1000.0, 'unixepoch') AS happened_at
FROM events
LEFT JOIN runs ON runs.id = events.run_id
LEFT JOIN projects ON projects.id = runs.project_id
LEFT JOIN nodes ON nodes.workflow_def_id = runs.workflow_def_id
    AND nodes.workflow_def_version = runs.workflow_version AND nodes.id = events.node_id;
