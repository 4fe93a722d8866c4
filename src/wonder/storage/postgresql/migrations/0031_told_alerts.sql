-- The threshold of a budget's alert that was told last in a month. NULL: none.
ALTER TABLE spending ADD COLUMN alerted_nanousd BIGINT;
