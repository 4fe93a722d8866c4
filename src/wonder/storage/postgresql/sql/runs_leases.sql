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

-- name: end_stopped_owner
-- An owner that was stopped in the middle of a statement, a COPY for one, is not idle for the server, whose timeout
-- therefore does not end the transaction: it would keep the row for as long as it is stopped. A commit that is only slow
-- is hardly ever found waiting for its client; if it is, it is rolled back, and what it was for is decided again.
SELECT pg_terminate_backend(held.pid)
FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
WHERE held.relation = CAST('leases' AS regclass) AND held.mode IN ('RowShareLock', 'RowExclusiveLock')
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND held.pid <> pg_backend_pid() AND activity.wait_event IN ('ClientRead', 'ClientWrite')
    AND activity.xact_start < clock_timestamp() - CAST($2 AS BIGINT) * interval '1 millisecond'
    AND EXISTS (SELECT 1 FROM leases
        WHERE name = $1 AND deadline_ms <= CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT));

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
