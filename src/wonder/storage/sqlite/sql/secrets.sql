-- BEGIN IMMEDIATE has locked out every other writer already.

-- name: lock_secrets
-- Nothing to do: the transaction itself is the lock.
SELECT 1;
