-- What `wonder query` asks the server about a person's query before it is run, and about roles that may read.

-- name: query_role
-- Whether the role could get at the server's files or programs if a query ever got past all else.
SELECT session_user, bool_or(rolsuper
    OR pg_has_role(oid, 'pg_execute_server_program', 'MEMBER')
    OR pg_has_role(oid, 'pg_read_server_files', 'MEMBER')
    OR pg_has_role(oid, 'pg_write_server_files', 'MEMBER')) AS is_dangerous
FROM pg_roles WHERE rolname IN (session_user, current_user);

-- name: query_schema
-- The schema that has Wonder's tables, as the connection finds them.
SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('run_log');

-- name: query_settings
SELECT set_config('search_path', 'pg_catalog, ' || quote_ident($1), false);

-- name: query_functions
-- Of names in a query those that could call something that acts or looks around: of the server's own functions all that
-- are neither immutable nor on the list, of others those that may act or have the rights of their owner.
SELECT DISTINCT p.proname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE p.proname = ANY ($1::text[]) AND CAST('internal' AS regtype) <> ALL (p.proargtypes)
    AND CASE WHEN n.nspname = 'pg_catalog' THEN p.provolatile <> 'i' AND p.proname <> ALL ($2::text[])
        ELSE p.provolatile = 'v' OR p.prosecdef END
ORDER BY p.proname;

-- name: query_locks
-- The relations that this transaction has locked: after a query was parsed, exactly those that its text names. The view
-- pg_locks would be one more of them, so its function is called.
SELECT DISTINCT relation FROM pg_lock_status() WHERE pid = pg_backend_pid() AND locktype = 'relation';

-- name: query_relations
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = ANY ($1::oid[]) ORDER BY c.relname;

-- name: query_tables
SELECT c.relname, string_agg(a.attname, ', ' ORDER BY a.attnum)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = CAST(quote_ident($1) AS regnamespace) AND c.relkind IN ('r', 'v') GROUP BY c.relname ORDER BY c.relname;

-- name: reader_place
SELECT current_database(), current_schema(), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);

-- name: reader_role
-- What a role can do beyond what it is granted by name; no row if there is no such role.
SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
    OR EXISTS (SELECT 1 FROM pg_auth_members WHERE member = pg_roles.oid) AS has_powers
FROM pg_roles WHERE rolname = $1;

-- name: readers
-- The roles that may read what queries can: those with SELECT on the register of contexts, which its owner aside nobody
-- else is given.
SELECT DISTINCT r.rolname FROM pg_class AS c, aclexplode(c.relacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
WHERE c.oid = to_regclass('context_tables') AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner
ORDER BY r.rolname;

-- name: reader_excess
-- What a role can do in this schema with tables, by way of PUBLIC or of another role.
SELECT c.relname, p.privilege FROM pg_class AS c,
    unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS p (privilege)
WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
    AND has_table_privilege(CAST($1 AS name), c.oid, p.privilege)
ORDER BY c.relname, p.privilege;
