-- Of which executions of nodes the input and the output are kept for people.
ALTER TABLE project_settings ADD COLUMN record_io TEXT NOT NULL DEFAULT 'all';
