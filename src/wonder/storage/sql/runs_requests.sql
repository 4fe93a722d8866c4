-- Requests of other processes to the one that runs the engine (CMD-5).

-- name: put_request
INSERT INTO requests (id, kind, payload, created_ms) VALUES ($1, $2, $3, $4);

-- name: pending_requests
-- In the order in which they were made.
SELECT id, kind, payload, created_ms FROM requests WHERE answered_ms IS NULL AND id > $1 ORDER BY id LIMIT $2;

-- name: request_answer
SELECT result, error, answered_ms FROM requests WHERE id = $1;

-- name: withdraw_request
-- Only as long as nobody has carried it out.
DELETE FROM requests WHERE id = $1 AND answered_ms IS NULL;

-- name: delete_answered_requests
DELETE FROM requests WHERE answered_ms < $1;
