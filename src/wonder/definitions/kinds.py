"""The kinds of action that definitions may name, and what each declares about itself (ACT-8, ACT-10).

Kinds are in a room above this one, or in a package of somebody's own. They are announced here, built-in ones and those
of packages alike, and are asked for what definitions, the engine and the guide must know of them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError

from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.fields import Record
from wonder.definitions.references import ResourceKind
from wonder.definitions.secret_scopes import Destination
from wonder.language.schemas import Schema
from wonder.language.values import JsonValue

ANYTHING: Schema = {}
NOTHING: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
TEXT: Schema = {"type": "string"}
WHOLE_NUMBER: Schema = {"type": "integer"}


def object_of(**properties: Schema) -> Schema:
    """Give the schema of an object with these properties and perhaps others."""
    return {"type": "object", "properties": dict(properties)}


Named: TypeAlias = Callable[[ResourceKind], Any]
"""Gives the record that an action names, by what it is (`prompt`); None where that is not known."""


class Assignment(NamedTuple):
    """What an action assigns in the context; its `path` and `expr` are at `place` in the implementation."""

    place: Path
    target: str
    expr: JsonValue


class Kind:
    """The declaration of one kind of action: all that there is to know of it but how it is carried out.

    Places are paths in the implementation. What is not overridden says that the kind has nothing of that sort.
    """

    kind: ClassVar[str]
    """The name that definitions call it by."""
    configuration: ClassVar[type[Record]]
    """The record that the implementation of an action must fit."""
    summary: ClassVar[str] = ""
    """What it does, in a few words; otherwise the first sentence of the docstring."""
    gives: ClassVar[str] = "what its package says"
    """What its output is, in words."""
    example: ClassVar[str] = ""
    """A whole definition file; otherwise `example.yaml` in the folder of its module."""
    errors: ClassVar[tuple[str, ...]] = ()
    """The codes of the errors that are its own, besides those that any kind can give."""
    carried_out: ClassVar[Literal["acting", "on_context", "waiting"]] = "acting"
    """`acting` and `on_context` are run by an executor; `waiting` by the coordinator, durably (LAY-3)."""
    pure: ClassVar[bool] = False
    """Whether it only computes something out of its input: done again, it gives the same and changes nothing."""
    evaluates: ClassVar[bool] = True
    """Whether it evaluates templates or the like of its author's while it is carried out, which is counted."""
    no_idempotency: ClassVar[str] = ""
    """Where an idempotency key can mean nothing: what to do in its place."""
    scoped: ClassVar[bool] = False
    """Whether its field `scope` says on whose context it works, the workflow's or the task's (FIL-2)."""
    references: ClassVar[Mapping[str, ResourceKind]] = {}
    """The fields that name another record, and what that is."""
    schema_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that hold a JSON Schema."""
    typescript_field: ClassVar[str | None] = None
    """The field that holds TypeScript, which is compiled before a definition is stored."""
    function_field: ClassVar[str | None] = None
    """The field that names a Python function, called with the input as keyword arguments."""
    at_work: ClassVar[str | None] = None
    """`module:class` of the ActionKind that carries it out, imported when it is first needed; None if this is it."""

    def check(self, implementation: Any, path: Path, findings: Findings) -> None:
        """Note what is wrong with an implementation, which stands at `path`, wherever its action is used."""

    def input_schema(self, implementation: Any, named: Named) -> Schema:
        """Say what an action takes that does not say so itself; the implementation is None if it can't be read."""
        return ANYTHING

    def output_schema(self, implementation: Any, named: Named) -> Schema:
        """Say what an action gives that does not say so itself; the implementation is None if it can't be read."""
        return ANYTHING

    def templates(self, implementation: Any) -> Iterable[tuple[Path, str | None]]:
        """Give the templates: over the input, or over the context if the kind works on that."""
        return ()

    def expressions(self, implementation: Any) -> Iterable[tuple[Path, str]]:
        """Give the expressions over the context that it works on."""
        return ()

    def assignments(self, implementation: Any) -> Iterable[Assignment]:
        """Give what it assigns in the context that it works on."""
        return ()

    def context_paths(self, implementation: Any) -> Iterable[tuple[Path, str]]:
        """Give the paths that are read out of the workflow's context, beside the input."""
        return ()

    def lasts_ms(self, implementation: Any) -> int | None:
        """Say how long it takes, if that is known."""
        return None

    def secrets_go_to(self, implementation: Any) -> Destination | None:
        """Say where the secrets in its fields go; None where that is known only when it runs."""
        return Destination("kind", self.kind)


Announced: TypeAlias = Mapping[str, Kind]


class Kinds:
    """Kinds of action by name."""

    def __init__(self) -> None:
        self._own: Announced = {}
        self._discover: Callable[[], Announced] = dict
        self._announced: Announced | None = None

    @property
    def own(self) -> Announced:
        """The built-in kinds, which importing `wonder.actions` announces."""
        # Without them a sleep would be taken for a task, and every kind of a definition for a mistake of its author's.
        assert self._own, "no kind of action is announced here: import wonder.actions"
        return self._own

    @own.setter
    def own(self, kinds: Announced) -> None:
        self._own = kinds

    def discover_by(self, discover: Callable[[], Announced]) -> None:
        """Ask this for the kinds of packages, once, when a name is met that is not built in."""
        self._discover, self._announced = discover, None

    @property
    def announced(self) -> Announced:
        """The kinds of packages; one that has the name of a built-in one does not count."""
        if self._announced is None:
            self._announced = {name: kind for name, kind in self._discover().items() if name not in self.own}
        return self._announced

    def find(self, name: str) -> Kind | None:
        """Return a kind; None if there is none of this name here."""
        return self.own.get(name) or self.announced.get(name)

    def waits(self, name: str) -> bool:
        """Say whether the coordinator carries out a kind, as a durable wait (LAY-3)."""
        kind = self.own.get(name)
        return kind is not None and kind.carried_out == "waiting"

    def names(self) -> list[str]:
        """List all kinds, built-in ones first."""
        return [*self.own, *sorted(self.announced)]


KINDS = Kinds()
"""Those of this process. Looking for packages is for who wires the parts together: no file is touched here."""


def _check_kind(kind: str) -> str:
    if KINDS.find(kind) is None:
        *most, last = (f"'{name}'" for name in KINDS.names())
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(most)} or {last}"})
    return kind


KnownKind = Annotated[str, Field(max_length=200), AfterValidator(_check_kind)]
"""The name of a kind that is there."""
