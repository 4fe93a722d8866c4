-- What a server has answered to requests with an idempotency key (API-1), and the keys of servers.

-- name: forget_old_http_answer
-- One that is too old counts no more, also before it is deleted with the others.
DELETE FROM http_answers WHERE project_id = $1 AND caller = $2 AND key = $3 AND begun_ms < $4;

-- name: begin_http_answer
INSERT INTO http_answers (project_id, caller, key, request_hash, begun_ms) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (project_id, caller, key) DO NOTHING;

-- name: kept_http_answer
SELECT request_hash, begun_ms, http_status, answer FROM http_answers WHERE project_id = $1 AND caller = $2 AND key = $3;

-- name: keep_http_answer
UPDATE http_answers SET http_status = $4, answer = $5 WHERE project_id = $1 AND caller = $2 AND key = $3;

-- name: forget_http_answer
-- A request that was refused has changed nothing, and may be corrected under the same key.
DELETE FROM http_answers WHERE project_id = $1 AND caller = $2 AND key = $3 AND http_status IS NULL;

-- name: delete_old_http_answers
DELETE FROM http_answers WHERE begun_ms < $1;

-- name: insert_server_key
-- The first one counts.
INSERT INTO server_keys (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: server_key
SELECT value FROM server_keys WHERE name = $1;
