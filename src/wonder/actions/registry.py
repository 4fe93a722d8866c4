"""The kinds of action that there are here: ours, and those that a user's packages announce (ACT-8)."""

import logging
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points

from wonder.actions.asserting import AssertKind
from wonder.actions.equipment import Equipment
from wonder.actions.errors import BadKind, KindTaken, UnknownKind
from wonder.actions.http_request import HttpRequestKind
from wonder.actions.llm_call import LlmCallKind
from wonder.actions.mcp_tool import McpToolKind
from wonder.actions.metrics import EmitMetricKind
from wonder.actions.protocol import ActionKind
from wonder.actions.python import PythonKind
from wonder.actions.read_file import ReadFileKind
from wonder.actions.resources import NoSecrets, Secrets
from wonder.actions.shell_command import ShellCommandKind
from wonder.actions.transform import TransformKind
from wonder.actions.updating import UpdateContextKind
from wonder.actions.vector_search import VectorSearchKind
from wonder.actions.waiting import HumanInputKind, SleepKind, WaitForEventKind, WorkflowCallKind
from wonder.actions.write_artifact import WriteArtifactKind
from wonder.actions.write_file import WriteFileKind
from wonder.definitions.records.fields import Record

ENTRY_POINTS = "wonder.actions"

log = logging.getLogger("wonder.actions")


class ActionRegistry:
    """Kinds of action by name."""

    def __init__(self, kinds: Iterable[ActionKind] = (), secrets: Secrets | None = None) -> None:
        self.secrets: Secrets = secrets or NoSecrets()
        """Those that actions of users' kinds may use; ours know where theirs are."""
        self._kinds: dict[str, ActionKind] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: ActionKind) -> None:
        """Add a kind; raises KindTaken."""
        if there := self._kinds.get(kind.kind):
            raise KindTaken(kind.kind, type(there).__qualname__, type(kind).__qualname__)
        self._kinds[kind.kind] = kind

    def kind(self, name: str) -> ActionKind:
        """Return a kind; raises UnknownKind."""
        try:
            return self._kinds[name]
        except KeyError:
            raise UnknownKind(name, sorted(self._kinds)) from None

    def __iter__(self) -> Iterator[ActionKind]:
        return iter(self._kinds.values())

    async def close(self) -> None:
        """Let every kind go of what it keeps; one that fails does not keep the others from it."""
        for kind in self:
            try:
                await kind.close()
            except Exception:
                log.exception("the kind of action %s can't be closed", kind.kind)


def own_kinds(equipment: Equipment) -> list[ActionKind]:
    """Return the kinds that come with Wonder."""
    return [
        PythonKind(equipment.functions, equipment.threads),
        UpdateContextKind(),
        AssertKind(),
        EmitMetricKind(),
        HumanInputKind(),
        SleepKind(),
        WaitForEventKind(),
        WorkflowCallKind(),
        McpToolKind(equipment),
        WriteArtifactKind(equipment.resources, equipment.artifacts),
        ShellCommandKind(equipment.resources, equipment.artifacts),
        ReadFileKind(equipment.resources, equipment.threads),
        WriteFileKind(equipment.resources, equipment.threads),
        HttpRequestKind(equipment.resources, equipment.now_ms, equipment.artifacts),
        LlmCallKind(equipment, equipment.spending),
        VectorSearchKind(equipment.resources, equipment.searching),
        TransformKind(equipment.transforms),
    ]


def announced_kinds() -> list[ActionKind]:
    """Load the kinds that installed packages announce; raises BadKind where one can't be used."""
    return [_load(point) for point in entry_points(group=ENTRY_POINTS)]


def _load(point: EntryPoint) -> ActionKind:
    try:
        loaded = point.load()
        kind = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise BadKind(point.name, f"{type(error).__name__}: {error}") from error
    if not isinstance(kind, ActionKind):
        raise BadKind(point.name, f"{point.value} is no ActionKind")
    if not isinstance(getattr(kind, "kind", None), str):
        raise BadKind(point.name, f"{point.value} has no kind, the name that definitions call it by")
    configuration = getattr(kind, "configuration", None)
    if not (isinstance(configuration, type) and issubclass(configuration, Record)):
        raise BadKind(point.name, f"{point.value} has no configuration, the record that its implementation must fit")
    return kind
