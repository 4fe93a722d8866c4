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
    (project_id, default_model_profile_id, files_root, foreach_limit, call_depth_max, record_io, rate_limits, budget,
     snapshot_policy, retention, run_limits)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (project_id) DO UPDATE SET
    default_model_profile_id = excluded.default_model_profile_id,
    files_root = excluded.files_root,
    foreach_limit = excluded.foreach_limit,
    call_depth_max = excluded.call_depth_max,
    record_io = excluded.record_io,
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

-- name: live_workspace
-- By its name or its id; a name comes first.
SELECT * FROM workspaces WHERE (name = $1 OR id = $1) AND archived_at IS NULL
ORDER BY CASE WHEN name = $1 THEN 0 ELSE 1 END LIMIT 1;

-- name: live_project
SELECT * FROM projects WHERE workspace_id = $1 AND (name = $2 OR id = $2) AND archived_at IS NULL
ORDER BY CASE WHEN name = $2 THEN 0 ELSE 1 END LIMIT 1;

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
-- Those that are archived ($4 is 1) or not. Several archived ones may share a name, so the id breaks the tie.
SELECT * FROM workspaces
WHERE (name, id) > ($1, $2) AND CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END = CAST($4 AS INTEGER)
ORDER BY name, id LIMIT $3;

-- name: projects_by_name_after
SELECT * FROM projects
WHERE workspace_id = $1 AND (name, id) > ($2, $3)
    AND CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END = CAST($5 AS INTEGER)
ORDER BY name, id LIMIT $4;

-- name: libraries_by_name_after
-- The libraries that a workspace sees: its own and the public ones, of which two may share a name.
SELECT * FROM libraries
WHERE (workspace_id = $1 OR workspace_id IS NULL) AND (name, id) > ($2, $3)
    AND CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END = CAST($5 AS INTEGER)
ORDER BY name, id LIMIT $4;

-- name: rename_tenant
-- tables: workspaces, projects, libraries
UPDATE {table} SET name = $2, updated_at = $3 WHERE id = $1;

-- name: archive_tenant
-- tables: workspaces, projects, libraries
UPDATE {table} SET archived_at = $2 WHERE id = $1 AND archived_at IS NULL;

-- name: restore_tenant
-- tables: workspaces, projects, libraries
UPDATE {table} SET archived_at = NULL, updated_at = $2 WHERE id = $1 AND archived_at IS NOT NULL;

-- name: archived_workspace
-- By its name or its id; of several with the name, the one that was archived last.
SELECT * FROM workspaces WHERE (name = $1 OR id = $1) AND archived_at IS NOT NULL ORDER BY archived_at DESC LIMIT 1;

-- name: archived_project
SELECT * FROM projects WHERE workspace_id = $1 AND (name = $2 OR id = $2) AND archived_at IS NOT NULL
ORDER BY archived_at DESC LIMIT 1;

-- name: archived_library
-- One of a workspace, or a public one if $1 is NULL.
SELECT * FROM libraries
WHERE coalesce(workspace_id, '') = coalesce(CAST($1 AS TEXT), '') AND (name = $2 OR id = $2) AND archived_at IS NOT NULL
ORDER BY archived_at DESC LIMIT 1;

-- name: project_is_archived
-- Itself, or with its workspace.
SELECT 1 FROM projects JOIN workspaces ON workspaces.id = projects.workspace_id
WHERE projects.id = $1 AND (projects.archived_at IS NOT NULL OR workspaces.archived_at IS NOT NULL);

-- name: projects_of_workspace
SELECT id, name FROM projects WHERE workspace_id = $1 AND archived_at IS NULL ORDER BY name;

-- name: owner_workspace
-- tables: projects, libraries
-- The workspace of an owner; a public library has none.
SELECT workspace_id FROM {table} WHERE id = $1;

-- name: any_workspace
SELECT 1 FROM workspaces LIMIT 1;
