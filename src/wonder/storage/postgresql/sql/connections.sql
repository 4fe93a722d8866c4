-- Settings of a connection, which SQLite has as pragmas.

-- name: require_durable_commits
-- A server or role may be set to answer before a commit is on disk; we promise more than that.
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
