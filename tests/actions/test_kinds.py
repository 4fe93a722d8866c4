"""One folder per kind of action: each is complete, passes what a package's kind must, and is named nowhere else."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any, Final

import pytest

import wonder.actions
from support.definitions import faults_in
from support.kinds import assert_conforms
from support.systems import bundle, running
from support.tasks import Bench
from wonder.actions.announcing import announce_kinds
from wonder.actions.registry import announced_kinds
from wonder.definitions.kinds import KINDS
from wonder.engine.waiting_tasks import _WAITS

SOURCE: Final = Path(wonder.actions.__file__).parents[1]
DOCS: Final = Path(__file__).parents[2] / "docs"

WAITS: Final = frozenset({"human_input", "sleep", "wait_for_event", "workflow_call"})
NAMED_ELSEWHERE: Final[dict[str, tuple[frozenset[str], str]]] = {
    "engine/": (
        WAITS | {"assert", "emit_metric", "update_context"},
        "the engine carries out what waits and what works on the workflow's context",
    ),
    "coordinator/": (WAITS, "what a token waits for is recorded under the name of the kind"),
    "checker/": (WAITS, "it reads what a token waits for, and shares no code"),
    "storage/runs/": (WAITS, "it reads what a token waits for"),
    "operations/": (WAITS, "they show what a token waits for"),
    "cli/": (WAITS, "it shows what a token waits for"),
    "phases/": (
        frozenset({"assert", "mcp_tool", "sleep", "transform", "update_context"}),
        "steps of the phase form become actions of these kinds",
    ),
    "definitions/file_form/json_schema.py": (frozenset({"sleep", "transform"}), "fields of a step in the phase form"),
    "app/phase_faults.py": (frozenset({"sleep"}), "a field of a step in the phase form"),
    "app/": (frozenset({"mcp_tool"}), "the sessions with MCP servers are asked for tools when a definition is checked"),
    "storage/sql/users": (frozenset({"workflow_call"}), "who calls a workflow, at which version"),
    "storage/sql/mcp_approvals.sql": (frozenset({"mcp_tool"}), "which servers a workflow may start"),
}
"""All places outside of their folders that may name kinds, and why."""


def _folder(kind: str) -> Path:
    return SOURCE / "actions" / (f"{kind}_" if kind == "assert" else kind)


def test_act_10_the_built_in_kinds_are_the_folders_that_have_a_declaration() -> None:
    """ACT-10"""
    folders = {place.parent for place in (SOURCE / "actions").rglob("declaration.py")}
    assert {_folder(name) for name in KINDS.own} == folders
    assert [KINDS.own[name].kind for name in KINDS.own] == sorted(KINDS.own)
    assert len(folders) == 18


@pytest.mark.parametrize("name", KINDS.own)
def test_act_10_a_folder_holds_all_of_its_kind(name: str) -> None:
    """ACT-10: its record, example and implementation; that of a kind that waits is the engine's."""
    kind, room = KINDS.own[name], f"wonder.actions.{_folder(name).name}"
    assert kind.configuration.__module__ == f"{room}.record"
    assert (_folder(name) / "example.yaml").is_file()
    assert kind.carried_out == "waiting" if kind.at_work is None else kind.at_work.startswith(f"{room}.kind:")


@pytest.mark.parametrize("name", KINDS.own)
def test_act_10_every_built_in_kind_conforms(name: str) -> None:
    """ACT-10"""
    assert_conforms(KINDS.own[name], Bench().equipment)


@pytest.mark.parametrize("name", KINDS.own)
def test_every_error_that_a_kind_raises_is_declared_and_documented(name: str) -> None:
    raised = re.compile(r'ActionFailed\(\s*"([A-Z0-9_]+)"')
    found = {code for file in _folder(name).glob("*.py") for code in raised.findall(file.read_text("utf-8"))}
    declared = set(KINDS.own[name].errors)
    assert found - {"ACTION_BROKEN", "EXTRA_MISSING"} <= declared, "those two are of any kind"
    pages = "".join((DOCS / "reference" / page).read_text("utf-8") for page in _PAGES)
    assert sorted(code for code in declared if f"`{code}`" not in pages) == []


_PAGES: Final = ("actions.md", "artifacts.md", "models.md", "../how-to/vectors.md", "../how-to/python.md")


def test_lay_3_the_engine_carries_out_the_kinds_that_wait_and_no_others() -> None:
    """LAY-3"""
    assert {name for name in KINDS.own if KINDS.waits(name)} == _WAITS.keys() == WAITS


def test_nothing_outside_of_its_folder_names_a_kind() -> None:
    """Whoever adds a kind touches its folder, its tests and its page."""
    found = {(file, name) for file, name in _named() if not _may_name(file, name)}
    assert found == set(), "ask what the kind declares (definitions/kinds.py), or say above why this place must know it"


def test_every_place_that_may_name_kinds_still_does() -> None:
    named = set(_named())
    of_rooms_to_come = {"operations/"}
    for place, (kinds, _) in NAMED_ELSEWHERE.items():
        assert place in of_rooms_to_come or any(file.startswith(place) and name in kinds for file, name in named), place


def _may_name(file: str, name: str) -> bool:
    return any(file.startswith(place) and name in kinds for place, (kinds, _) in NAMED_ELSEWHERE.items())


def _named() -> Iterator[tuple[str, str]]:
    """Give each file outside of the folders of kinds with each kind that it names, as a text of its own."""
    folders = [_folder(name) for name in KINDS.own]
    for file in SOURCE.rglob("*.py"):
        if not any(folder in file.parents for folder in folders):
            for part in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in KINDS.own:
                    yield file.relative_to(SOURCE).as_posix(), part.value
    for file in SOURCE.rglob("*.sql"):
        for text in re.findall(r"'(\w+)'", file.read_text("utf-8")):
            if text in KINDS.own:
                yield file.relative_to(SOURCE).as_posix(), text


