-- Vectors in PostgreSQL, with pgvector. They are made when they are first used, and by no migration: most databases
-- have no vectors, and many have no pgvector.

-- name: is_made
SELECT to_regclass('artifact_vectors') IS NOT NULL;

-- name: make
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS artifact_vectors (
    collection TEXT COLLATE "C" NOT NULL,
    artifact_id TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    embedding vector,
    PRIMARY KEY (collection, artifact_id)
);

-- name: digests
SELECT artifact_id, digest FROM artifact_vectors
WHERE collection = $1 AND artifact_id IN (SELECT json_array_elements_text($2::text::json));

-- name: put
INSERT INTO artifact_vectors (collection, artifact_id, digest, embedding) VALUES ($1, $2, $3, $4::text::vector)
ON CONFLICT (collection, artifact_id) DO UPDATE SET digest = excluded.digest, embedding = excluded.embedding;

-- name: remove
DELETE FROM artifact_vectors WHERE collection = $1 AND artifact_id = $2;

-- name: nearest
-- The query is read once, and each distance reckoned once; vectors of other collections, which may have another
-- length, are left out before that.
WITH asked AS MATERIALIZED (SELECT $2::text::vector AS embedding)
SELECT artifact_id, 1 - distance AS score FROM (
    SELECT artifact_id, embedding <=> (SELECT embedding FROM asked) AS distance FROM artifact_vectors
    WHERE collection = $1 AND embedding IS NOT NULL
) AS found
ORDER BY distance, artifact_id LIMIT $3;

-- name: keep_only
DELETE FROM artifact_vectors WHERE collection NOT IN (SELECT json_array_elements_text($1::text::json));
