"""Declares operations: a function over an application becomes a record that every door can read.

@operation("runs.cancel", role="operator", changes=True, needs_engine=True)
async def cancel_run(application: Application, given: CancelRun) -> RunSummary:
    \"\"\"End a run with all that is live in it.\"\"\"
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from inspect import getdoc, signature
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec import Struct

from wonder.app.application import Application
from wonder.app.callers import ROLES as ROLES
from wonder.app.callers import Caller, Reach, local_caller
from wonder.app.callers import Role as Role
from wonder.app.remote import Remote
from wonder.errors import WonderError
from wonder.language.values import BadValue, JsonValue, check_value
from wonder.operations.auditing import Recording, recording_at
from wonder.operations.permitting import Needs, check_caller

_INTEGER_END = 2**63

Given = TypeVar("Given")
Result = TypeVar("Result")


class Place(Struct, frozen=True):
    """Where a database is, for what is asked of a database that need not be open, whole or up to date."""

    url: str
    objects_url: str | None = None
    """Where the content of artifacts is; beside the database where it is not said."""
    caller: Caller | None = None
    """Who asks, where a door knows it."""
    remote: Remote | None = None
    """The server that has the database, if it is not here."""


def local_place(url: str, objects_url: str | None = None) -> Place:
    """Give where a database is, for who uses this machine from a shell."""
    return Place(url, objects_url, local_caller())


def place_of(application: Application) -> Place:
    """Give where an open database is, as its caller asks for it."""
    return Place(application.url, application.objects_url, application.caller, application.remote)


class Input(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operation is given; a field that it does not have is refused."""

    unaudited: ClassVar[frozenset[str]] = frozenset()
    """Fields that the audit log leaves out: secrets, and what is stored elsewhere (KEY-5)."""

    @property
    def needs(self) -> Needs:
        """What this input needs of its caller, beyond what its operation needs of everybody."""
        return Needs()


class NoInput(Input, frozen=True):
    """What an operation is given that needs to know nothing."""


class InputNotAccepted(WonderError):
    """What an operation was given does not fit its input."""

    code = "INPUT_NOT_ACCEPTED"

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(f"the input of {operation} is not accepted: {reason}")
        self.operation, self.reason = operation, reason


@dataclass(frozen=True)
class Declared(Generic[Given, Result]):
    """One thing that can be asked for, as its declaration says."""

    name: str
    """Noun and verb: `runs.cancel`."""
    sentence: str
    role: Role
    """The least role that may ask for it."""
    changes: bool
    """Whether it changes anything."""
    needs_engine: bool
    """Whether the application must have been opened with an engine, here or in another process."""
    reach: Reach
    """How far a caller must reach at least: a project, its workspace, or the whole server."""
    input: type[Given]
    output: type[Result]
    """What it returns; of a stream, what one of its items is."""

    def allows(self, role: Role) -> bool:
        """Say whether somebody with this role may ask for it."""
        return ROLES.index(role) >= ROLES.index(self.role)

    def read(self, given: JsonValue) -> Given:
        """Read its input from JSON; raises InputNotAccepted."""
        try:
            # Checked first: msgspec accepts strings and numbers that JSON does not have.
            read = msgspec.convert(check_value(given), self.input)
        except (BadValue, msgspec.ValidationError) as error:
            raise InputNotAccepted(self.name, str(error)) from None
        for key in _integers(self.input):
            value = getattr(read, key)
            if isinstance(value, int) and not -_INTEGER_END <= value < _INTEGER_END:
                raise InputNotAccepted(self.name, f"{key} does not fit into 64 bits")
        return read

    def schemas(self) -> dict[str, Any]:
        """Give the JSON Schemas of its input and its output, with the definitions that they share."""
        (given, result), definitions = msgspec.json.schema_components((self.input, self.output))
        return {"input": given, "output": result, "$defs": definitions}


@dataclass(frozen=True)
class Operation(Declared[Given, Result]):
    """Something that is asked for and gives one value. Called with an application and its input, it does it."""

    function: Callable[[Application, Given], Awaitable[Result]]
    notes_itself: bool = False
    """Whether it appends to the audit log itself when it succeeds, in the same commit as what it changes."""

    async def __call__(self, application: Application, given: Given) -> Result:
        """Do it, and append what a caller has changed to the audit log; raises NotAllowed if the caller may not."""
        if application.remote is not None:
            return cast("Result", await application.remote.ask(self, given))
        caller = application.caller
        if caller is None:
            return await self.function(application, given)
        if not self.changes:
            check_caller(caller, self, given)
            return await self.function(application, given)
        call = Recording(caller, application.home, self, given, application.store.commit)
        try:
            check_caller(caller, self, given)
            result = await self.function(application, given)
            if not self.notes_itself:
                await call.success(result)
        except BaseException as error:
            await call.failure(error)
            raise
        return result


