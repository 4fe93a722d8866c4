-- The audit log (KEY-5). Ids are ULIDs of the time, so that the order of ids is that of time.

-- name: insert_audit_record
INSERT INTO audit_records (id, at_ms, who, who_kind, key_id, role, operation, workspace_id, project_id, input, ids,
    before, after, outcome)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: audit_records_before
-- The newest first, between two ids; of the whole server, a workspace or a project. `who` is a name or the id of a key,
-- the operation one name, or all of one noun.
SELECT * FROM audit_records
WHERE id < $1 AND id >= $2
    AND (CAST($3 AS TEXT) IS NULL OR workspace_id = $3) AND (CAST($4 AS TEXT) IS NULL OR project_id = $4)
    AND (CAST($5 AS TEXT) IS NULL OR who = $5 OR key_id = $5)
    AND (CAST($6 AS TEXT) IS NULL OR operation = $6 OR substr(operation, 1, length($6) + 1) = $6 || '.')
ORDER BY id DESC LIMIT $7;

-- name: audit_records_after
-- The same, the oldest first.
SELECT * FROM audit_records
WHERE id < $1 AND id > $2
    AND (CAST($3 AS TEXT) IS NULL OR workspace_id = $3) AND (CAST($4 AS TEXT) IS NULL OR project_id = $4)
    AND (CAST($5 AS TEXT) IS NULL OR who = $5 OR key_id = $5)
    AND (CAST($6 AS TEXT) IS NULL OR operation = $6 OR substr(operation, 1, length($6) + 1) = $6 || '.')
ORDER BY id LIMIT $7;

-- name: count_old_audit_records
SELECT count(*) FROM audit_records WHERE project_id = $1 AND id < $2;

-- name: delete_old_audit_records
DELETE FROM audit_records WHERE id IN (
    SELECT old.id FROM audit_records AS old WHERE old.project_id = $1 AND old.id < $2 ORDER BY old.id LIMIT $3
);

-- name: delete_old_audit_records_of_none
-- Those of a workspace or of the whole server.
DELETE FROM audit_records WHERE id IN (
    SELECT old.id FROM audit_records AS old WHERE old.project_id IS NULL AND old.id < $1 ORDER BY old.id LIMIT $2
);
