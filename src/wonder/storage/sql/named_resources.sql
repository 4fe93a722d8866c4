-- What belongs to a project under a name, without versions (RES-2, RES-3).

-- name: resource
-- tables: model_profiles, mcp_servers, vector_indexes, workflows, schedules
-- By id, archived or not.
SELECT * FROM {table} WHERE id = $1;

-- name: resource_by_name
-- tables: model_profiles, mcp_servers, vector_indexes, workflows, schedules
SELECT * FROM {table} WHERE project_id = $1 AND name = $2 AND archived_at IS NULL;

-- name: resources_by_name
-- tables: model_profiles, mcp_servers, vector_indexes, workflows, schedules
SELECT * FROM {table} WHERE project_id = $1 AND name > $2 AND archived_at IS NULL ORDER BY name LIMIT $3;

-- name: named
-- tables: model_profiles, mcp_servers, vector_indexes
-- One page of live ($4 is 0) or archived ones (1), after the name $2 and id $3; $5 is a pattern for the name.
SELECT * FROM {table}
WHERE project_id = $1 AND (name, id) > ($2, $3) AND (archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1)
    AND lower(name) LIKE $5 ESCAPE '!'
ORDER BY name, id LIMIT $6;

-- name: named(artifact_types)
-- Each at its newest version; types of artifacts have no tags.
SELECT * FROM artifact_types AS listed
WHERE project_id = $1 AND (name, id) > ($2, $3) AND (archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1)
    AND lower(name) LIKE $5 ESCAPE '!'
    AND version = (
        SELECT max(version) FROM artifact_types AS newest
        WHERE newest.id = listed.id AND (newest.archived_at IS NOT NULL) = (CAST($4 AS BIGINT) = 1))
ORDER BY name, id LIMIT $6;

-- name: resources_newest
-- tables: model_profiles, mcp_servers, vector_indexes, workflows, schedules
SELECT * FROM {table} WHERE project_id = $1 AND id < $2 AND archived_at IS NULL ORDER BY id DESC LIMIT $3;

-- name: archive_resource
-- tables: model_profiles, mcp_servers, vector_indexes, workflows, schedules
UPDATE {table} SET archived_at = $2 WHERE id = $1 AND archived_at IS NULL;

-- name: restore_resource
-- tables: model_profiles, mcp_servers, vector_indexes, workflows
UPDATE {table} SET archived_at = NULL, updated_at = $2 WHERE id = $1 AND archived_at IS NOT NULL;

-- name: archived_resource
-- tables: model_profiles, mcp_servers, vector_indexes, workflows
-- By its name or its id; of several with the name, the one that was archived last.
SELECT * FROM {table} WHERE project_id = $1 AND (name = $2 OR id = $2) AND archived_at IS NOT NULL
ORDER BY archived_at DESC LIMIT 1;

-- name: rename_workflow
UPDATE workflows SET name = $2, updated_at = $3 WHERE id = $1;

-- name: put_model_profiles
-- A row of the same id is replaced, if it is the one of that name: its id was found under the project's lock.
INSERT INTO model_profiles
    (id, project_id, name, created_at, updated_at, provider, model_id, cost_per_1k_input_tokens,
     cost_per_1k_output_tokens, parameters, execution_config)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO UPDATE SET
    updated_at = excluded.updated_at,
    provider = excluded.provider,
    model_id = excluded.model_id,
    cost_per_1k_input_tokens = excluded.cost_per_1k_input_tokens,
    cost_per_1k_output_tokens = excluded.cost_per_1k_output_tokens,
    parameters = excluded.parameters,
    execution_config = excluded.execution_config
WHERE model_profiles.project_id = excluded.project_id AND model_profiles.name = excluded.name;

-- name: put_mcp_servers
INSERT INTO mcp_servers (id, project_id, name, created_at, updated_at, connection)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, connection = excluded.connection
WHERE mcp_servers.project_id = excluded.project_id AND mcp_servers.name = excluded.name;

-- name: put_vector_indexes
INSERT INTO vector_indexes
    (id, project_id, name, created_at, updated_at, embedding_provider, embedding_model, dimensions, auto_index,
     artifact_type_ids, content_fields)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO UPDATE SET
    updated_at = excluded.updated_at,
    embedding_provider = excluded.embedding_provider,
    embedding_model = excluded.embedding_model,
    dimensions = excluded.dimensions,
    auto_index = excluded.auto_index,
    artifact_type_ids = excluded.artifact_type_ids,
    content_fields = excluded.content_fields
WHERE vector_indexes.project_id = excluded.project_id AND vector_indexes.name = excluded.name;

-- name: put_workflows
INSERT INTO workflows
    (id, project_id, name, created_at, updated_at, description, workflow_def_id, pinned_version, enabled)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET
    updated_at = excluded.updated_at,
    description = excluded.description,
    workflow_def_id = excluded.workflow_def_id,
    pinned_version = excluded.pinned_version,
    enabled = excluded.enabled
WHERE workflows.project_id = excluded.project_id AND workflows.name = excluded.name;
