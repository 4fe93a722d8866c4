-- On SQLite an OS lock says who may claim, so a claim always succeeds; a write transaction keeps others out by itself.

-- name: lease_is_unlocked
-- Nobody else writes within a write transaction.
SELECT 1 WHERE $1 IS NOT NULL;

-- name: claim_lease
INSERT INTO leases (name, owner_id, epoch, deadline_ms, claimed_ms)
VALUES ($1, $2, 1, CAST($3 AS INTEGER), CAST(unixepoch('subsec') * 1000 AS INTEGER))
ON CONFLICT (name) DO UPDATE SET owner_id = excluded.owner_id, epoch = leases.epoch + 1,
    deadline_ms = excluded.deadline_ms, claimed_ms = excluded.claimed_ms
RETURNING epoch;

-- name: end_stopped_owner
-- Never asked here, where nobody else is inside a write transaction of ours.
SELECT 1 WHERE $1 IS NULL AND $2 IS NULL;

-- name: renew_lease
-- The lock lives as long as the process; what is asked is only whether the lease is still ours.
UPDATE leases SET deadline_ms = CAST($4 AS INTEGER) WHERE name = $1 AND owner_id = $2 AND epoch = $3;

-- name: release_lease
UPDATE leases SET deadline_ms = 0 WHERE name = $1 AND owner_id = $2 AND epoch = $3;

-- name: lease_is_ours
SELECT 1 FROM leases WHERE name = $1 AND owner_id = $2 AND epoch = $3;

-- name: lease_is_live
-- Never asked here, where the lock is: the row outlives a process that died.
SELECT 1 FROM leases WHERE name = $1 AND deadline_ms IS NULL;
