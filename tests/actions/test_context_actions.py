"""`update_context`, `assert` and `emit_metric` on the context of a task (FIL-2, FIL-3), and the registry."""

import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from support.tasks import Bench, action, bench, step, task
from wonder.actions import registry
from wonder.actions.errors import BadKind, BadResult, KindTaken, UnknownKind
from wonder.actions.foreign import ForeignContextAction
from wonder.actions.protocol import ActionKind, Metric, TaskContext
from wonder.actions.registry import ActionRegistry, announced_kinds
from wonder.actions.sleep.declaration import Declaration as SleepKind
from wonder.definitions.kinds import KINDS
from wonder.executor.results import TaskResult


async def run(kind: str, implementation: Any, given: Any = None, **fields: Any) -> TaskResult:
    """Run a task of one step that works on the task's context."""
    mappings = {"input_mapping": None, "output_mapping": None}
    async with bench() as it:
        return await it.run(task(step("s", **mappings), **fields), given, action("s", kind, implementation))


async def update(*updates: tuple[str, Any], given: Any = None, **fields: Any) -> TaskResult:
    """Run one `update_context`."""
    return await run(
        "update_context", {"updates": [{"path": path, "expr": expr} for path, expr in updates]}, given, **fields
    )


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        ("input.n + 1", 4),
        ("'text'", "text"),
        ({"$literal": "input.n"}, "input.n"),
        ({"$literal": {"$literal": 1}}, {"$literal": 1}),
        ({"a": "input.n"}, {"a": "input.n"}),
        ({"$literal": 1, "other": 2}, {"$literal": 1, "other": 2}),
        (7, 7),
        (None, None),
        (False, False),
        ([1, "input.n"], [1, "input.n"]),
        ("input.rows", [{"a": 1}]),
        ("input.absent", None),
        ("input.n > 2", True),
    ],
)
async def test_fil_3_a_text_is_an_expression_and_any_other_json_a_value(expr: Any, value: Any) -> None:
    """FIL-3: `{"$literal": "text"}` is a text."""
    result = await update(("output.x", expr), given={"n": 3, "rows": [{"a": 1}]})
    assert result.output == {"x": value}


async def test_fil_3_updates_apply_in_order_and_each_sees_those_before_it() -> None:
    """FIL-3."""
    result = await update(
        ("state.n", "1"), ("state.n", "state.n + 1"), ("output.n", "state.n * 10"), ("output.list[0]", "n")
    )
    assert result.output == {"n": 20, "list": [2]}


async def test_exp_6_zero_and_one_become_false_and_true_where_the_schema_says_boolean() -> None:
    """EXP-6."""
    schema = {"type": "object", "properties": {"b": {"type": "boolean"}, "n": {"type": "integer"}}}
    result = await update(("output.b", "1"), ("output.n", "1"), output_schema=schema)
    assert repr(result.output) == "{'b': True, 'n': 1}"


@pytest.mark.parametrize(("expr", "code"), [("state.n", "TASK_OUTPUT_SCHEMA"), ("state.n + 0", None)])
async def test_exp_6_a_bare_path_is_copied_unchanged_and_1_does_not_fit_a_boolean(expr: str, code: str | None) -> None:
    """EXP-6."""
    schema = {"type": "object", "properties": {"b": {"type": ["boolean", "null"]}}}
    result = await update(("state.n", "1"), ("output.b", expr), output_schema=schema)
    assert (result.error and result.error.code) == code
    assert code or result.output == {"b": True}


@pytest.mark.parametrize(
    ("updates", "code"),
    [
        ([("output.x", "json_extract('{', '$.a')")], "EXPRESSION_ERROR"),
        ([("state.x", "1"), ("state.x.y", "2")], "TARGET_UNWRITABLE"),
    ],
)
async def test_exp_7_an_update_that_cannot_be_made_fails_the_step(updates: Any, code: str) -> None:
    """EXP-7, CTX-5a."""
    result = await update(*updates)
    assert result.error
    assert (result.error.code, result.error.step) == (code, "s")


async def test_fil_2_an_update_that_failed_leaves_nothing_behind() -> None:
    """The updates of one step are made together or not at all."""
    broken = {"updates": [{"path": "output.x", "expr": "1"}, {"path": "output.x.y", "expr": "2"}]}
    only = step("s", input_mapping=None, output_mapping=None, on_failure="continue")
    async with bench() as it:
        result = await it.run(task(only), {}, action("s", "update_context", broken))
    assert result.output == {}


@pytest.mark.parametrize(
    ("expr", "message", "expected"),
    [
        ("input.n = 3", None, None),
        ("input.n = 4", None, "input.n = 4 does not hold"),
        ("input.absent = 4", "there is no number", "there is no number"),
        ("null", None, "null does not hold"),
    ],
)
async def test_an_assertion_fails_unless_its_expression_holds(
    expr: str, message: str | None, expected: str | None
) -> None:
    """ACT-10: `ASSERTION_FAILED`, with the values that it looked at; NULL does not hold."""
    result = await run("assert", {"expr": expr, "message": message}, {"n": 3})
    if expected is None:
        assert result.status == "completed"
    else:
        assert result.error
        assert (result.error.code, result.error.message) == ("ASSERTION_FAILED", expected)
        values = {"input.n": 3} if "input.n" in expr else {}
        assert result.error.details == {"expr": expr, "values": values}


