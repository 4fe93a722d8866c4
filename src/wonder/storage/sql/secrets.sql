-- Secrets, sealed (INV-8): a project's own and those of its workspace.

-- name: secret_in_project
-- The project's own wins over its workspace's of the same name; of another workspace there is none (INV-7).
SELECT secrets.id, secrets.workspace_id, secrets.project_id, secrets.name, secrets.key_id, secrets.sealed, secrets.scope
FROM projects JOIN secrets ON secrets.project_id = projects.id OR secrets.workspace_id = projects.workspace_id
WHERE projects.id = $1 AND secrets.name = $2
ORDER BY CASE WHEN secrets.project_id IS NULL THEN 1 ELSE 0 END
LIMIT 1;

-- name: secrets_of
-- All that a project sees, without what is sealed.
SELECT secrets.id, secrets.workspace_id, secrets.project_id, secrets.name, secrets.key_id, secrets.created_at,
    secrets.updated_at, secrets.scope
FROM projects JOIN secrets ON secrets.project_id = projects.id OR secrets.workspace_id = projects.workspace_id
WHERE projects.id = $1
ORDER BY secrets.name, CASE WHEN secrets.project_id IS NULL THEN 1 ELSE 0 END;

-- name: secret_of_project
SELECT id, workspace_id, project_id, name, key_id, sealed, scope FROM secrets WHERE project_id = $1 AND name = $2;

-- name: secret_of_workspace
SELECT id, workspace_id, project_id, name, key_id, sealed, scope FROM secrets WHERE workspace_id = $1 AND name = $2;

-- name: all_secrets
-- To be sealed with another key.
SELECT id, workspace_id, project_id, name, key_id, sealed, scope FROM secrets ORDER BY id;

-- name: secrets_of_live_runs
-- Those that a run under way may have used already, the newest first.
SELECT secrets.id, secrets.workspace_id, secrets.project_id, secrets.name, secrets.key_id, secrets.sealed, secrets.scope
FROM secrets
WHERE EXISTS (
    SELECT 1 FROM projects JOIN runs ON runs.project_id = projects.id
    WHERE (projects.id = secrets.project_id OR projects.workspace_id = secrets.workspace_id)
        AND runs.completed_ms IS NULL
)
ORDER BY secrets.updated_at DESC, secrets.id LIMIT $1;

-- name: secret_key_ids
SELECT DISTINCT key_id FROM secrets ORDER BY key_id;

-- name: insert_secret
INSERT INTO secrets (id, workspace_id, project_id, name, key_id, sealed, scope, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8);

-- name: seal_secret
UPDATE secrets SET key_id = $2, sealed = $3, scope = $4, updated_at = $5 WHERE id = $1;

-- name: seal_secret_anew
-- With another key: its value is the same, and so is the time of its last change.
UPDATE secrets SET key_id = $2, sealed = $3 WHERE id = $1;

-- name: delete_secret
DELETE FROM secrets WHERE id = $1;

-- name: workflow_of_run
-- What a secret's scope may name; a workflow of a library has no project.
SELECT workflow_defs.project_id, workflow_defs.name
FROM runs JOIN workflow_defs ON workflow_defs.id = runs.workflow_def_id AND workflow_defs.version = runs.workflow_version
WHERE runs.id = $1;
