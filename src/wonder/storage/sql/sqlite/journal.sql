-- Of the journal, which is a file, the tables only have up to which entry they have all: the number of slot 0.

-- name: journal_end
SELECT number FROM journal WHERE slot = 0;

-- name: put_journal_end
UPDATE journal SET number = $1 WHERE slot = 0;

-- name: old_journal_entries
-- Those of a Wonder that kept them here: slots from 1 on.
SELECT number, substr(body, 1, length) AS body FROM journal
WHERE slot > 0 AND number > (SELECT number FROM journal WHERE slot = 0)
ORDER BY number;
