-- What happens at the time-out that a trigger sets. NULL in rows of before: the run fails.
ALTER TABLE triggers ADD COLUMN on_timeout TEXT COLLATE "C";
ALTER TABLE triggered_runs ADD COLUMN trigger_on_timeout TEXT COLLATE "C";
