-- What many runs wait for: it goes in as one JSON parameter, which each database unfolds with a function of its own.

-- name: awaited_events_kept
-- Those of a list of awaited events (project, event, key) which are kept.
SELECT wanted.value ->> 0, wanted.value ->> 1, wanted.value ->> 2 FROM json_each($1) AS wanted
WHERE EXISTS (
    SELECT 1 FROM kept_events
    WHERE kept_events.project_id = wanted.value ->> 0 AND kept_events.event = wanted.value ->> 1
        AND kept_events.key = wanted.value ->> 2 AND kept_events.used_ms IS NULL AND kept_events.expires_ms > $2);
