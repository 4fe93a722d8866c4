-- Transforms as the TypeScript compiler gave them, by the hash of compiler, library and source (PHS-5): a source that was
-- compiled once is not compiled again. Nothing refers to a row, so that all of them may be deleted at any time.
CREATE TABLE compiled_transforms (
    hash TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    javascript TEXT NOT NULL,
    input_schema TEXT NOT NULL,
    output_schema TEXT NOT NULL
);
