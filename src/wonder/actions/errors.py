"""What can be wrong with an action before it is run."""

from wonder.errors import WonderError


class UnknownKind(WonderError):
    """No kind of action has this name here."""

    code = "UNKNOWN_ACTION_KIND"

    def __init__(self, kind: str, known: list[str]) -> None:
        super().__init__(
            f"there is no kind of action called {kind!r} here (known: {', '.join(known)}); install the package that "
            "adds it, or correct the kind"
        )
        self.kind, self.known = kind, known


class KindTaken(WonderError):
    """Two classes claim the same kind of action."""

    code = "ACTION_KIND_TAKEN"

    def __init__(self, kind: str, first: str, second: str) -> None:
        super().__init__(f"the kind of action {kind!r} is given by {first} and by {second}; remove or rename one")
        self.kind, self.first, self.second = kind, first, second


class BadKind(WonderError):
    """The action kind of a package is invalid."""

    code = "BAD_ACTION_KIND"

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"the entry point {name!r} of wonder.actions can't be used: {reason}; fix or remove its package"
        )
        self.name, self.reason = name, reason


class NotExecutable(WonderError):
    """An action that the coordinator carries out was given to an executor."""

    code = "NOT_EXECUTABLE"

    def __init__(self, action: str, kind: str, reason: str) -> None:
        super().__init__(f"the action {action!r} ({kind}) can't be run by an executor: {reason}")
        self.action, self.kind, self.reason = action, kind, reason


class FunctionMissing(WonderError):
    """This process has no function that an action calls; another one may have it (TSK-8)."""

    code = "UNKNOWN_FUNCTION"

    def __init__(self, function: str) -> None:
        module = function.partition(":")[0]
        super().__init__(
            f"this process does not have the function {function!r}; start one with --module {module}, "
            f"or open the database with wonder.open(modules=[{module!r}])"
        )
        self.function = function


class BadResult(WonderError):
    """A function returned what is not JSON or is over a limit."""

    code = "BAD_RESULT"

    def __init__(self, function: str, reason: str, path: tuple[str | int, ...]) -> None:
        super().__init__(f"{function} returned what can't be kept: {reason}; return JSON values only")
        self.function, self.reason, self.path = function, reason, path
