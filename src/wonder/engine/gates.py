"""Gates: who may answer, claim, release or delegate a question to a person (ACT-4, ACT-4b)."""

from typing import Any, Final

from msgspec import Struct

from wonder.engine.state import Token
from wonder.engine.waiting_tasks import HumanWait
from wonder.errors import WonderError
from wonder.language.schemas.equality import key_of
from wonder.language.values import JsonValue, encode_json

PERSON_MAX: Final = 200
QUORUM_ANSWER_MAX: Final = 65_536
"""The most bytes of one answer of an approver: those of all are kept with the run until the last has come."""
_RANKS: Final = {"viewer": 0, "operator": 1, "author": 2, "admin": 3}


class Person(Struct, frozen=True):
    """Who answers, claims or delegates, as a door says it."""

    name: str | None
    role: str | None = None
    """None: a person or a program on this machine, who may do all that a role allows."""
    is_model: bool = False

    def has_role(self, role: str) -> bool:
        """Say whether they may do what needs a role; nobody may with a role that there is not."""
        return self.role is None or _RANKS.get(self.role, -1) >= _RANKS[role]


class MayNotAnswer(WonderError):
    """A question was to be answered or claimed by somebody who may not."""

    code = "MAY_NOT_ANSWER"

    def __init__(self, item_id: str, name: str | None, reason: str) -> None:
        shown = "somebody without a name" if name is None else repr(name)
        super().__init__(f"{shown} may not answer the inbox item {item_id!r}: {reason}")
        self.item_id, self.name, self.reason = item_id, name, reason


class ItemClaimed(WonderError):
    """Another person has claimed a question, or it is assigned to them."""

    code = "ITEM_CLAIMED"

    def __init__(self, item_id: str, holder: str, *, claimed: bool = True) -> None:
        how = "claimed by" if claimed else "assigned to"
        what = "release or delegate it" if claimed else "delegate it"
        super().__init__(f"the inbox item {item_id!r} is {how} {holder!r}; they, or an admin, can {what}")
        self.item_id, self.holder = item_id, holder


class AnsweredOtherwise(WonderError):
    """An approver has answered before, and something else."""

    code = "ANSWERED_OTHERWISE"

    def __init__(self, item_id: str, name: str) -> None:
        super().__init__(
            f"{name!r} has answered the inbox item {item_id!r} before, with another answer; each approver answers once"
        )
        self.item_id, self.name = item_id, name


class NotPossible(WonderError):
    """A question can't be claimed, released or delegated so."""

    code = "NOT_POSSIBLE"

    def __init__(self, item_id: str, reason: str) -> None:
        super().__init__(f"the inbox item {item_id!r} {reason}")
        self.item_id, self.reason = item_id, reason


def check_person(token: Token, person: Person, answer: JsonValue) -> bool:
    """Say whether an answer is to be counted; False if this approver gave the same one before.

    Raises MayNotAnswer, ItemClaimed, AnsweredOtherwise or NotPossible.
    """
    wait, rules, item_id = _gate(token)
    approvers = wait.get("approvers")
    if approvers is not None:
        # First: who has delegated their place, or lost their role, may still repeat what they said.
        for given in wait["answers"]:
            if given["by"] == person.name:
                if key_of(given["answer"]) == key_of(answer):
                    return False
                raise AnsweredOtherwise(item_id, given["by"])
        if (size := len(encode_json(answer).encode())) > QUORUM_ANSWER_MAX:
            message = f"takes at most {QUORUM_ANSWER_MAX:,} bytes from each approver, and this answer has {size:,}"
            raise NotPossible(item_id, message)
    _check_allowed(rules, item_id, person, approvers)
    claimed_by = wait.get("claimed_by")
    if claimed_by is not None and claimed_by != person.name:
        raise ItemClaimed(item_id, claimed_by)
    return True


