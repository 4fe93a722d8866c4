"""Quorums: whether the answers of several approvers decide a question, and how (ACT-4a)."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from wonder.language.paths import MISSING, parse_dotted
from wonder.language.paths.getters import getter
from wonder.language.schemas.equality import Key, key_of
from wonder.language.values import JsonValue

DecidedBy: TypeAlias = Literal["agreement", "majority", "disagreement", "deadline"]

_ABSENT: Key = ("absent",)


class Verdict(NamedTuple):
    """What approvers have decided together; `has_answer` is false where they disagree and nothing else counts."""

    decided_by: DecidedBy
    answer: JsonValue = None
    has_answer: bool = True


class QuorumRule:
    """How many must agree, on what, and what counts when they can't any more."""

    def __init__(self, quorum: Any) -> None:
        self.approvers: tuple[str, ...] = tuple(quorum.of)
        self.needed: int = quorum.needed
        self.agree_on: str | None = quorum.agree_on
        self._part = None if quorum.agree_on is None else getter(parse_dotted(quorum.agree_on))
        given = quorum.on_disagreement
        self._by_majority = given == "majority"
        self._has_default = not isinstance(given, str)
        self._default: JsonValue = given.default if self._has_default else None

    def judge(self, answers: Sequence[Any], approvers: int) -> Verdict | None:
        """Say what the answers so far decide, in the order in which they came; None if more must come."""
        groups: dict[Key, list[JsonValue]] = {}
        for given in answers:
            groups.setdefault(self._key(given["answer"]), []).append(given["answer"])
        ordered = sorted(groups.values(), key=len, reverse=True)
        most = len(ordered[0]) if ordered else 0
        if most >= self.needed:
            return Verdict("agreement", ordered[0][0])
        left = approvers - len(answers)
        if most + left >= self.needed:
            return None
        if self._has_default:
            return Verdict("disagreement", self._default)
        second = len(ordered[1]) if len(ordered) > 1 else 0
        if self._by_majority and most > second + left:
            return Verdict("majority", ordered[0][0])
        if self._by_majority and left:
            return None
        return Verdict("disagreement", has_answer=False)

    def _key(self, answer: JsonValue) -> Key:
        if self._part is None:
            return key_of(answer)
        part = self._part(answer)
        return _ABSENT if part is MISSING else key_of(part)


def outcome(verdict: Verdict, answers: Sequence[JsonValue]) -> dict[str, JsonValue]:
    """Give the output of a question with a quorum."""
    return {"agreed": verdict.answer, "decided_by": verdict.decided_by, "answers": [*answers]}
