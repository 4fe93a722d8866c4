-- PostgreSQL reads JSON by functions of its own.

-- name: event_rows_from
-- Packed, from the row that has event $2 on. Of $4, a list, one must be in the row's text: so it need not be decoded.
SELECT first, last, events FROM event_turns
WHERE run_id = $1 AND last >= $2
    AND first >= coalesce((SELECT first FROM event_turns WHERE run_id = $1 AND first <= $2 ORDER BY first DESC LIMIT 1), 0)
    AND (CAST($4 AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM json_array_elements_text(CAST($4 AS JSON)) AS needle
        WHERE strpos(CAST(event_turns.events AS TEXT), needle) > 0))
ORDER BY first LIMIT $3;

-- name: event_rows_before
-- The same backwards, from the row that begins before $2 on.
SELECT first, last, events FROM event_turns
WHERE run_id = $1 AND first < $2
    AND (CAST($4 AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM json_array_elements_text(CAST($4 AS JSON)) AS needle
        WHERE strpos(CAST(event_turns.events AS TEXT), needle) > 0))
ORDER BY first DESC LIMIT $3;

-- name: live_runs_before
-- Runs of a project that have not ended, each with the time of its last event.
SELECT id, workflow_def_id, workflow_version, (
    SELECT CAST(events -> -1 ->> 3 AS BIGINT) FROM event_turns WHERE event_turns.run_id = runs.id
    ORDER BY first DESC LIMIT 1) AS last_ms
FROM runs WHERE completed_ms IS NULL AND project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3;