async def test_the_values_of_a_failed_assertion_are_shortened() -> None:
    """An error is no place for a megabyte."""
    result = await run("assert", {"expr": "input.text = 'x'"}, {"text": "y" * 100_000})
    assert result.error
    values: Any = result.error.details["values"]
    assert len(values["input.text"]) == 200


@pytest.mark.parametrize(("value", "number"), [(2.5, 2.5), ({"expr": "input.n * 2"}, 6.0), ({"expr": "true"}, 1.0)])
async def test_a_metric_reaches_the_result_with_its_dimensions(value: Any, number: float) -> None:
    """ACT-10: `emit_metric`; its dimensions are templates over the context."""
    implementation = {"metric_name": "orders", "value": value, "dimensions": {"country": "{{input.country}}"}}
    result = await run("emit_metric", implementation, {"n": 3, "country": "pt"})
    assert [(metric.name, metric.value, metric.dimensions) for metric in result.metrics] == [
        ("orders", number, {"country": "pt"})
    ]


@pytest.mark.parametrize("expr", ["'many'", "input.absent", "input.huge", "1e201", "-1e201"])
async def test_a_metric_that_is_no_number_fails_the_step(expr: str) -> None:
    """NULL, what no float can hold, and what could not be added up, too."""
    result = await run("emit_metric", {"metric_name": "m", "value": {"expr": expr}}, {"huge": 10**400})
    assert result.error
    assert result.error.code == "METRIC_NOT_NUMBER"
    assert result.metrics == ()


def test_lay_3_the_registry_knows_which_kinds_wait() -> None:
    """LAY-3: and each kind has the configuration that definitions are checked against."""
    kinds = {kind.kind: kind for kind in Bench().registry}
    assert {name for name, kind in kinds.items() if kind.carried_out == "waiting"} == {
        "human_input",
        "sleep",
        "wait_for_event",
        "workflow_call",
    }
    assert all(kind.configuration is KINDS.own[name].configuration for name, kind in kinds.items())


def test_act_8_two_kinds_of_one_name_are_refused() -> None:
    """ACT-8."""
    with pytest.raises(KindTaken, match="sleep"):
        Bench(kinds=(SleepKind(),))


class Theirs(SleepKind):
    """A kind of a package."""

    kind = "theirs"


def test_act_8_packages_are_looked_at_once_and_only_for_what_is_none_of_ours() -> None:
    """ACT-8"""
    asked: list[str] = []

    def announced() -> list[ActionKind]:
        asked.append("asked")
        return [Theirs()]

    kinds = ActionRegistry(equipment=Bench().equipment, announced=announced)
    assert kinds.kind("sleep") is kinds.kind("sleep")
    assert asked == []
    assert isinstance(kinds.kind("theirs"), Theirs)
    with pytest.raises(UnknownKind, match="python, read_artifact, read_file"):
        kinds.kind("nobodys")
    assert asked == ["asked"]


@pytest.mark.parametrize(
    ("found", "told"), [([Theirs(), SleepKind()], KindTaken), (BadKind("theirs", "it is broken"), BadKind)]
)
def test_act_8_a_package_that_cannot_be_used_harms_nobody_who_does_without_it(
    found: list[ActionKind] | BadKind, told: type[Exception]
) -> None:
    """ACT-8: and whoever needs it is told each time."""

    def announced() -> list[ActionKind]:
        if isinstance(found, BadKind):
            raise found
        return found

    kinds = ActionRegistry(equipment=Bench().equipment, announced=announced)
    for _ in range(2):
        with pytest.raises(told):
            kinds.kind("theirs")
    assert kinds.kind("sleep").kind == "sleep"


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), -1e201, True, "1"])
def test_a_metric_of_a_foreign_kind_is_a_number_that_can_be_added_up(value: Any) -> None:
    class Emitting:
        def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
            emit(Metric("m", value, {}))
            return context

    with pytest.raises(BadResult, match="the value of a metric is a number"):
        ForeignContextAction(Emitting(), "theirs").apply({"input": {}}, lambda metric: None)


def test_a_process_imports_no_kind_before_it_is_used() -> None:
    program = "import sys, wonder.app.engine; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in shown if name.startswith("wonder.actions.") and name.endswith((".kind", ".record"))] == []
    assert {"wonder.app.engine", "wonder.actions.registry"} <= set(shown)


class NoConfiguration(SleepKind):
    """A kind that says nothing of its implementation."""

    configuration = dict  # type: ignore[assignment]  # the point of the test


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("wonder.actions.sleep.declaration:Declaration", None),
        ("wonder.actions.sleep.declaration:Absent", "AttributeError"),
        ("wonder.actions.absent", "ModuleNotFoundError"),
        ("wonder.actions.protocol:ActionKind", "TypeError"),
        ("collections:OrderedDict", "is no ActionKind"),
        ("wonder.actions.waiting_kind:WaitingKind", "has no kind"),
        (f"{__name__}:NoConfiguration", "has no configuration"),
    ],
)
def test_act_8_a_package_announces_kinds(monkeypatch: pytest.MonkeyPatch, value: str, reason: str | None) -> None:
    """ACT-8: by entry points of the group `wonder.actions`."""
    point = importlib.metadata.EntryPoint("theirs", value, registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "wonder.actions" else [])
    if reason is None:
        (kind,) = announced_kinds()
        assert isinstance(kind, ActionKind)
    else:
        with pytest.raises(BadKind, match=reason):
            announced_kinds()
