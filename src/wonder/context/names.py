"""Identifiers: names of tables and columns, made out of whatever a schema calls its properties (CTX-2)."""

import re
from collections.abc import Iterable
from itertools import count

# PostgreSQL cuts longer identifiers without a word, so that two of them could become one.
IDENTIFIER_BYTES = 63


class Names:
    """The names given so far in one place, so that every new one differs from them in both databases."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def __len__(self) -> int:
        return len(self._taken)

    def give(self, *words: str) -> str:
        """Make a name out of the words: lower case, letters, digits and underscores, unlike all given before."""
        base = "_".join([_plain(word) for word in words]) or "_"
        name = _cut(base, IDENTIFIER_BYTES)
        # In lower case from the start: SQLite takes "Order" and "order" for the same column, PostgreSQL does not.
        numbers = count(2)
        while name in self._taken:
            suffix = f"_{next(numbers)}"
            name = _cut(base, IDENTIFIER_BYTES - len(suffix)) + suffix
        self._taken.add(name)
        return name


def quote(identifier: str) -> str:
    """Write an identifier as SQL, so that no character of it can mean anything else."""
    return '"' + identifier.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Write a text as a SQL literal that both databases read alike."""
    return "'" + text.replace("'", "''") + "'"


def whole_name(name: str) -> str:
    """Keep a name as people wrote it, cut to the length that both databases keep."""
    return _cut(name, IDENTIFIER_BYTES)


def _plain(word: str) -> str:
    # Cut first: a property's name may be as long as the document limit allows.
    return re.sub(r"\W+", "_", word[:IDENTIFIER_BYTES].lower())


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore")
