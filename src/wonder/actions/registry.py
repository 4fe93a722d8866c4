"""The kinds of action at work: built-in ones, and those that installed packages announce (ACT-8)."""

import logging
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from wonder.actions.equipment import Equipment
from wonder.actions.errors import BadKind, KindTaken, UnknownKind
from wonder.actions.protocol import ActionKind
from wonder.actions.resources import NoSecrets, Secrets
from wonder.definitions.kinds import KINDS, Kind
from wonder.definitions.records.fields import Record

ENTRY_POINTS = "wonder.actions"

log = logging.getLogger("wonder.actions")


class ActionRegistry:
    """Kinds of action by name.

    Ours are made of the `equipment` when they are first asked for, and there are none without it; `announced` gives
    those of users' packages, and is called once, for a name that is not built in. Raises KindTaken.
    """

    def __init__(
        self,
        kinds: Iterable[Kind] = (),
        secrets: Secrets | None = None,
        *,
        equipment: Equipment | None = None,
        announced: Callable[[], Iterable[Kind]] = list,
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
        raise UnknownKind(name, sorted({*self._kinds, *(KINDS.own if self._equipment else ())}))

    def __iter__(self) -> Iterator[ActionKind]:
        """Give all kinds, ours made."""
        names = [*(KINDS.own if self._equipment else ()), *self._kinds]
        return iter([self.kind(name) for name in dict.fromkeys(names)])

    async def close(self) -> None:
        """Let every kind that was made go of what it keeps; one that fails does not keep the others from it."""
        for kind in list(self._kinds.values()):
            try:
                await kind.close()
            except Exception:
                log.exception("the kind of action %s can't be closed", kind.kind)

    def _own(self, name: str) -> ActionKind | None:
        if self._equipment is None or name not in KINDS.own:
            return None
        self._kinds[name] = made = at_work(KINDS.own[name], self._equipment)
        return made

    def _of_a_package(self, name: str) -> ActionKind | None:
        if not self._looked:
            self._kinds |= self._free(self._announced())
            self._looked = True
        return self._kinds.get(name)

    def _free(self, kinds: Iterable[Kind]) -> dict[str, ActionKind]:
        """Give kinds by their names, unless one is taken already; raises KindTaken."""
        found: dict[str, ActionKind] = {}
        for kind in kinds:
            name = kind.kind
            if there := found.get(name) or self._kinds.get(name) or self._own(name):
                raise KindTaken(name, type(there).__qualname__, type(kind).__qualname__)
            found[name] = at_work(kind, self._equipment)
        return found


def at_work(kind: Kind, equipment: Equipment | None) -> ActionKind:
    """Give what carries out a declared kind, which is itself unless it says otherwise; raises BadKind."""
    if isinstance(kind, ActionKind):
        # A package's, or one of ours that was made already.
        return kind
    assert kind.at_work is not None, "that it says so was checked when it was announced"
    module, _, name = kind.at_work.partition(":")
    try:
        working: type[ActionKind] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadKind(kind.kind, f"{type(error).__name__}: {error}") from error
    if not (isinstance(working, type) and issubclass(working, ActionKind)):
        raise BadKind(kind.kind, f"{kind.at_work} is no ActionKind")
    return working.made_with(equipment)


def announced_kinds() -> list[Kind]:
    """Load the kinds that installed packages announce; raises BadKind where one can't be used."""
    return [_load(point) for point in entry_points(group=ENTRY_POINTS)]


def _load(point: EntryPoint) -> Kind:
    try:
        loaded = point.load()
        kind = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:
        raise BadKind(point.name, f"{type(error).__name__}: {error}") from error
    if not isinstance(kind, ActionKind) and not (isinstance(kind, Kind) and kind.at_work):
        raise BadKind(point.name, f"{point.value} is no ActionKind")
    if not isinstance(getattr(kind, "kind", None), str):
        raise BadKind(point.name, f"{point.value} has no kind, the name that definitions call it by")
    configuration = getattr(kind, "configuration", None)
    if not (isinstance(configuration, type) and issubclass(configuration, Record)):
        raise BadKind(point.name, f"{point.value} has no configuration, the record that its implementation must fit")
    return kind
