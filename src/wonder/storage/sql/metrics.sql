-- What `emit_metric` gave, by minute and dimensions (EVT-4).

-- name: add_metric
INSERT INTO metrics (project_id, name, dimensions_hash, minute_ms, dimensions, count, sum, min, max)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (project_id, name, dimensions_hash, minute_ms) DO UPDATE SET
    count = metrics.count + excluded.count,
    sum = metrics.sum + excluded.sum,
    min = CASE WHEN excluded.min < metrics.min THEN excluded.min ELSE metrics.min END,
    max = CASE WHEN excluded.max > metrics.max THEN excluded.max ELSE metrics.max END;

-- name: metrics_in_steps
-- Added up by steps of so many milliseconds.
SELECT name, dimensions, minute_ms / $4 * $4 AS step_ms, CAST(sum(count) AS BIGINT) AS count, sum(sum) AS sum,
    min(min) AS min, max(max) AS max
FROM metrics WHERE project_id = $1 AND minute_ms >= $2 AND minute_ms < $3
    AND (CAST($5 AS TEXT) IS NULL OR name = CAST($5 AS TEXT))
GROUP BY name, dimensions_hash, dimensions, minute_ms / $4 ORDER BY name, dimensions, step_ms;

-- name: metrics_in_all
SELECT projects.name AS project, metrics.name AS name, dimensions, CAST(sum(count) AS BIGINT) AS count,
    sum(sum) AS sum
FROM metrics JOIN projects ON projects.id = metrics.project_id
WHERE metrics.project_id = $1
GROUP BY projects.name, metrics.name, dimensions_hash, dimensions ORDER BY name, project, dimensions;
