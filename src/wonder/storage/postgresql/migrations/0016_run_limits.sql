-- Limits of one run: what a project allows, and what the run has done so far.

ALTER TABLE project_settings ADD COLUMN run_limits JSON NOT NULL DEFAULT '{}';

-- How many tokens the run had made and about how many bytes it had written, with this row. NULL in rows of before.
ALTER TABLE event_turns ADD COLUMN tokens_made BIGINT;
ALTER TABLE event_turns ADD COLUMN bytes_written BIGINT;
