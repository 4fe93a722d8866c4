-- Artifacts by their type in the order of their ids: what a vector index reads through (ACT-6).
CREATE INDEX artifacts_type ON artifacts (project_id, artifact_type_id, id);
