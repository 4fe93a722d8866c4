-- What a server has answered to requests with an idempotency key, so that the same request is carried out once (API-1).
-- Without a status it is under way. The answer is missing where it holds a secret or is very large.
CREATE TABLE http_answers (
    project_id TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    begun_ms INTEGER NOT NULL,
    http_status INTEGER,
    answer TEXT,
    PRIMARY KEY (project_id, caller, key)
) STRICT;
CREATE INDEX http_answers_age ON http_answers (begun_ms);

-- Random keys of a server, such as the one that it signs cursors with; each process of a database uses the same.
CREATE TABLE server_keys (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
