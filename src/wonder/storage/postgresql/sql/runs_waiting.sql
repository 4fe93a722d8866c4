-- What many runs wait for: it goes in as one JSON parameter, which each database unfolds with a function of its own.

-- name: awaited_events_kept
-- Those of a list of awaited events (project, event, key) which are kept; the limit keeps it to the index.
SELECT wanted.awaited ->> 0, wanted.awaited ->> 1, wanted.awaited ->> 2
FROM json_array_elements(CAST($1 AS JSON)) AS wanted (awaited)
CROSS JOIN LATERAL (
    SELECT 1 FROM kept_events
    WHERE kept_events.project_id = wanted.awaited ->> 0 AND kept_events.event = wanted.awaited ->> 1
        AND kept_events.key = wanted.awaited ->> 2 AND kept_events.used_ms IS NULL AND kept_events.expires_ms > $2
    LIMIT 1) AS kept;
