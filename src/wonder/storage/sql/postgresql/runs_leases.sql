-- On PostgreSQL the lease runs out by the server's clock, and a row lock keeps a claim from coming between a check and
-- the commit that relies on it.

-- name: lease_is_unlocked
-- An owner that is in the middle of a commit holds the row, and one that was stopped there holds it for long: whoever
-- wants to claim must not wait for that.
SELECT 1 WHERE (SELECT count(*) FROM leases WHERE name = $1)
    = (SELECT count(*) FROM (SELECT 1 FROM leases WHERE name = $1 FOR UPDATE SKIP LOCKED) AS unlocked);

-- name: claim_lease
INSERT INTO leases (name, owner_id, epoch, deadline_ms, claimed_ms)
VALUES ($1, $2, 1, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + CAST($3 AS BIGINT),
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))
ON CONFLICT (name) DO UPDATE SET owner_id = excluded.owner_id, epoch = leases.epoch + 1,
    deadline_ms = excluded.deadline_ms, claimed_ms = excluded.claimed_ms
WHERE leases.deadline_ms <= CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)
RETURNING epoch;

-- name: renew_lease
-- One that ran out and was claimed by nobody can still be renewed.
UPDATE leases SET deadline_ms = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + CAST($4 AS BIGINT)
WHERE name = $1 AND owner_id = $2 AND epoch = $3;

-- name: release_lease
UPDATE leases SET deadline_ms = 0 WHERE name = $1 AND owner_id = $2 AND epoch = $3;

-- name: lease_is_ours
SELECT 1 FROM leases WHERE name = $1 AND owner_id = $2 AND epoch = $3 FOR SHARE;

-- name: lease_is_live
SELECT 1 FROM leases
WHERE name = $1 AND deadline_ms > CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT);
