"""What is checked of a question before it is stored: who is asked, who may answer, and how approvers agree."""

from collections import Counter

from wonder.actions.human_input.record import AnswerableBy, DefaultAnswer, HumanInput, Quorum
from wonder.definitions.checks.texts import check_template, read_dotted
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.language.schemas import compile_validator
from wonder.language.schemas.names import closest
from wonder.language.schemas.shapes import shape_at
from wonder.language.values import show_path

_ROLES = ("operator", "author", "admin")


def check_question(implementation: HumanInput, path: Path, findings: Findings) -> None:
    """Note fields of a question that are wrong, contradict each other, or have no effect."""
    check_template(implementation.prompt, (*path, "prompt"), findings)
    check_template(implementation.assignee, (*path, "assignee"), findings)
    for name, text in implementation.evidence.items():
        read_dotted(text, (*path, "evidence", name), findings)
    _check_times(implementation, path, findings)
    _check_default(implementation, implementation.on_deadline, (*path, "on_deadline"), findings)
    _check_twice(_allowed(implementation).names, (*path, "answerable_by", "names"), findings)
    _check_assignment(implementation, path, findings)
    if implementation.quorum:
        _check_quorum(implementation, implementation.quorum, path, findings)


def _allowed(implementation: HumanInput) -> AnswerableBy:
    return implementation.answerable_by or AnswerableBy()


def _check_times(implementation: HumanInput, path: Path, findings: Findings) -> None:
    deadline_ms, remind_ms = implementation.deadline_ms, implementation.remind_ms
    if implementation.on_deadline != "fail" and deadline_ms is None:
        message = "on_deadline needs a deadline, and deadline_ms is missing"
        findings.error("no_deadline", (*path, "on_deadline"), message, "add deadline_ms")
    if remind_ms is not None and deadline_ms is not None and remind_ms >= deadline_ms:
        message = f"the first reminder after {remind_ms:,} ms never comes: the deadline is after {deadline_ms:,} ms"
        findings.error("late_reminder", (*path, "remind_ms"), message, "make it shorter than deadline_ms")


def _check_default(implementation: HumanInput, given: object, path: Path, findings: Findings) -> None:
    if isinstance(given, DefaultAnswer):
        for fault in compile_validator(implementation.schema_).faults(given.default):
            message = f"the default answer does not fit the schema: {fault.message}"
            findings.error("default_misfit", (*path, "default", *fault.path), message, "correct it")


def _check_twice(names: list[str] | None, path: Path, findings: Findings) -> None:
    for name, count in Counter(names or ()).items():
        if count > 1:
            findings.error("named_twice", path, f"{name!r} is named {count} times", "name each person once")


def _check_assignment(implementation: HumanInput, path: Path, findings: Findings) -> None:
    """Note an assignee or a role that `answerable_by` keeps from answering."""
    assignee, role, allowed = implementation.assignee, implementation.role, _allowed(implementation)
    if assignee is not None and "{{" not in assignee and not _may_answer(assignee, allowed):
        message = f"the question is assigned to {assignee!r}, who is not in answerable_by.names and so can't answer it"
        findings.error("cannot_answer", (*path, "assignee"), message, "add the name there, or assign it to another")
    if role is None:
        return
    if assignee is not None:
        message = "a question has an assignee or a role, and this has both"
        findings.error("two_assignees", (*path, "role"), message, "remove one of them")
    least = allowed.role
    if allowed.names is not None and least is None:
        message = f"the question is for the role {role!r}, and answerable_by has names only"
        findings.error("cannot_answer", (*path, "role"), message, "add answerable_by.role, or remove the names")
    elif least is not None and _ROLES.index(role) < _ROLES.index(least):
        message = f"the question is for the role {role!r}, and answerable_by.role lets only {least!r} answer"
        findings.error("cannot_answer", (*path, "role"), message, f"write {least!r} here, or {role!r} there")


def _may_answer(name: str, allowed: AnswerableBy) -> bool:
    """Say whether somebody of this name may answer, as far as that is known before their role is."""
    return allowed.names is None or allowed.role is not None or name in allowed.names


def _check_quorum(implementation: HumanInput, quorum: Quorum, path: Path, findings: Findings) -> None:
    at = (*path, "quorum")
    _check_twice(quorum.of, (*at, "of"), findings)
    people = len(set(quorum.of))
    if quorum.needed > people:
        message = f"{quorum.needed} answers are needed, and there are {people} approvers"
        findings.error("quorum_too_large", (*at, "needed"), message, "name more approvers, or need fewer answers")
    for field in ("assignee", "role"):
        if getattr(implementation, field) is not None:
            message = f"{field} has no effect: quorum.of says who is asked"
            findings.error("quorum_assigned", (*path, field), message, f"remove {field}, or the quorum")
    for name in dict.fromkeys(quorum.of):
        if not _may_answer(name, _allowed(implementation)):
            message = f"{name!r} is an approver and is not in answerable_by.names, and so can't answer"
            findings.error("cannot_answer", (*at, "of"), message, "add the name there, or remove answerable_by.names")
    _check_default(implementation, quorum.on_disagreement, (*at, "on_disagreement"), findings)
    if quorum.agree_on is not None and (part := read_dotted(quorum.agree_on, (*at, "agree_on"), findings)):
        shape = shape_at(implementation.schema_, part)
        if shape.kind == "absent":
            near = closest(str(part[shape.at or 0]), shape.available)
            hint = f"did you mean '{near}'?" if near else "name a field of the answer, as its schema has it"
            message = f"an answer has no '{show_path(part)}'"
            findings.error("unknown_field", (*at, "agree_on"), message, hint)
