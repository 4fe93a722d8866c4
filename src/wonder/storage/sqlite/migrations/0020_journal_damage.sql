-- What the tables know of the journal, so that an entry that is missing is noticed. All of it is in slot 0, and changes with
-- the number there. `salt` names this database in the files beside it. `in_use` is 1 from the first commit of an engine until
-- it closes in order. `file_epoch` says whose file holds entries, and `last_number` and `last_slot` which entry it had last
-- when the tables had all. `accepted` is the number up to which an operator accepts that entries are missing.
ALTER TABLE journal ADD COLUMN salt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN in_use INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN file_epoch INTEGER;
ALTER TABLE journal ADD COLUMN last_number INTEGER;
ALTER TABLE journal ADD COLUMN last_slot INTEGER;
ALTER TABLE journal ADD COLUMN accepted INTEGER;
UPDATE journal SET salt = random() & 0x0fffffffffffffff WHERE slot = 0;