def check_claim(token: Token, person: Person) -> bool:
    """Say whether a claim changes anything; raises MayNotAnswer, ItemClaimed or NotPossible."""
    wait, rules, item_id = _gate(token)
    if wait.get("approvers") is not None:
        raise NotPossible(item_id, "can't be claimed: each of its approvers answers")
    name = _named(person, item_id, "claims")
    _check_allowed(rules, item_id, person, None)
    claimed_by = wait.get("claimed_by")
    if claimed_by is not None and claimed_by != name:
        raise ItemClaimed(item_id, claimed_by)
    return claimed_by is None


def check_release(token: Token, person: Person) -> bool:
    """Say whether a release changes anything; raises ItemClaimed or NotPossible."""
    wait, _, item_id = _gate(token)
    claimed_by = wait.get("claimed_by")
    if claimed_by is not None and claimed_by != person.name and not person.has_role("admin"):
        raise ItemClaimed(item_id, claimed_by)
    return claimed_by is not None


def check_delegation(token: Token, person: Person, to: str) -> None:
    """Raise MayNotAnswer, ItemClaimed or NotPossible unless a person may hand a question, or their place, to another.

    An admin may hand on any question, but nobody's place among approvers: that would be a vote for them.
    """
    wait, rules, item_id = _gate(token)
    check_name(item_id, to)
    if rules.names is not None and rules.role is None and to not in rules.names:
        raise MayNotAnswer(item_id, to, "they are not in answerable_by.names")
    approvers = wait.get("approvers")
    if approvers is not None:
        name = _named(person, item_id, "delegates")
        if any(given["by"] == name for given in wait["answers"]):
            raise NotPossible(item_id, f"can't be delegated by {name!r}, who has answered it")
        if name not in approvers:
            raise MayNotAnswer(item_id, name, f"its approvers are {_listed(approvers)}")
        if to in approvers or any(given["by"] == to for given in wait["answers"]):
            raise NotPossible(item_id, f"can't be delegated to {to!r}, who is an approver already")
        return
    holder = wait.get("claimed_by") or wait.get("assignee")
    if person.has_role("admin") or holder == person.name:
        return
    if holder is not None:
        raise ItemClaimed(item_id, holder, claimed="claimed_by" in wait)
    _check_allowed(rules, item_id, person, None)


def check_name(item_id: str, name: str) -> None:
    """Raise NotPossible unless a person can have this name."""
    if not name or len(name) > PERSON_MAX or name != name.strip() or not name.isprintable():
        reason = f"can't be given to {name[:PERSON_MAX]!r}: a name is one line of 1 to {PERSON_MAX} characters"
        raise NotPossible(item_id, reason)


def _gate(token: Token) -> tuple[dict[str, Any], HumanWait, str]:
    """Give how a question stands, and its rules; a question about a budget has none."""
    wait: dict[str, Any] = token.wait or {}
    item_id = str(wait["item_id"])
    if token.node.wait is None or not isinstance(token.node.wait.wait, HumanWait):
        raise NotPossible(item_id, "is about a budget: whoever answers it first decides")
    return wait, token.node.wait.wait, item_id


def _check_allowed(rules: HumanWait, item_id: str, person: Person, approvers: list[str] | None) -> None:
    if person.is_model and not rules.models:
        raise MayNotAnswer(item_id, person.name, "a model may answer only where answerable_by.models is true")
    if approvers is not None and person.name not in approvers:
        raise MayNotAnswer(item_id, person.name, f"its approvers are {_listed(approvers)}")
    by_name = rules.names is not None and person.name in rules.names
    by_role = rules.role is not None and person.has_role(rules.role)
    if (rules.names is not None or rules.role is not None) and not by_name and not by_role:
        ways = [f"the names {_listed(rules.names)}"] if rules.names else []
        ways += [f"the role {rules.role!r}"] if rules.role else []
        raise MayNotAnswer(item_id, person.name, f"answerable_by has {' and '.join(ways)}")


def _named(person: Person, item_id: str, verb: str) -> str:
    if person.name is None:
        raise NotPossible(item_id, f"needs to know who {verb} it; say so with `by`")
    check_name(item_id, person.name)
    return person.name


def _listed(names: list[str] | None) -> str:
    shown = ", ".join(map(repr, (names or [])[:10]))
    return shown if len(names or ()) <= 10 else f"{shown} and {len(names or ()) - 10} more"
