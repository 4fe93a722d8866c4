-- The journal is a file beside the database now, and what it holds is not rows. Entries that are still here are brought to
-- the tables when the database is opened. Slot 0 goes on to have the number of the last entry that the tables have; it
-- begins anywhere, so that no file that belongs to another database ever seems to fit.
DELETE FROM journal WHERE slot > 0 AND number <= (SELECT number FROM journal AS last WHERE last.slot = 0);
UPDATE journal SET number = random() & 0x0fffffffffffffff
WHERE slot = 0 AND NOT EXISTS (SELECT 1 FROM journal AS entry WHERE entry.slot > 0);
