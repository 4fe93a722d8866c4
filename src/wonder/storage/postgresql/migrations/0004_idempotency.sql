-- What actions with `idempotency` have given, so that they act once per key in whatever process (RET-4).
-- The key is as it was rendered, or a hash where that is long; a record that never expires has no expires_ms.
CREATE TABLE idempotency_records (
    project_id TEXT COLLATE "C" NOT NULL,
    action_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    output JSON NOT NULL,
    kept_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    PRIMARY KEY (project_id, action_id, key)
);
CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_ms) WHERE expires_ms IS NOT NULL;
