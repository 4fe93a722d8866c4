"""Redaction: secrets that were used are found in whatever is to be shown, in all their spellings (INV-8)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from wonder.language.spelling_ends import Agreed, Spellings, part_of
from wonder.language.values import encode_json

# Texts are looked through in words of so many bytes.
_WORD: Final = 4
# What was cut off is often shown with these around it.
_DOTS: Final = "….\"' \n".encode()

# A secret that repeats itself may seem to begin again inside itself at very many places.
_TRIES: Final = 5_000

_UNREADABLE: Final = "[a value that can't be looked through for secrets]"

T = TypeVar("T")

# Where a word is seen, an end of so many bytes may stand so many bytes before; then these words follow.
_Clue: TypeAlias = tuple[int, int, tuple[int, ...]]
_Span: TypeAlias = tuple[int, int, str]


class Redactor:
    """Replaces secrets by `[secret NAME]`, in upper or lower case; false as long as it knows none.

    A text is first looked through for the words that spellings begin and end with, at the same cost however many
    secrets there are: a megabyte takes some 10 ms. One thread adds, any number of them may look.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()
        # What others look at is only ever added to, and last of all the words, which lead to all the rest.
        self._heads: dict[bytes, Spellings] = {}
        self._tails: dict[bytes, Spellings] = {}
        self._ends: set[bytes] = set()
        self._clues: dict[int, list[_Clue]] = {}
        self._words: set[int] = set()
        self.longest = 0
        """How many bytes a secret takes at most: who looks at data part by part must let the parts overlap."""

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, name: str, secret: str) -> None:
        """Replace a secret from now on."""
        if (name, secret) in self._known:
            return
        # Imported here, because most processes have no secrets.
        from wonder.language.spellings import spellings

        mark = f"[secret {name}]"
        for text in spellings(secret):
            spelling = text.encode("utf-8", "surrogatepass").lower()
            part = part_of(spelling)
            self._heads.setdefault(spelling[:part], Spellings()).add(spelling, mark)
            self._tails.setdefault(spelling[-part:], Spellings()).add(spelling[::-1], mark)
            self.longest = max(self.longest, len(spelling))
            # Inside JSON a spelling is escaped once more.
            escaped = encode_json(text)[1:-1].encode("utf-8", "surrogatepass").lower()
            for end in {spelling[:part], spelling[-part:], escaped[:part], escaped[-part:]}:
                self._add_clues(end)
        self._known.add((name, secret))

    def text(self, text: str) -> str:
        """Return a text without the secrets; the same one if it has none."""
        raw = text.encode("utf-8", "surrogatepass")
        spans = self._spans(raw)
        if not spans:
            return text
        return _without(raw, _whole_characters(raw, spans)).decode("utf-8", "surrogatepass")

    def data(self, data: bytes, *, more: bool = False) -> bytes:
        """Return bytes without the secrets, the same ones if they have none.

        Where `more` follows, parts of secrets among the last `longest` bytes are left to be looked at with that.
        """
        spans = self._spans(data, more=more)
        return _without(data, spans) if spans else data

    def value(self, value: T) -> T:
        """Return a JSON value without the secrets, in its keys and numbers too; the same one if it has none.

        A number that is a secret becomes a text, and so does what is no JSON and can't be looked through.
        """
        size = self.clues_size(value)
        return value if size == 0 else self.without_clues(value) if size else _UNREADABLE  # type: ignore[return-value]

    def clues_size(self, value: object) -> int | None:
        """Return how many bytes have to be looked at one by one: 0 without a clue to a secret, None if nobody can."""
        try:
            encoded = _encoded(value)
            return len(encoded) if self._clues_in(encoded.lower()) else 0
        except Exception:
            return None  # It is no JSON, or has no end: it can't be kept anyway.

    def without_clues(self, value: T) -> T:
        """Do what `value` does with one that has clues; where these were put on purpose, a megabyte takes seconds."""
        try:
            redacted: T = self._walk(value)
        except Exception:
            return _UNREADABLE  # type: ignore[return-value]  # it can't be kept anyway
        return redacted

    def _walk(self, value: Any) -> Any:
        """Return the same value as long as nothing in it was replaced."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            redacted: dict[Any, Any] = {}
            numbers: dict[Any, int] = {}
            for key, held in value.items():
                shown = self.text(key) if isinstance(key, str) else key
                redacted[_free_key(shown, redacted, numbers)] = self._walk(held)
            same = all(map(_is_same, redacted, value)) and all(map(_is_same, redacted.values(), value.values()))
            return value if same else redacted
        if isinstance(value, list | tuple):
            items = [self._walk(held) for held in value]
            return value if all(map(_is_same, items, value)) else items
        if value is None or isinstance(value, bool):
            return value
        shown = encode_json(value) if isinstance(value, int | float) else repr(value)
        hidden = self.text(shown)
        return value if hidden == shown else hidden

    def _add_clues(self, end: bytes) -> None:
        """Note the words that are seen where an end stands, for each byte of a word that it may begin at."""
        if end in self._ends:
            return
        self._ends.add(end)
        for before in range(_WORD):
            whole = end[before : before + (len(end) - before) // _WORD * _WORD]
            first, *following = memoryview(whole).cast("I").tolist()
            self._clues.setdefault(first, []).append((before, len(end), tuple(following)))
            self._words.update(following)
            self._words.add(first)

    def _clues_in(self, text: bytes) -> dict[int, set[tuple[int, int]]]:
        """Give the clues of which a text has all words: by the first of them, how far before it, and how long."""
        seen = self._words.intersection(_words(text))
        found: dict[int, set[tuple[int, int]]] = {}
        for word in seen:
            for before, length, following in self._clues.get(word, ()):
                if seen.issuperset(following):
                    found.setdefault(word, set()).add((before, length))
        return found

    def _spans(self, raw: bytes, *, more: bool = False) -> list[_Span]:
        """Give where secrets stand, in order, and where a part of one was left when something was cut off."""
        text = raw.lower()
        clues = self._clues_in(text)
        if not clues:
            return []
        first = len(text) - len(text.lstrip(_DOTS))
        last = len(text.rstrip(_DOTS))
        # Where one may begin that goes on in what follows, nothing is known of parts yet.
        open_from = len(text) - self.longest + 1 if more else len(text)
        spans: list[_Span] = []
        covered = reached = tries = 0
        for place, word in [(place, word) for place, word in enumerate(_words(text)) if word in clues]:
            if tries > _TRIES and place * _WORD < reached:
                continue
            for before, length in clues[word]:
                start = place * _WORD - before
                stop = start + length
                # Of what stands inside another, all is gone already.
                if start < 0 or stop <= covered:
                    continue
                if start < reached:
                    tries += 1
                    if tries > _TRIES:
                        continue
                end = text[start:stop]
                if heads := self._heads.get(end):
                    found = heads.agreed(text[start : start + heads.longest + 1], last - start)
                    if found and (found.whole or start < open_from):
                        spans.append((start, start + found.length, found.mark))
                        reached = max(reached, start + found.length)
                        # What begins in it and ends behind it is found by its end.
                        covered = reached if found.whole else covered
                if stop > covered and (tails := self._tails.get(end)):
                    found = _backwards(text, stop, first, tails)
                    if found and (found.whole or stop - found.length < open_from):
                        spans.append((stop - found.length, stop, found.mark))
                        covered = reached = max(reached, stop)
        return sorted(spans, key=lambda span: (span[0], -span[1]))


def _backwards(text: bytes, stop: int, first: int, tails: Spellings) -> Agreed | None:
    return tails.agreed(text[max(0, stop - tails.longest - 1) : stop][::-1], stop - first)


def _words(text: bytes) -> memoryview:
    return memoryview(text + bytes(-len(text) % _WORD)).cast("I")


def _encoded(value: Any) -> bytes:
    try:
        text = encode_json(value)
    except TypeError:  # it is no JSON
        text = repr(value)
    return text.encode("utf-8", "surrogatepass")


def _without(raw: bytes, spans: Iterable[_Span]) -> bytes:
    """Return a text without all that is found in it, what overlaps as one."""
    parts: list[bytes] = []
    position = 0
    for start, end, mark in spans:
        if start >= position:
            parts += (raw[position:start], mark.encode())
        position = max(position, end)
    return b"".join((*parts, raw[position:]))


def _whole_characters(raw: bytes, spans: Iterable[_Span]) -> Iterator[_Span]:
    """Let no part begin or end inside a character of several bytes."""
    for start, end, mark in spans:
        while start > 0 and raw[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end += 1
        yield start, end, mark


def _is_same(one: object, other: object) -> bool:
    return one is other


def _free_key(key: Any, taken: dict[Any, Any], numbers: dict[Any, int]) -> Any:
    """Return a key that is not taken: two that hold secrets may look the same now, and so may all of a million.

    `numbers` has the last one that was tried for each key, so that none is tried twice.
    """
    free, number = key, numbers.get(key, 1)
    while free in taken:
        number += 1
        free = f"{key} ({number})"
    if free is not key:
        numbers[key] = number
    return free
