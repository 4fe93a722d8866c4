"""Databases: one with its tables and a definition in it, made once and copied for each simulation."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from simulation.definitions import (
    EVENTS,
    INPUT,
    Events,
    pattern_of,
    random_definition,
    sample_definition,
    sample_events,
)
from simulation.schedules import CATCH_UPS, OVERLAPS, random_schedules
from simulation.store import DirectStore, at_once, open_connection
from simulation.world import World
from wonder.definitions.loading import Loaded
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.definitions.records.workflows import Workflow
from wonder.language.values import JsonValue
from wonder.storage.catalog import load_catalog
from wonder.storage.deploying import deploy_bundle
from wonder.storage.migrate import migrate
from wonder.storage.named_resources import find_resource
from wonder.storage.store import NewId
from wonder.storage.tenancy import Home, ensure_default, put_project_settings

_KEPT: Final = 8
CONSTRUCTS: Final = {
    "join all": r"strategy='all'",
    "join any": r"strategy='any'",
    "join m of n": r"m_of_n=\d",
    "join without merge": r"sibling_group='\w+', merge=None",
    "early: cancel": r"strategy=(?!'all').{1,200}on_early_complete='cancel'",
    "early: abandon": r"strategy=(?!'all').{1,200}on_early_complete='abandon'",
    "join time-out: fail": r"timeout_ms=\d+, on_timeout='fail'",
    "join time-out: proceed": r"on_timeout='proceed_with_available'",
    **{f"merge {name}": rf"strategy='{name}'" for name in ("append", "keyed_by_branch", "merge_object", "last_wins")},
    "foreach": r"foreach=Foreach",
    "max_parallel": r"max_parallel=\d",
    "spawn_count": r"spawn_count=\d",
    "loop": r"loop_config=LoopConfig",
    "error route": r"_last_error",
    "gate": r"timeout_ms=\d+, on_timeout='human_gate'",
    **{f"kind {name}": rf"'{name}'" for name in ("human_input", "sleep", "wait_for_event", "workflow_call", "assert")},
    "task retry": r"retry=Retry\(",
    "action retry": r"retry_policy=RetryPolicy",
    "idempotency key": r"key_template=",
    **{f"overlap {name}": rf"overlap='{name}'" for name in OVERLAPS},
    **{f"catch-up {name}": rf"catch_up='{name}'" for name in CATCH_UPS},
}
"""What docs/rules/control-flow.md has, and how it looks in a definition."""
_NOW: Final = "2027-01-15T08:00:00.000000Z"


@dataclass(frozen=True)
class Template:
    """A database as it is before anything has run."""

    content: bytes
    home: Home
    workflow: Workflow
    input: JsonValue
    events: Events
    """Names and keys of the events that its workflows wait for."""
    constructs: tuple[str, ...]
    refs: dict[str, str]
    """The names of all nodes, by their ids."""
    schedules: dict[str, Any]
    """Its schedules as a file has them, by name."""


# Processes die here as often as the seed says, and no run is to blame.
_LIMITS: dict[str, Any] = {"deaths": None}


class Templates:
    """Makes databases, and keeps the last ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: OrderedDict[tuple[int | str, ...], Template] = OrderedDict()
        self._empty: bytes | None = None

    def get(self, seed: int, nodes_max: int, *, queues: bool) -> Template:
        """Give the database for a definition's seed, which may be the one of a pattern sample."""
        settings: dict[str, Any] = {"snapshot_policy": {"every_events": 20}, "call_depth_max": 4, "foreach_limit": 100}
        settings["run_limits"] = _LIMITS
        if queues:
            settings["rate_limits"] = {"max_concurrent_runs": 1}
        if (number := pattern_of(seed)) is not None:
            return self._keep(
                ("sample", number, queues),
                lambda: self._make(sample_definition(number), {}, sample_events(number), settings),
            )
        return self._keep(
            ("random", seed, nodes_max, queues),
            lambda: self._make(random_definition(seed, nodes_max), INPUT, EVENTS, settings, random_schedules(seed)),
        )

    def get_played(self, pattern: int) -> Template:
        """Give the database in which a pattern sample is played."""
        settings = {"snapshot_policy": {"every_events": 20}, "run_limits": _LIMITS}
        return self._keep(("played", pattern), lambda: self._make(sample_definition(pattern), {}, (), settings))

    def _keep(self, key: tuple[int | str, ...], make: Callable[[], Template]) -> Template:
        if key not in self._kept:
            self._kept[key] = make()
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _make(
        self,
        loaded: Loaded,
        input: JsonValue,
        events: Events,
        settings: dict[str, Any],
        schedules: dict[str, Any] | None = None,
    ) -> Template:
        path = self._folder / "template.db"
        for old in self._folder.glob("template.db*"):
            old.unlink()
        if self._empty is not None:
            path.write_bytes(self._empty)
        connection = open_connection(path)
        store = DirectStore(path, connection)
        if self._empty is None:
            at_once(migrate(store, clock=lambda: _NOW))
            self._empty = connection.serialize("main")
        # Ids as the simulation makes them, only later ones: no two may be the same.
        ids = World(0, ())

        def new_id() -> str:
            return "7" + ids.new_id()[1:]

        home = at_once(ensure_default(store, clock=lambda: _NOW, new_id=new_id))
        workflow = at_once(_deploy(store, loaded, home, new_id, settings))
        refs = {str(id): str(ref) for id, ref in at_once(store.query("SELECT id, ref FROM nodes"))}
        content = connection.serialize("main")
        connection.close()
        written = repr(loaded.reading.bundle)
        constructs = tuple(name for name, pattern in CONSTRUCTS.items() if re.search(pattern, written))
        return Template(content, home, workflow, input, events, constructs, refs, schedules or {})


async def _deploy(store: DirectStore, loaded: Loaded, home: Home, new_id: NewId, settings: dict[str, Any]) -> Workflow:
    catalog = await load_catalog(store, home.project_id, loaded.references)
    bundle, _ = loaded.bundle(catalog)
    deployed = await deploy_bundle(store, bundle, catalog, home, clock=lambda: _NOW, new_id=new_id)
    async with store.transaction() as transaction:
        await put_project_settings(transaction, home.project_id, ProjectSettings.model_validate(settings))
    assert deployed.main
    found = await find_resource(store, Workflow, home.project_id, deployed.main.name)
    assert found
    return found
