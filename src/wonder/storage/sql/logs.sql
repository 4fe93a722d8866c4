-- Log records (EVT-4a). Their ids are ULIDs of the time of logging, so that the order of ids is that of time.

-- name: put_log_record
-- A record of Wonder itself may name a run without its project.
INSERT INTO log_records (id, at_ms, level, service, trace_id, project_id, run_id, node, token_id, message, metadata,
    error_stack)
VALUES ($1, $2, $3, $4, $5, coalesce($6, (SELECT project_id FROM runs WHERE runs.id = $7)), $7, $8, $9, $10, $11, $12)
ON CONFLICT (id) DO NOTHING;

-- name: log_records_before
-- Of a project, the newest first. What belongs to no project may tell of any: no project is given it (INV-7).
SELECT * FROM log_records
WHERE project_id = $1 AND id < $2 AND id >= $3 AND level >= $4 AND (CAST($5 AS TEXT) IS NULL OR node = $5)
ORDER BY id DESC LIMIT $6;

-- name: log_records_of_run_before
-- A record that names a run may have been written before the run itself, and so without its project.
SELECT * FROM log_records
WHERE run_id = $7 AND id < $2 AND id >= $3 AND level >= $4
    AND (project_id = $1
        OR (project_id IS NULL AND EXISTS (SELECT 1 FROM runs WHERE runs.id = $7 AND runs.project_id = $1)))
    AND (CAST($5 AS TEXT) IS NULL OR node = $5)
ORDER BY id DESC LIMIT $6;

-- name: oldest_log_records
-- Of one project, or of no project, for the archive.
SELECT * FROM log_records WHERE project_id = $1 AND id < $2 ORDER BY id LIMIT $3;

-- name: oldest_log_records_of_none
SELECT * FROM log_records WHERE project_id IS NULL AND id < $1 ORDER BY id LIMIT $2;

-- name: delete_log_record
DELETE FROM log_records WHERE id = $1;

-- name: put_log_archive
INSERT INTO log_archives (storage_key, project_id, first_id, last_id, records, size_bytes, level_max, run_ids)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (storage_key) DO NOTHING;

-- name: log_archives_between
-- Those that can have records of a project in a time; the newest first.
SELECT storage_key, first_id, last_id, level_max, run_ids FROM log_archives
WHERE project_id = $1 AND first_id < $2 AND last_id >= $3 AND level_max >= $4
ORDER BY last_id DESC, storage_key;

-- name: log_archive_contents
-- For a backup: everything that archives name in the object store.
SELECT storage_key, size_bytes FROM log_archives WHERE storage_key > $1 ORDER BY storage_key LIMIT $2;
