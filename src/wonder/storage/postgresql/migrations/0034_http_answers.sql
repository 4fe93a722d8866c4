-- What a server has answered to requests with an idempotency key, so that the same request is carried out once (API-1).
-- Without a status it is under way. The answer is missing where it holds a secret or is very large.
CREATE TABLE http_answers (
    project_id TEXT COLLATE "C" NOT NULL,
    caller TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    request_hash TEXT NOT NULL,
    begun_ms BIGINT NOT NULL,
    http_status BIGINT,
    answer TEXT,
    PRIMARY KEY (project_id, caller, key)
);
CREATE INDEX http_answers_age ON http_answers (begun_ms);

-- Random keys of a server, such as the one that it signs cursors with; each process of a database uses the same.
CREATE TABLE server_keys (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);
