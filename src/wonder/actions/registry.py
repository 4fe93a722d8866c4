"""The kinds of action that there are here: ours, and those that a user's packages announce (ACT-8)."""

import logging
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from wonder.actions.equipment import Equipment
from wonder.actions.errors import BadKind, KindTaken, UnknownKind
from wonder.actions.protocol import ActionKind
from wonder.actions.resources import NoSecrets, Secrets
from wonder.definitions.records.fields import Record

ENTRY_POINTS = "wonder.actions"

# Where each of our kinds is, and what of the equipment it is made with. Its module is imported when a task or workflow
# first uses it: most processes use few of them, and each brings what it works with.
_OWN: Final[dict[str, tuple[str, str, Callable[[Equipment], tuple[Any, ...]]]]] = {
    "python": ("python", "PythonKind", lambda given: (given.functions, given.threads)),
    "update_context": ("updating", "UpdateContextKind", lambda _: ()),
    "assert": ("asserting", "AssertKind", lambda _: ()),
    "emit_metric": ("metrics", "EmitMetricKind", lambda _: ()),
    "human_input": ("waiting", "HumanInputKind", lambda _: ()),
    "sleep": ("waiting", "SleepKind", lambda _: ()),
    "wait_for_event": ("waiting", "WaitForEventKind", lambda _: ()),
    "workflow_call": ("waiting", "WorkflowCallKind", lambda _: ()),
    "mcp_tool": ("mcp_tool", "McpToolKind", lambda given: (given,)),
    "write_artifact": ("write_artifact", "WriteArtifactKind", lambda given: (given.resources, given.artifacts)),
    "shell_command": ("shell_command", "ShellCommandKind", lambda given: (given.resources, given.artifacts)),
    "read_file": ("read_file", "ReadFileKind", lambda given: (given.resources, given.threads)),
    "write_file": ("write_file", "WriteFileKind", lambda given: (given.resources, given.threads)),
    "http_request": (
        "http_request",
        "HttpRequestKind",
        lambda given: (given.resources, given.now_ms, given.artifacts),
    ),
    "llm_call": ("llm_call", "LlmCallKind", lambda given: (given, given.spending)),
    "vector_search": ("vector_search", "VectorSearchKind", lambda given: (given.resources, given.searching)),
    "transform": ("transform", "TransformKind", lambda given: (given.transforms,)),
}

log = logging.getLogger("wonder.actions")


class ActionRegistry:
    """Kinds of action by name.

    Ours are made of the `equipment` when they are first asked for, and there are none without it; `announced` gives
    those of users' packages, and is asked once, for a name that is none of ours. Raises KindTaken.
    """

    def __init__(
        self,
        kinds: Iterable[ActionKind] = (),
        secrets: Secrets | None = None,
        *,
        equipment: Equipment | None = None,
        announced: Callable[[], Iterable[ActionKind]] = list,
    ) -> None:
        self.secrets: Secrets = secrets or NoSecrets()
        """Those that actions of users' kinds may use; ours know where theirs are."""
        self._equipment, self._announced = equipment, announced
        self._looked = False
        self._kinds: dict[str, ActionKind] = {}
        self._kinds |= self._free(kinds)

    def kind(self, name: str) -> ActionKind:
        """Return a kind; raises UnknownKind, and for one of a package also BadKind and KindTaken."""
        if found := self._kinds.get(name) or self._own(name) or self._of_a_package(name):
            return found
        raise UnknownKind(name, sorted({*self._kinds, *(_OWN if self._equipment else ())}))

    def __iter__(self) -> Iterator[ActionKind]:
        """Give all kinds, ours made."""
        names = [*(_OWN if self._equipment else ()), *self._kinds]
        return iter([self.kind(name) for name in dict.fromkeys(names)])

    async def close(self) -> None:
        """Let every kind that was made go of what it keeps; one that fails does not keep the others from it."""
        for kind in list(self._kinds.values()):
            try:
                await kind.close()
            except Exception:
                log.exception("the kind of action %s can't be closed", kind.kind)

    def _own(self, name: str) -> ActionKind | None:
        if self._equipment is None or name not in _OWN:
            return None
        module, class_name, needs = _OWN[name]
        made: ActionKind = getattr(import_module(f"wonder.actions.{module}"), class_name)(*needs(self._equipment))
        self._kinds[name] = made
        return made

    def _of_a_package(self, name: str) -> ActionKind | None:
        if not self._looked:
            self._kinds |= self._free(self._announced())
            self._looked = True
        return self._kinds.get(name)

    def _free(self, kinds: Iterable[ActionKind]) -> dict[str, ActionKind]:
        """Give kinds by their names, unless one is taken already; raises KindTaken."""
        found: dict[str, ActionKind] = {}
        for kind in kinds:
            name = kind.kind
            if there := found.get(name) or self._kinds.get(name) or self._own(name):
                raise KindTaken(name, type(there).__qualname__, type(kind).__qualname__)
            found[name] = kind
        return found


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
