-- How long is kept what projects have (EVT-5).

-- name: retention_of_projects
-- A project without settings has the defaults.
SELECT projects.id, CAST(retention ->> 'events_days' AS BIGINT),
    CAST(coalesce(retention ->> 'logs_days', '30') AS BIGINT)
FROM projects LEFT JOIN project_settings ON project_settings.project_id = projects.id;
