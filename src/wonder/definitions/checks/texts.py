"""Checks of the small languages where they stand in a definition: is each text what it should be?"""

from typing import Literal

from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.graph import ExpressionCondition, StructuredCondition
from wonder.errors import WonderError
from wonder.language.collection import Collection, compile_collection
from wonder.language.expressions import (
    ROOTS,
    Expression,
    ExpressionSyntax,
    Names,
    compile_expression,
    compile_structured,
)
from wonder.language.paths import PathSyntax, parse_dotted
from wonder.language.targets import Target
from wonder.language.templates import TemplateSyntax, compile_template

CONTEXT_ROOTS = ("input", "state", "output")
WORKFLOW_ROOTS = ROOTS
TASK_ROOTS = frozenset(CONTEXT_ROOTS)


def read_expression(
    text: str, roots: frozenset[str], where: Path, findings: Findings, *, otherwise: str = "fix the expression there"
) -> Expression | None:
    """Compile an expression, or note why it can't be; `otherwise` is the hint where the error itself has none."""
    try:
        return compile_expression(text, Names(roots))
    except WonderError as error:
        message, hint = _told(error)
        findings.error(error.code.lower(), where, message, hint or otherwise)
        return None


def read_condition(
    condition: ExpressionCondition | StructuredCondition, roots: frozenset[str], where: Path, findings: Findings
) -> Expression | None:
    """Compile a transition's condition, or note why it can't be."""
    try:
        if isinstance(condition, ExpressionCondition):
            where = (*where, "expr")
            return compile_expression(condition.expr, Names(roots, tuple(condition.reads)))
        return compile_structured(condition.definition, Names(roots))
    except ExpressionSyntax as error:
        if isinstance(condition, StructuredCondition):
            _note_structured(error, (*where, "definition"), findings)
        else:
            _note(error, where, findings)
        return None


def read_target(text: str, where: Path, findings: Findings, *, in_workflow: bool) -> Target | None:
    """Read a target path, or note why it can't be one."""
    path = read_dotted(text, where, findings)
    if path is None:
        return None
    if path[0] in ("state", "output") or (in_workflow and path[:2] == ("_branch", "output")):
        return Target(text, path)
    if path[0] == "input":
        message = f"'{text}' can't be written: an input never changes"
    elif path[0] == "_branch" and in_workflow:
        message = f"'{text}' can't be written: of _branch only the output can"
    else:
        message = f"'{text}' can't be written: '{path[0]}' is no root that can"
    roots = "state, output or _branch.output" if in_workflow else "state or output"
    findings.error("bad_target", where, message, f"begin the target with {roots}")
    return None


def read_dotted(text: str, where: Path, findings: Findings) -> Path | None:
    """Read a dotted path, or note why it can't be."""
    try:
        return parse_dotted(text)
    except WonderError as error:
        _note(error, where, findings)
        return None


def read_collection(text: str, roots: frozenset[str], where: Path, findings: Findings) -> Collection | None:
    """Compile the collection of a foreach, or note why it can't be."""
    try:
        return compile_collection(text, Names(roots))
    except WonderError as error:
        _note(error, where, findings)
        return None


def check_template(text: str | None, where: Path, findings: Findings, escape: Literal["none", "url"] = "none") -> None:
    """Note what is wrong with a Handlebars template."""
    if text is None:
        return
    try:
        compile_template(text, escape=escape)
    except WonderError as error:
        _note(error, where, findings)


def check_file_path(text: str, where: Path, findings: Findings) -> None:
    """Note what is wrong with the template of a path in the project's files, and one that leads out of them."""
    check_template(text, where, findings)
    if text.startswith(("/", "~")) or ".." in text.replace("\\", "/").split("/"):
        message = f"'{text}' leads out of the project's files_root"
        findings.error("path_outside", where, message, "write a path relative to files_root, without '..'")


def _note_structured(error: ExpressionSyntax, where: Path, findings: Findings) -> None:
    """Note what is wrong at its own place in the condition, which the reason begins with."""
    place, _, reason = error.reason.removeprefix("at ").partition(": ")
    try:
        where, told = (*where, *(parse_dotted(place) if place != "the condition" else ())), reason
    except WonderError:
        told = error.reason
    message, _, hint = told.partition("; ")
    findings.error(error.code.lower(), where, message, hint or "fix the condition there (EXP-5)")


def a_kind(kind: str) -> str:
    """Write a kind of action with its article."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _note(error: WonderError, where: Path, findings: Findings) -> None:
    message, hint = _told(error)
    findings.error(error.code.lower(), where, message, hint or "fix the expression there")


def _told(error: WonderError) -> tuple[str, str]:
    """Tell what is wrong and how to fix it apart, each once, which an error's own text has in one."""
    match error:
        case ExpressionSyntax():
            reason, _, hint = error.reason.partition("; ")
            shown = _shortened(error.text)
            if reason.endswith("not the end"):
                hint = hint or "write what is missing at the end"
            return f"{reason}, at character {error.position + 1} of {shown}", hint
        case PathSyntax():
            at = f" at character {error.position + 1}" if error.position else ""
            return f"{_shortened(error.text)} is not a path: {error.reason}{at}", error.hint
        case TemplateSyntax():
            return f"{error.reason}, at line {error.line}, column {error.column} of the template", error.hint
        case _:
            return str(error), getattr(error, "hint", "")


def _shortened(text: str) -> str:
    return f"'{text}'" if len(text) <= 80 else f"'{text[:77]}…'"
