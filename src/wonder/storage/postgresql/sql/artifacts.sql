-- SQLite and PostgreSQL take a list in JSON apart with functions of different names.

-- name: artifacts_of_runs
-- Of a run, and of those that it inherits from.
SELECT * FROM artifacts WHERE run_id = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS JSON)))) AND id < $2
ORDER BY id DESC LIMIT $3;
