-- The definitions and their versions (RES-2, RES-4, RES-5). The five tables answer the same questions.

-- name: definition
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- One version, archived or not: a run that began with it goes on with it.
SELECT * FROM {table} WHERE id = $1 AND version = $2;

-- name: newest_live_definition
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
SELECT * FROM {table} WHERE id = $1 AND archived_at IS NULL ORDER BY version DESC LIMIT 1;

-- name: newest_live_version
-- tables: workflow_defs
-- Asked with every start of a run, so without the content.
SELECT version FROM {table} WHERE id = $1 AND archived_at IS NULL ORDER BY version DESC LIMIT 1;

-- name: version_at_start
-- tables: prompt_specs, artifact_types
-- The newest version at a time (RES-4), archived since or not; the oldest if all are younger, as after an import.
SELECT version FROM {table} WHERE id = $1
ORDER BY created_at <= $2 DESC, CASE WHEN created_at <= $2 THEN version ELSE -version END DESC LIMIT 1;

-- name: find_in_project
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- A name, at its newest version unless one is asked for.
SELECT id, version, name, project_id, library_id, content_hash FROM {table}
WHERE project_id = $1 AND name = $2 AND archived_at IS NULL AND version = coalesce(CAST($3 AS BIGINT), version)
ORDER BY version DESC LIMIT 1;

-- name: find_in_library
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
SELECT id, version, name, project_id, library_id, content_hash FROM {table}
WHERE library_id = $1 AND name = $2 AND archived_at IS NULL AND version = coalesce(CAST($3 AS BIGINT), version)
ORDER BY version DESC LIMIT 1;

-- name: find_in_libraries
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- A name in all libraries that a workspace sees; more than one row means that the name is ambiguous.
SELECT found.id, found.version, found.name, found.project_id, found.library_id, found.content_hash,
    libraries.name AS library
FROM {table} AS found JOIN libraries ON libraries.id = found.library_id
WHERE found.name = $2 AND found.archived_at IS NULL AND libraries.archived_at IS NULL
    AND (libraries.workspace_id = $1 OR libraries.workspace_id IS NULL)
    AND found.version = (
        SELECT max(version) FROM {table} AS newest
        WHERE newest.id = found.id AND newest.archived_at IS NULL
            AND newest.version = coalesce(CAST($3 AS BIGINT), newest.version)
    )
ORDER BY libraries.name, found.id;

-- name: versions
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- All versions of one definition, newest first, archived ones too.
SELECT id, version, name, description, project_id, library_id, content_hash, created_at, archived_at FROM {table}
WHERE id = $1 ORDER BY version DESC;

-- name: list_by_name
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- One page of an owner's definitions, each at its newest version; exactly one of $1 and $2 is given.
SELECT id, version, name, description, project_id, library_id, content_hash, created_at, archived_at FROM {table} AS listed
WHERE (project_id = $1 OR library_id = $2) AND name > $3 AND archived_at IS NULL
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = listed.id AND newest.archived_at IS NULL)
ORDER BY name LIMIT $4;

-- name: list_newest
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- The same, youngest name first: ids are ULIDs, whose order is that of their birth, and new versions don't change it.
SELECT id, version, name, description, project_id, library_id, content_hash, created_at, archived_at FROM {table} AS listed
WHERE (project_id = $1 OR library_id = $2) AND id < $3 AND archived_at IS NULL
    AND version = (SELECT max(version) FROM {table} AS newest WHERE newest.id = listed.id AND newest.archived_at IS NULL)
ORDER BY id DESC LIMIT $4;

-- name: archive_definition
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- One version, or all of them.
UPDATE {table} SET archived_at = $3
WHERE id = $1 AND version = coalesce(CAST($2 AS BIGINT), version) AND archived_at IS NULL;

-- name: archived_definition
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- What an owner ($1, a project or a library) has archived under a name or id; the last that was.
SELECT id, version, name, description, project_id, library_id, content_hash, created_at, archived_at FROM {table}
WHERE (project_id = $1 OR library_id = $1) AND (name = $2 OR id = $2) AND archived_at IS NOT NULL
ORDER BY archived_at DESC, version DESC LIMIT 1;

-- name: live_ids_of_library
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
SELECT DISTINCT id FROM {table} WHERE library_id = $1 AND archived_at IS NULL ORDER BY id;

-- name: restore_archived_together
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- The versions that were archived in one moment.
UPDATE {table} SET archived_at = NULL WHERE id = $1 AND archived_at = $2;

-- name: live_versions_besides
-- tables: workflow_defs, task_defs, action_defs, prompt_specs, artifact_types
-- What is left of a definition once a version is gone.
SELECT count(*) FROM {table} WHERE id = $1 AND version <> coalesce(CAST($2 AS BIGINT), version) AND archived_at IS NULL;

-- name: insert_action_defs
INSERT INTO action_defs
    (id, version, name, description, project_id, library_id, content_hash, created_at, updated_at, kind,
     tags, implementation, requires, produces, execution, idempotency)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: insert_prompt_specs
INSERT INTO prompt_specs
    (id, version, name, description, project_id, library_id, content_hash, created_at, updated_at, system_prompt,
     template, tags, requires, produces, examples)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- name: insert_artifact_types
INSERT INTO artifact_types
    (id, version, name, description, project_id, library_id, content_hash, created_at, updated_at, schema)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: insert_task_defs
INSERT INTO task_defs
    (id, version, name, description, project_id, library_id, content_hash, created_at, updated_at, timeout_ms,
     queue, tags, input_schema, output_schema, retry)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- name: insert_steps
INSERT INTO steps
    (task_def_id, task_def_version, id, ref, ordinal, action_id, action_version, on_failure,
     input_mapping, output_mapping, condition)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: children(steps)
-- The steps of a task version, in the order in which they run.
SELECT * FROM steps WHERE task_def_id = $1 AND task_def_version = $2 ORDER BY ordinal;

-- name: insert_workflow_defs
INSERT INTO workflow_defs
    (id, version, name, description, project_id, library_id, content_hash, created_at, updated_at, initial_node_id,
     timeout_ms, on_timeout, tags, input_schema, output_schema, context_schema)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: insert_nodes
INSERT INTO nodes
    (workflow_def_id, workflow_def_version, ordinal, id, ref, name, task_id, task_version,
     input_mapping, output_mapping)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: insert_transitions
INSERT INTO transitions
    (workflow_def_id, workflow_def_version, ordinal, id, ref, from_node_id, to_node_id, priority, spawn_count,
     condition, foreach, synchronization, loop_config)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: insert_triggers
INSERT INTO triggers
    (workflow_def_id, workflow_def_version, id, ordinal, workflow_id, for_each, workflow_timeout_ms, on_timeout,
     max_retries, inputs)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: children
-- tables: nodes, transitions, triggers
-- The parts of a workflow version, in the order in which they were written.
SELECT * FROM {table} WHERE workflow_def_id = $1 AND workflow_def_version = $2 ORDER BY ordinal;
