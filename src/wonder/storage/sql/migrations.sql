-- Bookkeeping of migrations.

-- name: applied_migrations
-- What the database was brought to, and by whom.
SELECT number, name, sha256, applied_at, wonder_version FROM schema_migrations ORDER BY number;

-- name: record_migration
-- Written in the transaction of the migration itself, so that neither exists without the other.
INSERT INTO schema_migrations (number, name, sha256, applied_at, wonder_version) VALUES ($1, $2, $3, $4, $5);
