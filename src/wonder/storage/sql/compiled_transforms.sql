-- Transforms as the compiler gave them.

-- name: compiled_transform
SELECT javascript, input_schema, output_schema FROM compiled_transforms WHERE hash = $1;

-- name: keep_compiled_transform
-- Two processes may have compiled the same at the same time; both have the same result.
INSERT INTO compiled_transforms (hash, javascript, input_schema, output_schema) VALUES ($1, $2, $3, $4)
ON CONFLICT (hash) DO NOTHING;
