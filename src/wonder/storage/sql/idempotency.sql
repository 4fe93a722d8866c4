-- What actions with `idempotency` have given (RET-4).

-- name: kept_output
-- No row when the lease is another's, and NULL where nothing is kept: who lost the lease unawares must not take that for
-- a reason to act.
SELECT idempotency_records.output FROM leases
LEFT JOIN idempotency_records ON idempotency_records.project_id = $4 AND idempotency_records.action_id = $5
    AND idempotency_records.key = $6
    AND (idempotency_records.expires_ms IS NULL OR idempotency_records.expires_ms > $7)
WHERE leases.name = $1 AND leases.owner_id = $2 AND leases.epoch = $3;

-- name: keep_record
-- Over one that has expired; and over itself, when the answer to the first commit was lost.
INSERT INTO idempotency_records (project_id, action_id, key, output, kept_ms, expires_ms)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (project_id, action_id, key)
DO UPDATE SET output = excluded.output, kept_ms = excluded.kept_ms, expires_ms = excluded.expires_ms;

-- name: delete_expired_records
-- Asked twice, because one that is kept anew at this moment must stay: PostgreSQL asks only the outer condition again.
DELETE FROM idempotency_records
WHERE expires_ms <= $1 AND (project_id, action_id, key) IN (
    SELECT project_id, action_id, key FROM idempotency_records WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT $2
);
