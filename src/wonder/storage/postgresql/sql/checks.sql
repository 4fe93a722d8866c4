-- PostgreSQL always holds its foreign keys unless somebody disabled them, and durability is a setting of the server.

-- name: integrity_faults
-- Constraints that were switched off or never checked, and indexes that were left half built.
SELECT 'constraint ' || conname || ' of ' || conrelid::regclass || ' is not validated' AS fault
FROM pg_constraint WHERE NOT convalidated AND connamespace = current_schema()::regnamespace
UNION ALL
SELECT 'triggers of ' || tgrelid::regclass || ' that hold foreign keys are disabled'
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE tgisinternal AND tgenabled = 'D' AND relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'index ' || indexrelid::regclass || ' is not valid'
FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace;

-- name: durability_faults
-- Committed work can be lost at a power cut with these.
SELECT 'the server runs with ' || name || ' = off: a power cut can lose or damage what was committed' AS fault
FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name;

-- name: missing_context_tables
SELECT table_name FROM context_tables WHERE to_regclass(quote_ident(table_name)) IS NULL ORDER BY table_name;

-- name: role_powers
-- What the role of this connection may do on the server beyond its databases; a superuser is a member of every role.
SELECT current_user::text AS role, 'SUPERUSER' AS power FROM pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL
SELECT current_user::text, rolname::text FROM pg_roles
WHERE rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
  AND pg_has_role(current_user, oid, 'MEMBER');
