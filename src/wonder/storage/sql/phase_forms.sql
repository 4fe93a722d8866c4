-- Phase forms (PHS-1, PHS-4), and what MCP servers have said of their tools.

-- name: put_phase_form
-- The text and the schemas of what was deployed last; the version's content is the same.
INSERT INTO phase_forms (workflow_def_id, workflow_def_version, written, schemas, tools) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workflow_def_id, workflow_def_version) DO UPDATE SET
    written = excluded.written, schemas = excluded.schemas, tools = excluded.tools;

-- name: phase_form
SELECT written, schemas, tools FROM phase_forms WHERE workflow_def_id = $1 AND workflow_def_version = $2;

-- name: phase_forms_of_project
-- One for each enabled workflow, at the version that its next run would have.
SELECT workflows.name, workflow_defs.version, phase_forms.written, phase_forms.schemas, phase_forms.tools
FROM workflows
JOIN workflow_defs ON workflow_defs.id = workflows.workflow_def_id
JOIN phase_forms ON phase_forms.workflow_def_id = workflow_defs.id
    AND phase_forms.workflow_def_version = workflow_defs.version
WHERE workflows.project_id = $1 AND workflows.archived_at IS NULL AND workflows.enabled
    AND workflow_defs.version = coalesce(workflows.pinned_version, (
        SELECT max(newest.version) FROM workflow_defs AS newest
        WHERE newest.id = workflow_defs.id AND newest.archived_at IS NULL
    ))
ORDER BY workflows.name;

-- name: put_tool_schemas
INSERT INTO tool_schemas (project_id, connection_hash, tools, fetched_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (project_id, connection_hash) DO UPDATE SET tools = excluded.tools, fetched_at = excluded.fetched_at;

-- name: tool_schemas
SELECT tools FROM tool_schemas WHERE project_id = $1 AND connection_hash = $2;
