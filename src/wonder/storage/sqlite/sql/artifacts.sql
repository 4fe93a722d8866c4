-- SQLite and PostgreSQL take a list in JSON apart with functions of different names.

-- name: artifacts_of_runs
-- Of a run, and of those that it inherits from.
SELECT * FROM artifacts WHERE run_id IN (SELECT value FROM json_each($1)) AND id < $2 ORDER BY id DESC LIMIT $3;
