"""Redaction: secrets that were used are found in whatever is to be shown, in all their spellings (INV-8)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from wonder.language.values import encode_json

# Texts are looked through in words of so many bytes.
_WORD: Final = 4
# Of a secret that was cut off, so much is still looked for: half of it, but no more than 16 and no less than 8.
_PART_MIN: Final = 8
_PART_MAX: Final = 16
# What was cut off is often shown with these around it.
_DOTS: Final = "….\"' \n"

_UNREADABLE: Final = "[a value that can't be looked through for secrets]"
# A secret that repeats itself may seem to begin at very many places.
_TRIES: Final = 100

T = TypeVar("T")


class _Spelling(NamedTuple):
    """One way to write a secret; `ends` are how it begins and ends, of which one stands wherever it does."""

    text: str
    mark: str
    part: int
    ends: tuple[bytes, ...]


# The words that follow a word where a spelling stands.
_Clue: TypeAlias = tuple[tuple[int, ...], _Spelling]


class Redactor:
    """Replaces secrets by `[secret NAME]`; false as long as it knows none.

    A text is first looked through for the words that spellings begin and end with, at the same cost however many
    secrets there are: a megabyte takes some 10 ms. One thread adds, any number of them may look.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()
        # Both are replaced as a whole and never changed, because other threads look at them.
        self._clues: dict[int, tuple[_Clue, ...]] = {}
        self._words: frozenset[int] = frozenset()
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

        clues: dict[int, list[_Clue]] = {}
        for text in spellings(secret):
            spelling = _spelling(text, f"[secret {name}]")
            self.longest = max(self.longest, len(text.encode("utf-8", "surrogatepass")))
            for first, *following in _words(spelling.ends):
                clues.setdefault(first, []).append((tuple(following), spelling))
        self._clues = self._clues | {word: (*self._clues.get(word, ()), *found) for word, found in clues.items()}
        following_words = (word for found in clues.values() for following, _ in found for word in following)
        self._words = self._words.union(clues, following_words)
        self._known.add((name, secret))

    def text(self, text: str) -> str:
        """Return a text without the secrets; the same one if it has none."""
        found = self._found_in(text.encode("utf-8", "surrogatepass"))
        return _without(text, found) if found else text

    def data(self, data: bytes) -> bytes:
        """Return bytes without the secrets; the same ones if they have none."""
        for spelling in sorted(self._found_in(data), key=lambda spelling: -len(spelling.text)):
            data = data.replace(spelling.text.encode("utf-8", "surrogatepass"), spelling.mark.encode())
        return data

    def value(self, value: T) -> T:
        """Return a JSON value without the secrets, in its keys and numbers too; the same one if it has none.

        A number that is a secret becomes a text, and so does what is no JSON and can't be looked through.
        """
        try:
            found = self._found_in(_encoded(value))
            redacted: T = self._walk(value, found) if found else value
        except Exception:
            return _UNREADABLE  # type: ignore[return-value]  # it can't be kept anyway
        return redacted

    def _walk(self, value: Any, found: list[_Spelling]) -> Any:
        if isinstance(value, str):
            return _without(value, found)
        if isinstance(value, dict):
            redacted: dict[Any, Any] = {}
            for key, held in value.items():
                shown = _without(key, found) if isinstance(key, str) else key
                redacted[_free_key(shown, redacted)] = self._walk(held, found)
            return redacted
        if isinstance(value, list | tuple):
            return [self._walk(held, found) for held in value]
        if value is None or isinstance(value, bool):
            return value
        shown = encode_json(value) if isinstance(value, int | float) else repr(value)
        hidden = self.text(shown)
        return value if hidden == shown else hidden

    def _found_in(self, text: bytes) -> list[_Spelling]:
        """Give the spellings of which a text has at least an end."""
        seen = self._words.intersection(memoryview(text + bytes(-len(text) % _WORD)).cast("I"))
        clues = (clue for word in seen for clue in self._clues.get(word, ()))
        maybe = {spelling for following, spelling in clues if seen.issuperset(following)}
        return [spelling for spelling in maybe if any(end in text for end in spelling.ends)]


def _encoded(value: Any) -> bytes:
    try:
        text = encode_json(value)
    except TypeError:  # it is no JSON
        text = repr(value)
    return text.encode("utf-8", "surrogatepass")


def _spelling(text: str, mark: str) -> _Spelling:
    part = min(max(_PART_MIN, len(text) // 2), _PART_MAX)
    # Inside JSON a spelling is escaped once more.
    parts = {end for form in (text, encode_json(text)[1:-1]) for end in (form[:part], form[-part:])}
    return _Spelling(text, mark, part, tuple(end.encode("utf-8", "surrogatepass") for end in parts))


def _words(ends: Iterable[bytes]) -> Iterator[list[int]]:
    """Give the words that are seen where an end stands, for each byte of a word that it may begin at."""
    for end in ends:
        for start in range(_WORD):
            whole = end[start : start + (len(end) - start) // _WORD * _WORD]
            yield memoryview(whole).cast("I").tolist()


def _without(text: str, found: Iterable[_Spelling]) -> str:
    """Return a text without all that is found in it, what overlaps as one."""
    spans = [span for spelling in found for span in _spans(text, spelling)]
    spans.sort(key=lambda span: (span[0], -span[1]))
    parts: list[str] = []
    position = 0
    for start, end, mark in spans:
        if start >= position:
            parts += (text[position:start], mark)
        position = max(position, end)
    return "".join((*parts, text[position:])) if parts else text


def _spans(text: str, spelling: _Spelling) -> Iterator[tuple[int, int, str]]:
    """Give where a spelling stands, and where a part of it was left when something was cut off."""
    secret, mark, part, _ = spelling
    position = text.find(secret)
    while position >= 0:
        yield position, position + len(secret), mark
        position = text.find(secret, position + len(secret))
    last = len(text.rstrip(_DOTS))
    start = max(0, last - len(secret)) - 1
    for _ in range(_TRIES):
        start = text.find(secret[:part], start + 1, last)
        if start < 0:
            break
        if secret.startswith(text[start:last]):
            yield start, last, mark
            break
    first = len(text) - len(text.lstrip(_DOTS))
    end = first + len(secret) + 1
    for _ in range(_TRIES):
        start = text.rfind(secret[-part:], first, end - 1)
        if start < 0:
            break
        end = start + part
        if secret.endswith(text[first:end]):
            yield first, end, mark
            break


def _free_key(key: Any, taken: dict[Any, Any]) -> Any:
    """Return a key that is not taken: two that hold secrets may look the same now."""
    free, number = key, 1
    while free in taken:
        number += 1
        free = f"{key} ({number})"
    return free
