-- Commits of a few rows, each written down as one page and durable like any other, whose rows reach the tables a moment
-- later. Slot 0 has the number of the last one that did, slots from 1 on are written over again and again, and what the
-- tables refused is kept below 0. Numbers go up.
CREATE TABLE journal (
    slot INTEGER NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    length INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
INSERT INTO journal (slot, number, length, body) VALUES (0, 0, 0, x'');