@pytest.mark.parametrize("module", ["app.application", "app.engine", "app.schedules", "cli.files", "cli.schema"])
def test_every_process_that_reads_definitions_knows_the_built_in_kinds(module: str) -> None:
    program = f"import wonder.{module}; from wonder.definitions.kinds import KINDS; print(*KINDS.own)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.split() == list(KINDS.own)


def test_a_process_without_kinds_of_action_says_so() -> None:
    """Rather than take a sleep for a task."""
    program = "from wonder.definitions.kinds import KINDS; KINDS.waits('sleep')"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr
    assert "no kind of action is announced here: import wonder.actions" in told


DECLARATION = '''
from collections.abc import Iterator
from typing import ClassVar

from wonder.definitions.checks.texts import check_template
from wonder.definitions.kinds import TEXT, Kind, object_of
from wonder.definitions.records.fields import Identifier, Record


class Letter(Record):
    """What a letter takes."""

    prompt: Identifier
    address: str


class LetterKind(Kind):
    """Sends a letter."""

    kind = "acme_letter"
    configuration = Letter
    gives = "{sent}"
    errors = ("NO_STAMP",)
    references: ClassVar = {"prompt": "prompt"}
    at_work = "acme_letters.sending:SendingKind"

    def check(self, implementation, path, findings):
        check_template(implementation.address, (*path, "address"), findings)

    def templates(self, implementation):
        yield ("address",), implementation.address

    def output_schema(self, implementation, named):
        return object_of(sent=TEXT)
'''
SENDING = """
from wonder.actions.protocol import ActionFailed, ActionKind

from acme_letters.letters import LetterKind


class SendingKind(LetterKind, ActionKind):
    def compile(self, action, use):
        return Sending(self.read(action))


class Sending:
    def __init__(self, configured):
        self.configured = configured

    async def run(self, input, context):
        if "stamp" not in input:
            raise ActionFailed("NO_STAMP", "a letter needs a stamp; give one")
        return {"sent": self.configured.prompt}
"""
EXAMPLE = """
workflow:
  name: write
  initial_node: write
  nodes:
    write:
      action: {kind: acme_letter, implementation: {prompt: greeting, address: "{{street}} 1"}}
      input_mapping: {street: $.input.street, stamp: red}
      output_mapping: {output.sent: $.sent}
prompts:
  greeting: {template: "Dear {{name}}", requires: {type: object, properties: {name: {type: string}}}}
"""


@pytest.fixture
def letters(tmp_path: Path) -> Iterator[None]:
    """A package in several modules that adds a kind, installed as pip does."""
    folder = tmp_path / "site-of-letters"
    package, info = folder / "acme_letters", folder / "acme_letters-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "letters.py").write_text(DECLARATION)
    (package / "sending.py").write_text(SENDING)
    (package / "example.yaml").write_text(EXAMPLE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-letters\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wonder.actions]\nletter = acme_letters.letters:LetterKind\n")
    sys.path.insert(0, str(folder))
    invalidate_caches()
    announce_kinds()
    yield
    sys.path.remove(str(folder))
    for module in [name for name in sys.modules if name.partition(".")[0] == "acme_letters"]:
        del sys.modules[module]
    invalidate_caches()
    KINDS.discover_by(dict)


@pytest.mark.usefixtures("letters")
def test_act_8_a_kind_of_a_package_conforms_like_the_built_in_ones() -> None:
    """ACT-8: through the same declaration, and its code is imported only when it is carried out."""
    (kind,) = announced_kinds()
    assert "acme_letters.sending" not in sys.modules
    assert_conforms(kind, None)
    assert "acme_letters.sending" in sys.modules


def letter(**implementation: Any) -> dict[str, Any]:
    """A workflow with a letter."""
    action = {"kind": "acme_letter", "implementation": {"prompt": "greeting", "address": "here", **implementation}}
    mappings = {
        "input_mapping": {"street": "$.input.street", "stamp": "red"},
        "output_mapping": {"output.sent": "$.sent"},
    }
    return bundle("write", {"write": {"action": action, **mappings}}) | {"prompts": {"greeting": {"template": "Hi"}}}


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize(
    ("implementation", "code", "where"),
    [
        ({"prompt": "absent"}, "missing_ref", ("implementation", "prompt")),
        ({"address": "{{street"}, "template_syntax", ("implementation", "address")),
        ({"address": "{{stret}}"}, "unknown_variable", ("implementation", "address")),
    ],
)
def test_act_8_what_a_package_declares_is_checked_at_creation(
    implementation: dict[str, Any], code: str, where: tuple[str, ...]
) -> None:
    """ACT-8: the records that it names, its templates and their variables, as those of built-in kinds."""
    assert faults_in(letter()) == []
    (fault,) = faults_in(letter(**implementation))
    assert (fault.code, fault.path[-2:]) == (code, where)


@pytest.mark.usefixtures("letters")
async def test_act_8_a_package_is_given_the_id_of_what_it_names(store_url: str) -> None:
    """ACT-8: as a built-in kind is; and its output is known to the node that reads it."""
    async with running(store_url) as wonder:
        await wonder.deploy(letter())
        result = await (await wonder.start("write", {"street": "x"})).wait()
    assert result.status == "completed"
    assert isinstance(result.output, dict)
    assert re.fullmatch(r"[0-9A-Z]{26}", str(result.output["sent"]))
    wrong = letter()
    wrong["workflow"]["nodes"]["write"]["output_mapping"] = {"output.sent": "$.snt"}
    assert [fault.path[-1] for fault in faults_in(wrong)] == ["output.sent"]
