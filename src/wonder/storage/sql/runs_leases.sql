-- The lease of the engine: who may write. Every claim raises the epoch, so that an owner that was replaced can tell.

-- name: read_lease
SELECT owner_id, epoch, deadline_ms, claimed_ms FROM leases WHERE name = $1;
