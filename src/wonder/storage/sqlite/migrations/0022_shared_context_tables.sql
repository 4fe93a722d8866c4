-- With very many workflows a database can't have tables and a view for each: every connection reads the whole catalogue.

-- The versions whose contexts are in tables that definitions share, and which these are (CTX-2).
CREATE TABLE shared_context_tables (
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    layout_format INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (workflow_def_id, workflow_def_version, table_name),
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT, WITHOUT ROWID;

-- The views for people that are not in the catalogue: `definition` makes one for the connection that wants it.
CREATE TABLE query_views (
    name TEXT NOT NULL PRIMARY KEY,
    workflow_def_id TEXT NOT NULL,
    workflow_def_version INTEGER NOT NULL,
    column_names TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (workflow_def_id, workflow_def_version) REFERENCES workflow_defs (id, version)
) STRICT;
CREATE UNIQUE INDEX query_views_name ON query_views (lower(name));
