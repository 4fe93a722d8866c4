-- PostgreSQL lets transactions run beside each other unless they ask for a lock.

-- name: lock_secrets
-- Held until the transaction ends, by the process that seals; the number is "secret" in hexadecimal.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(126879297332596)) AS locked;
