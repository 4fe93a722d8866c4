-- SQLite's transactions begin with the first read.

-- name: begin_snapshot
-- Reads something, so that the transaction stays at this moment.
SELECT count(*) FROM sqlite_schema;
