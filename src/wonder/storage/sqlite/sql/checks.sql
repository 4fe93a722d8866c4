-- SQLite checks itself with pragmas, and keeps a catalogue of its own.

-- name: integrity_faults
-- Damaged pages and indexes, rows whose foreign key leads nowhere, and commits that the tables refused.
SELECT integrity_check AS fault FROM pragma_integrity_check WHERE integrity_check <> 'ok'
UNION ALL
SELECT 'row ' || coalesce(rowid, '?') || ' of ' || "table" || ' points at a row of ' || parent || ' that is not there'
FROM pragma_foreign_key_check
UNION ALL
SELECT 'commit ' || number || ' of the journal could not be written to the tables' FROM journal WHERE slot < 0;

-- name: copy_faults
-- The first damaged pages and indexes of a copy that was just made.
SELECT integrity_check AS fault FROM pragma_integrity_check WHERE integrity_check <> 'ok' LIMIT 10;

-- name: durability_faults
-- Full durability is set and read back at every opening, so there is nothing to find.
SELECT '' AS fault WHERE 0;

-- name: missing_context_tables
SELECT table_name FROM (SELECT table_name FROM context_tables UNION SELECT table_name FROM shared_context_tables) AS t
WHERE NOT EXISTS (
    SELECT 1 FROM sqlite_schema
    WHERE sqlite_schema.type IN ('table', 'view') AND sqlite_schema.name = t.table_name COLLATE NOCASE
)
ORDER BY table_name;
