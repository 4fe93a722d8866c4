"""`python`: a function of the user's own, called with the input as keyword arguments."""

import asyncio
from contextvars import copy_context
from types import CoroutineType
from typing import Any

from wonder.actions.context import CURRENT
from wonder.actions.copied_values import copy_value, take_value
from wonder.actions.equipment import Equipment
from wonder.actions.errors import BadResult, FunctionMissing
from wonder.actions.exceptions import failure_of
from wonder.actions.functions.functions import Function, FunctionRegistry
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.python.declaration import Declaration
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads
from wonder.definitions.records.actions import ActionDef
from wonder.language.values import BadValue, JsonValue


def current_context() -> ActionContext:
    """Return the context of the action that the calling function was called for; LookupError outside of one."""
    return CURRENT.get()


class PythonKind(Declaration, ActionKind):
    """Calls async functions in the loop, others in a thread unless they are marked `quick`."""

    def __init__(self, functions: FunctionRegistry, threads: Threads, resources: Resources) -> None:
        self._functions, self._threads, self._resources = functions, threads, resources

    @classmethod
    def made_with(cls, equipment: Equipment) -> "PythonKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.functions, equipment.threads, equipment.resources)

    def compile(self, action: ActionDef, use: Use) -> "PythonAction":
        """Make a call ready; its function is looked up when it is first run. Raises FunctionMissing."""
        name = self.read(action).function
        if not self._functions.may_have(name):
            raise FunctionMissing(name)
        return PythonAction(name, self._functions, self._threads, self._resources)


class PythonAction:
    """A call of one function."""

    __slots__ = ("_function", "_functions", "_name", "_resources", "_threads")

    def __init__(self, name: str, functions: FunctionRegistry, threads: Threads, resources: Resources) -> None:
        self._name, self._functions, self._threads, self._resources = name, functions, threads, resources
        self._function = functions.known(name)

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Call the function; its arguments are copies, and so is what it returned."""
        if not isinstance(input, dict):
            message = f"{self._name} takes keyword arguments, so its input must be an object; map an object to it"
            raise ActionFailed("BAD_ARGUMENTS", message, details={"function": self._name})
        function = self._function or await self._find(context)
        arguments = {name: copy_value(value) for name, value in input.items()}
        if function.is_async:
            try:
                returned = await function.call(**arguments)
            except (asyncio.CancelledError, GeneratorExit):
                raise  # Whether somebody has cancelled it, or it did so itself, is for the executor to know.
            except BaseException as error:
                raise _failure(error, function, arguments) from error
            return _taken(returned, function)
        if function.is_quick:
            return _call(function, arguments)
        return await self._call_in_thread(function, arguments, context)

    async def _find(self, context: ActionContext) -> Function:
        files_root = (await self._resources.tenancy(context.origin.project_id)).project.files_root
        # What the module prints and logs as it is imported belongs to the run that needs it first.
        variables = copy_context()
        variables.run(CURRENT.set, context)
        # In a thread: importing a module may take seconds.
        context.hold()
        self._function = await self._threads.call(
            lambda: variables.run(self._functions.find, self._name, files_root), context.begin
        )
        assert self._function
        return self._function

    async def _call_in_thread(self, function: Function, arguments: dict[str, Any], context: ActionContext) -> JsonValue:
        # The thread sees this task's context variables, the attempt's own context among them.
        variables = copy_context()

        def call() -> JsonValue:
            return variables.run(_call, function, arguments)

        context.hold()
        value: JsonValue = await self._threads.call(call, context.begin)
        return value


def _call(function: Function, arguments: dict[str, Any]) -> JsonValue:
    try:
        returned = function.call(**arguments)
    except BaseException as error:
        # Whatever it is, SystemExit and KeyboardInterrupt too: a function of the user's must not end the program.
        raise _failure(error, function, arguments) from error
    return _taken(returned, function)


def _failure(error: BaseException, function: Function, arguments: dict[str, Any]) -> ActionFailed:
    # Without a frame of the function's own, the call itself was refused.
    is_refused = isinstance(error, TypeError) and error.__traceback__ and not error.__traceback__.tb_next
    if is_refused and (reason := function.refusal_of(arguments)):
        return ActionFailed("BAD_ARGUMENTS", reason, details={"function": function.name})
    return failure_of(error, function.name)


def _taken(returned: object, function: Function) -> JsonValue:
    if isinstance(returned, CoroutineType):
        returned.close()
        raise BadResult(function.name, "it is a coroutine, which nobody awaits; define the function with async def", ())
    try:
        return take_value(returned)
    except BadValue as error:
        raise BadResult(function.name, str(error), error.path) from error
