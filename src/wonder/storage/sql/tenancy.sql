-- Workspaces, projects and libraries, with their settings (RES-1, RES-6).

-- name: insert_workspaces
INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ($1, $2, $3, $4);

-- name: put_workspace_settings
-- Settings are one row per workspace, replaced as a whole.
INSERT INTO workspace_settings
    (workspace_id, allow_private_addresses, allow_shell, allowed_model_providers, allowed_mcp_servers, budget,
    allowed_model_base_urls, model_prices)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (workspace_id) DO UPDATE SET
    allow_private_addresses = excluded.allow_private_addresses,
    allow_shell = excluded.allow_shell,
    allowed_model_providers = excluded.allowed_model_providers,
    allowed_mcp_servers = excluded.allowed_mcp_servers,
    budget = excluded.budget,
    allowed_model_base_urls = excluded.allowed_model_base_urls,
    model_prices = excluded.model_prices;

-- name: default_workspace_id
-- By it an SQLite database is known to the user that made it.
SELECT id FROM workspaces WHERE name = 'default' AND archived_at IS NULL LIMIT 1;

-- name: workspace_settings
SELECT * FROM workspace_settings WHERE workspace_id = $1;

-- name: insert_projects
INSERT INTO projects (id, workspace_id, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6);

-- name: put_project_settings
INSERT INTO project_settings
    (project_id, default_model_profile_id, files_root, foreach_limit, call_depth_max, rate_limits, budget,
     snapshot_policy, retention, run_limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (project_id) DO UPDATE SET
    default_model_profile_id = excluded.default_model_profile_id,
    files_root = excluded.files_root,
    foreach_limit = excluded.foreach_limit,
    call_depth_max = excluded.call_depth_max,
    rate_limits = excluded.rate_limits,
    budget = excluded.budget,
    snapshot_policy = excluded.snapshot_policy,
    retention = excluded.retention,
    run_limits = excluded.run_limits;

-- name: project_settings
SELECT * FROM project_settings WHERE project_id = $1;

-- name: insert_libraries
INSERT INTO libraries (id, workspace_id, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6);

-- name: insert_if_new_workspace
-- Two processes may make the default workspace at once: the second finds the first one's (RES-7).
INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) WHERE archived_at IS NULL DO NOTHING;

-- name: insert_if_new_project
INSERT INTO projects (id, workspace_id, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (workspace_id, name) WHERE archived_at IS NULL DO NOTHING;

-- name: workspace_by_name
SELECT * FROM workspaces WHERE name = $1 AND archived_at IS NULL;

-- name: project_by_name
SELECT * FROM projects WHERE workspace_id = $1 AND name = $2 AND archived_at IS NULL;

-- name: library_by_name
-- A workspace's own library hides a public one of the same name.
SELECT * FROM libraries
WHERE name = $2 AND (workspace_id = $1 OR workspace_id IS NULL) AND archived_at IS NULL
ORDER BY CASE WHEN workspace_id IS NULL THEN 1 ELSE 0 END
LIMIT 1;

-- name: tenant_by_id
-- tables: workspaces, projects, libraries
SELECT * FROM {table} WHERE id = $1;

-- name: touch_tenant
-- tables: workspaces, projects
-- Also what makes two who change settings at once wait for each other.
UPDATE {table} SET updated_at = $2 WHERE id = $1;

-- name: workspaces_by_name_after
SELECT * FROM workspaces WHERE name > $1 AND archived_at IS NULL ORDER BY name LIMIT $2;

-- name: projects_by_name_after
SELECT * FROM projects WHERE workspace_id = $1 AND name > $2 AND archived_at IS NULL ORDER BY name LIMIT $3;

-- name: libraries_by_name_after
-- The libraries that a workspace sees: its own and the public ones. Two may share a name, so the id breaks the tie.
SELECT * FROM libraries
WHERE (workspace_id = $1 OR workspace_id IS NULL) AND (name, id) > ($2, $3) AND archived_at IS NULL
ORDER BY name, id LIMIT $4;

-- name: owner_workspace
-- tables: projects, libraries
-- The workspace of an owner; a public library has none.
SELECT workspace_id FROM {table} WHERE id = $1;
