"""Compares Wonder's expressions with SQLite's: run it as a program for more than the tests do.

python tests/language/expression_differential.py [SEED] [FACTOR]
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from expression_cases import Case, Coverage, Generator, Parameter
from expression_oracle import Failed, Oracle, same
from expression_specimens import ABSENT

from wonder.language.expressions import ROOTS, Expression, ExpressionFailed, ExpressionSyntax, Names, compile_expression

# What Wonder refuses and SQLite does not: characters that can't be stored (CTX-7), texts that are too long, the clock.
LIMITS = re.compile(r"can't be stored|the limit is|depends on the clock")
NAMES = Names(ROOTS | {"item"}, ("state.b",))


@dataclass
class Report:
    """What a comparison found."""

    coverage: Coverage
    compared: int = 0
    failed_in_both: int = 0
    left_out: int = 0
    differences: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Say it for a person."""
        head = f"{self.compared} compared, {self.failed_in_both} of them errors in both, {len(self.differences)} differ"
        head += f"; {self.left_out} left out that go over a limit of Wonder's own"
        return "\n".join([head, *self.differences[:20], self.coverage.report()])


def compiled(text: str) -> Expression:
    """Compile a generated expression as Wonder would."""
    return compile_expression(text, NAMES)


def compare_all(
    seed: int,
    factor: float = 1.0,
    compile_text: Callable[[str], Expression] = compiled,
    *,
    stop_at_difference: bool = False,
) -> Report:
    """Compare generated cases, each twice: as a value and as a condition."""
    generator, oracle = Generator(seed), Oracle()
    report = Report(generator.coverage)
    for case in generator.cases(int(6 * factor) or 1, int(200 * factor) or 1, int(6_000 * factor)):
        compare_one(case, oracle, report, compile_text)
        if stop_at_difference and report.differences:
            break
    return report


def compare_one(
    case: Case, oracle: Oracle, report: Report, compile_text: Callable[[str], Expression] = compiled
) -> None:
    """Compare one case, and note a difference."""
    scope = case.scope()
    try:
        expression = compile_text(case.text)
    except ExpressionSyntax as error:
        ours_value: Any = Failed(str(error))
        ours_truth: Any = ours_value
    else:
        ours_value, ours_truth = _outcome(expression.evaluate, scope), _outcome(expression.matches, scope)
    if any(isinstance(ours, Failed) and LIMITS.search(ours.reason) for ours in (ours_value, ours_truth)):
        report.left_out += 1
        return
    theirs_value = (
        _path_value(case) if _is_bare_path(case) else oracle.value(case, cast_at_top=_is_cast(case, ours_value))
    )
    theirs_truth = oracle.truth(case)
    report.compared += 1
    report.failed_in_both += isinstance(theirs_value, Failed) and isinstance(ours_value, Failed)
    if not same(ours_value, theirs_value):
        report.differences.append(f"{case.shown()}\n    value: Application {ours_value!r}, SQLite {theirs_value!r}")
    if not same(ours_truth, theirs_truth):
        report.differences.append(f"{case.shown()}\n    truth: Application {ours_truth!r}, SQLite {theirs_truth!r}")


def _outcome(evaluate: Callable[[Any], Any], scope: Any) -> Any:
    try:
        return evaluate(scope)
    except ExpressionFailed as error:
        return Failed(str(error))


def _is_cast(case: Case, ours: Any) -> bool:
    return isinstance(ours, str) and case.text.lstrip("( ").startswith("cast(")


def _is_bare_path(case: Case) -> bool:
    rest = [piece for piece in case.pieces if isinstance(piece, Parameter) or piece.strip("( )")]
    return len(rest) == 1 and isinstance(rest[0], Parameter) and case.text.count("(") == case.text.count(")")


def _path_value(case: Case) -> Any:
    (name,) = {piece.name for piece in case.pieces if isinstance(piece, Parameter)}
    value = case.values[name]
    return None if value is ABSENT else value


if __name__ == "__main__":
    arguments = [*sys.argv[1:], "", ""]
    outcome = compare_all(int(arguments[0] or 1), float(arguments[1] or 1))
    print(outcome.text())
    sys.exit(bool(outcome.differences))