@dataclass(frozen=True)
class Stream(Declared[Given, Result]):
    """Something that is asked for and gives item after item, so that a long list needs no memory."""

    function: Callable[[Application, Given], AsyncIterator[Result]]

    def __call__(self, application: Application, given: Given) -> AsyncIterator[Result]:
        """Give the items; raises NotAllowed if the caller may not ask for them."""
        if application.remote is not None:
            return application.remote.items(self, given)
        if application.caller is not None:
            check_caller(application.caller, self, given)
        return self.function(application, given)


@dataclass(frozen=True)
class DatabaseOperation(Declared[Given, Result]):
    """Something that is asked of a database itself, whole or not; an operator does it, beside or before an engine."""

    function: Callable[[Place, Given], Awaitable[Result]]
    notes_itself: bool = False
    """As of an operation: where a command calls what is below it."""

    async def __call__(self, place: Place, given: Given) -> Result:
        """Do it; raises NotAllowed if the caller may not ask for it."""
        if place.remote is not None:
            return cast("Result", await place.remote.ask(self, given))
        if place.caller is None:
            return await self.function(place, given)
        check_caller(place.caller, self, given)
        if not self.changes:
            return await self.function(place, given)
        async with recording_at(place.url, place.caller, self, given) as call:
            result = await self.function(place, given)
            if not self.notes_itself:
                await call.success(result)
        return result


def _integers(form: type[Any]) -> tuple[str, ...]:
    """Give the fields that are integers: Python's have no end, and those of databases and messages do."""
    return tuple(one.name for one in msgspec.structs.fields(form) if int in (one.type, *get_args(one.type)))


_DECLARED: dict[str, Declared[Any, Any]] = {}


def operation(
    name: str,
    *,
    role: Role,
    changes: bool = False,
    needs_engine: bool = False,
    reach: Reach = "project",
    notes_itself: bool = False,
) -> Callable[[Callable[[Application, Given], Awaitable[Result]]], Operation[Given, Result]]:
    """Declare a function as an operation; the first line of its docstring says what it does."""

    def declare(function: Callable[[Application, Given], Awaitable[Result]]) -> Operation[Given, Result]:
        given, result = _types(function)
        made = Operation(
            name, _sentence(function), role, changes, needs_engine, reach, given, result, function, notes_itself
        )
        return _note(made)

    return declare


def stream(
    name: str, *, role: Role
) -> Callable[[Callable[[Application, Given], AsyncIterator[Result]]], Stream[Given, Result]]:
    """Declare a function that yields items as something that can be asked for."""

    def declare(function: Callable[[Application, Given], AsyncIterator[Result]]) -> Stream[Given, Result]:
        given, result = _types(function)
        made = Stream(name, _sentence(function), role, False, False, "project", given, get_args(result)[0], function)
        return _note(made)

    return declare


def database_operation(
    name: str, *, role: Role, changes: bool = False, notes_itself: bool = False
) -> Callable[[Callable[[Place, Given], Awaitable[Result]]], DatabaseOperation[Given, Result]]:
    """Declare a function as an operation on a database."""

    def declare(function: Callable[[Place, Given], Awaitable[Result]]) -> DatabaseOperation[Given, Result]:
        given, result = _types(function)
        of = (given, result, function, notes_itself)
        return _note(DatabaseOperation(name, _sentence(function), role, changes, False, "server", *of))

    return declare


def declared() -> dict[str, Declared[Any, Any]]:
    """Give what all modules that were imported so far declare, by name."""
    return dict(_DECLARED)


def _types(function: Callable[..., Any]) -> tuple[Any, Any]:
    types = get_type_hints(function)
    _, given = signature(function).parameters
    return types[given], types["return"]


def _sentence(function: Callable[..., Any]) -> str:
    return (getdoc(function) or "").partition("\n")[0]


AnyDeclared = TypeVar("AnyDeclared", bound=Declared[Any, Any])


def _note(made: AnyDeclared) -> AnyDeclared:
    assert made.name not in _DECLARED, f"{made.name} is declared twice"
    _DECLARED[made.name] = made
    return made
