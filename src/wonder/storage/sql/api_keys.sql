-- API keys (KEY-1). Nothing deletes one: who used it can be asked for later.

-- name: insert_api_key
INSERT INTO api_keys (id, secret_hash, name, role, workspace_id, project_id, created_at, created_by, created_by_key,
    expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: usable_api_key
-- Read with every request, so that a revocation by any process ends it at once. What is archived can't be used.
SELECT api_keys.secret_hash, api_keys.name, api_keys.role, api_keys.workspace_id, api_keys.project_id,
    api_keys.expires_at, api_keys.last_used_at
FROM api_keys
LEFT JOIN workspaces ON workspaces.id = api_keys.workspace_id
LEFT JOIN projects ON projects.id = api_keys.project_id
WHERE api_keys.id = $1 AND api_keys.revoked_at IS NULL AND workspaces.archived_at IS NULL
    AND projects.archived_at IS NULL;

-- name: note_use_of_api_key
-- Several processes may note the same use.
UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2);

-- name: api_keys_after
-- Those within a scope, by id: of the whole server, a workspace or a project.
SELECT api_keys.id, api_keys.name, api_keys.role, api_keys.workspace_id, api_keys.project_id,
    workspaces.name AS workspace, projects.name AS project, api_keys.created_at, api_keys.created_by,
    api_keys.created_by_key, api_keys.expires_at, api_keys.last_used_at, api_keys.revoked_at, api_keys.revoked_by
FROM api_keys
LEFT JOIN workspaces ON workspaces.id = api_keys.workspace_id
LEFT JOIN projects ON projects.id = api_keys.project_id
WHERE (CAST($1 AS TEXT) IS NULL OR api_keys.workspace_id = $1)
    AND (CAST($2 AS TEXT) IS NULL OR api_keys.project_id = $2)
    AND (api_keys.created_at > $3 OR (api_keys.created_at = $3 AND api_keys.id > $4))
    AND (CAST($6 AS BIGINT) = 1 OR api_keys.revoked_at IS NULL)
ORDER BY api_keys.created_at, api_keys.id LIMIT $5;

-- name: one_api_key
SELECT api_keys.id, api_keys.name, api_keys.role, api_keys.workspace_id, api_keys.project_id,
    workspaces.name AS workspace, projects.name AS project, api_keys.created_at, api_keys.created_by,
    api_keys.created_by_key, api_keys.expires_at, api_keys.last_used_at, api_keys.revoked_at, api_keys.revoked_by
FROM api_keys
LEFT JOIN workspaces ON workspaces.id = api_keys.workspace_id
LEFT JOIN projects ON projects.id = api_keys.project_id
WHERE api_keys.id = $1;

-- name: made_with_api_key
-- The keys that a key has made, and those that these have made.
WITH RECURSIVE made (id) AS (
    SELECT api_keys.id FROM api_keys WHERE api_keys.created_by_key = $1
    UNION
    SELECT api_keys.id FROM api_keys JOIN made ON api_keys.created_by_key = made.id
)
SELECT id FROM made ORDER BY id;

-- name: revoke_api_key
-- The first revocation counts.
UPDATE api_keys SET revoked_at = $2, revoked_by = $3 WHERE id = $1 AND revoked_at IS NULL;

-- name: has_usable_api_key
SELECT 1 FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) LIMIT 1;
