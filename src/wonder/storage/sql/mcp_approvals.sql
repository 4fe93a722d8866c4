-- Approvals of MCP servers (RES-6).

-- name: put_mcp_approval
-- Who approves again what is approved changes nothing: the first who did is who is asked about it.
INSERT INTO mcp_approvals (project_id, approval_hash, name, what, folder, approved_by, approved_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (project_id, approval_hash) DO NOTHING;

-- name: mcp_approval
SELECT 1 FROM mcp_approvals WHERE project_id = $1 AND approval_hash = $2;

-- name: mcp_approvals
SELECT approval_hash, name, what, folder, approved_by, approved_at FROM mcp_approvals
WHERE project_id = $1
ORDER BY name, approved_at, approval_hash;

-- name: forget_mcp_approvals
DELETE FROM mcp_approvals WHERE project_id = $1 AND name = $2;

-- name: servers_of_workflow
-- The MCP servers that the actions of a workflow name, by id or name; of its newest version where none is pinned. Those
-- of the workflows that it calls are not among them.
SELECT DISTINCT action_defs.implementation ->> 'mcp_server_id' AS server
FROM nodes
JOIN steps ON steps.task_def_id = nodes.task_id AND steps.task_def_version = nodes.task_version
JOIN action_defs ON action_defs.id = steps.action_id AND action_defs.version = steps.action_version
WHERE nodes.workflow_def_id = $1 AND action_defs.kind = 'mcp_tool'
    AND nodes.workflow_def_version = coalesce(CAST($2 AS BIGINT), (
        SELECT max(newest.version) FROM workflow_defs AS newest
        WHERE newest.id = $1 AND newest.archived_at IS NULL
    ))
ORDER BY 1;
