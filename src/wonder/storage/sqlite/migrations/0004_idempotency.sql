-- What actions with `idempotency` have given, so that they act once per key in whatever process (RET-4).
-- The key is as it was rendered, or a hash where that is long; a record that never expires has no expires_ms.
CREATE TABLE idempotency_records (
    project_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    key TEXT NOT NULL,
    output TEXT NOT NULL,
    kept_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (project_id, action_id, key)
) STRICT;
CREATE INDEX idempotency_records_expiry ON idempotency_records (expires_ms) WHERE expires_ms IS NOT NULL;
