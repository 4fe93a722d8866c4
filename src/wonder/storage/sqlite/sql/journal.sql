-- Of the journal, which is a file, the tables have in slot 0 up to which entry they have all, and what they need to notice
-- that the file, or an entry of it, is missing (migration `journal_damage`).

-- name: journal_end
SELECT number FROM journal WHERE slot = 0;

-- name: journal_state
SELECT number, salt, in_use, file_epoch, last_number, last_slot, accepted FROM journal WHERE slot = 0;

-- name: journal_notices_damage
-- Nothing in a database that lacks the migration, which may be copied nevertheless.
SELECT 1 FROM pragma_table_info('journal') WHERE name = 'accepted';

-- name: put_journal_end
UPDATE journal SET number = $1 WHERE slot = 0;

-- name: settle_journal
-- With every commit that settles: one row, whose page changes anyway.
UPDATE journal SET number = $1, in_use = $2, file_epoch = $3, last_number = $4, last_slot = $5, accepted = NULL
WHERE slot = 0;

-- name: begin_journal_file
-- Before the first entry of a file counts.
UPDATE journal SET in_use = 1, file_epoch = $1, last_number = NULL, last_slot = NULL WHERE slot = 0;

-- name: end_journal
-- When all is settled and the files beside the database are of no use any more, if nobody has settled since.
UPDATE journal SET in_use = 0, file_epoch = NULL, last_number = NULL, last_slot = NULL WHERE slot = 0 AND number = $1
RETURNING number;

-- name: forget_journal_files
-- In a copy of the tables that has all, and lies beside no files.
UPDATE journal SET in_use = 0, file_epoch = NULL, last_number = NULL, last_slot = NULL WHERE slot = 0;

-- name: accept_journal_loss
UPDATE journal SET in_use = 0, file_epoch = NULL, last_number = NULL, last_slot = NULL, accepted = $1 WHERE slot = 0;

-- name: old_journal_entries
-- Those of a Wonder that kept them here: slots from 1 on.
SELECT number, substr(body, 1, length) AS body FROM journal
WHERE slot > 0 AND number > (SELECT number FROM journal WHERE slot = 0)
ORDER BY number;
