-- Commits that were written down as one page, and are on their way to the tables. Slot 0 has the number of the last one
-- that arrived; those that can't arrive are kept below it.

-- name: put_journal_entry
-- A whole commit in one statement: no row is written where the lease is not ours any more (lease_is_ours).
INSERT INTO journal (slot, number, length, body)
SELECT $1, $2, $3, $4 FROM leases WHERE leases.name = $5 AND leases.owner_id = $6 AND leases.epoch = $7
ON CONFLICT (slot) DO UPDATE SET number = excluded.number, length = excluded.length, body = excluded.body;

-- name: journal_entries
SELECT number, substr(body, 1, length) AS body FROM journal
WHERE slot > 0 AND number > (SELECT number FROM journal WHERE slot = 0)
ORDER BY number;

-- name: journal_end
SELECT number FROM journal WHERE slot = 0;

-- name: put_journal_end
UPDATE journal SET number = $1 WHERE slot = 0;

-- name: refuse_journal_entry
INSERT INTO journal (slot, number, length, body) SELECT -number, number, length, body FROM journal WHERE slot > 0 AND number = $1;
