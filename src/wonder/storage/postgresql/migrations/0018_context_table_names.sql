-- Generated tables and views are looked up by name, without case, with every deployment: all names were read.

CREATE INDEX context_tables_name ON context_tables (lower(table_name));
