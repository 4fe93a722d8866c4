-- SQLite has these for databases with very many workflows. Here each version has tables of its own, and they stay empty:
-- PostgreSQL looks up in its catalogue what a statement needs, and nothing else.

-- The versions whose contexts are in tables that definitions share, and which these are (CTX-2).
CREATE TABLE shared_context_tables (
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    layout_format BIGINT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version, table_name),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
);

-- The views for people that are not in the catalogue: `definition` makes one for the connection that wants it.
CREATE TABLE query_views (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    workflow_def_id TEXT COLLATE "C" NOT NULL,
    workflow_def_version BIGINT NOT NULL,
    column_names TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
);
CREATE UNIQUE INDEX query_views_name ON query_views (lower(name));
