-- What `wonder query` lists; SQLite describes its tables by functions of its own.

-- name: query_tables
SELECT t.name, group_concat(c.name, ', ' ORDER BY c.cid) FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
WHERE t.type IN ('table', 'view') GROUP BY t.name ORDER BY t.name;

-- name: query_views
-- The views that a query can name although they are not in the catalogue.
SELECT name, column_names FROM query_views;

-- name: query_names
-- All that a query could name: tables and views, and the tables that SQLite itself offers.
SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') UNION SELECT name FROM pragma_module_list;

-- name: query_view_definition
SELECT name, definition FROM query_views WHERE lower(name) = lower($1);
