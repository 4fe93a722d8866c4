-- What runs wait for: times, people, events from outside.

-- name: timers_due
-- The next ones, soonest first. Those of a run that is set aside come when it is resumed.
SELECT run_id, key, due_ms FROM timers
WHERE due_ms <= $1 AND NOT EXISTS (
    SELECT 1 FROM runs WHERE runs.id = timers.run_id AND runs.paused_reason = 'quarantined')
ORDER BY due_ms, run_id, key LIMIT $2;

-- name: open_inbox_items
-- $4 is a name as JSON, $5 the roles that somebody has, each with a space behind it. Whether one text is in another is
-- asked with replace, which both databases have and which tells large letters from small.
SELECT * FROM inbox_items
WHERE project_id = $1 AND closed_ms IS NULL AND id > $2
    AND (CAST($4 AS TEXT) IS NULL OR replace(people, $4, '') <> people
        OR (COALESCE(people, '[]') = '[]' AND replace(CAST($5 AS TEXT), role || ' ', '') <> $5))
    AND (CAST($6 AS TEXT) IS NULL OR assignee = $6)
    AND (CAST($7 AS TEXT) IS NULL OR role = $7)
    AND (CAST($8 AS INTEGER) IS NULL OR $8 = CASE WHEN claimed_by IS NULL THEN 0 ELSE 1 END)
    AND (CAST($9 AS TEXT) IS NULL OR run_id IN (SELECT id FROM runs WHERE workflow_def_id = $9))
ORDER BY id LIMIT $3;

-- name: inbox_items_of_run
SELECT * FROM inbox_items WHERE run_id = $1 ORDER BY id;

-- name: inbox_item
SELECT * FROM inbox_items WHERE id = $1;

-- name: waiting_for_event
-- All that an event wakes, the longest waiting first.
SELECT run_id, token_id FROM event_waits
WHERE project_id = $1 AND event = $2 AND key = $3 ORDER BY created_ms, run_id, token_id;

-- name: next_kept_events
SELECT id, payload FROM kept_events
WHERE project_id = $1 AND event = $2 AND key = $3 AND used_ms IS NULL AND expires_ms > $4 ORDER BY id LIMIT $5;

-- name: event_of_sender
SELECT id FROM kept_events WHERE project_id = $1 AND sender_id = $2;

-- name: delete_expired_events
DELETE FROM kept_events WHERE expires_ms <= $1;
