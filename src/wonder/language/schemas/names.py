"""Did you mean: the name that was probably meant by one that is not there."""

from collections.abc import Iterable
from difflib import SequenceMatcher

_LENGTH = 100
_CANDIDATES = 500
_ALIKE = 0.6


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Give the candidate most like a name, or None when none is much like it; case alone is no difference."""
    matcher: SequenceMatcher[str] = SequenceMatcher(b=_plain(name), autojunk=False)
    best, best_ratio = None, _ALIKE
    for count, candidate in enumerate(candidates):
        if count == _CANDIDATES:
            break
        matcher.set_seq1(_plain(candidate))
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = candidate, ratio
    return best


def _plain(name: str) -> str:
    """Write `userName`, `user_name` and `user-name` alike."""
    return name[:_LENGTH].casefold().replace("_", "").replace("-", "").replace(" ", "")
