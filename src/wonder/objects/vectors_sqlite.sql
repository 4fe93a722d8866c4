-- Vectors in an SQLite file of their own, with sqlite-vec.

-- name: make
CREATE TABLE IF NOT EXISTS collections (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER NOT NULL PRIMARY KEY,
    collection INTEGER NOT NULL,
    artifact_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (collection, artifact_id)
) STRICT;
-- Apart from what is known of them, in the order of their collections: a search reads nothing but these, one after another.
CREATE TABLE IF NOT EXISTS vectors (number INTEGER NOT NULL PRIMARY KEY, vector BLOB NOT NULL) STRICT;

-- name: collection
SELECT number FROM collections WHERE name = ?1;

-- name: add_collection
INSERT INTO collections (name) VALUES (?1) RETURNING number;

-- name: digests
SELECT artifact_id, digest FROM entries WHERE collection = ?1 AND artifact_id IN (SELECT value FROM json_each(?2));

-- name: put_entry
-- Numbers within a collection count up from where its range begins.
INSERT INTO entries (number, collection, artifact_id, digest)
VALUES (COALESCE((SELECT max(number) + 1 FROM entries WHERE number >= ?2 AND number < ?3), ?2), ?1, ?4, ?5)
ON CONFLICT (collection, artifact_id) DO UPDATE SET digest = excluded.digest
RETURNING number;

-- name: put_vector
INSERT INTO vectors (number, vector) VALUES (?1, ?2) ON CONFLICT (number) DO UPDATE SET vector = excluded.vector;

-- name: remove_vector
DELETE FROM vectors WHERE number = ?1;

-- name: remove_entry
DELETE FROM entries WHERE collection = ?1 AND artifact_id = ?2 RETURNING number;

-- name: nearest
SELECT entries.artifact_id, 1 - found.distance
FROM (
    SELECT number, vec_distance_cosine(vector, ?3) AS distance FROM vectors
    WHERE number >= ?1 AND number < ?2 ORDER BY distance, number LIMIT ?4
) AS found
JOIN entries ON entries.number = found.number
ORDER BY found.distance, entries.artifact_id;

-- name: unwanted_collections
SELECT number FROM collections WHERE name NOT IN (SELECT value FROM json_each(?1));

-- name: remove_entries
DELETE FROM entries WHERE collection = ?1;

-- name: remove_vectors
DELETE FROM vectors WHERE number >= ?1 AND number < ?2;

-- name: remove_collection
DELETE FROM collections WHERE number = ?1;
