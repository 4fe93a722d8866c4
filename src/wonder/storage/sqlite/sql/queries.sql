-- What `wonder query` lists; SQLite describes its tables by functions of its own.

-- name: query_tables
SELECT t.name, group_concat(c.name, ', ' ORDER BY c.cid) FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
WHERE t.type IN ('table', 'view') GROUP BY t.name ORDER BY t.name;

-- name: query_views
-- The views that a query can name although they are not in the catalogue.
SELECT name, column_names FROM query_views;
