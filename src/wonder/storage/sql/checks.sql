-- Questions of `wonder db check`: each answers with what is wrong.

-- name: orphans
-- What no foreign key can hold: keys of one column into tables whose key has two, and settings that name a resource.
SELECT 'workflow' AS kind, id FROM workflows
WHERE NOT EXISTS (SELECT 1 FROM workflow_defs WHERE workflow_defs.id = workflows.workflow_def_id)
UNION ALL
SELECT 'initial node of workflow' AS kind, id FROM workflow_defs
WHERE NOT EXISTS (
    SELECT 1 FROM nodes
    WHERE nodes.workflow_def_id = workflow_defs.id AND nodes.workflow_def_version = workflow_defs.version
        AND nodes.id = workflow_defs.initial_node_id
)
UNION ALL
SELECT 'default model of project' AS kind, project_id AS id FROM project_settings
WHERE default_model_profile_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM model_profiles WHERE model_profiles.id = project_settings.default_model_profile_id)
ORDER BY 1, 2;
