"""What can be wrong with a request for a stored resource."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from wonder.errors import WonderError


class NotFound(WonderError):
    """What was asked for is not there, or is archived where only live things count."""

    code = "NOT_FOUND"

    def __init__(self, kind: str, wanted: str) -> None:
        super().__init__(f"there is no {kind} {wanted!r}; check the spelling, or list what there is")
        self.kind, self.wanted = kind, wanted


class NameTaken(WonderError):
    """Something live has that name already."""

    code = "NAME_TAKEN"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is a {kind} named {name!r} already; choose another name, or archive that one first")
        self.kind, self.name = kind, name


class FilesRootRelative(WonderError):
    """A project's `files_root` depends on where a process happens to stand."""

    code = "FILES_ROOT_RELATIVE"

    def __init__(self, files_root: str) -> None:
        super().__init__(
            f"files_root can't be {files_root!r}: each process would mean another folder; write an absolute path"
        )
        self.files_root = files_root


class AmbiguousName(WonderError):
    """A name is found in more than one library (RES-4)."""

    code = "AMBIGUOUS_NAME"

    def __init__(self, kind: str, name: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{kind} {name!r} is in several libraries; write one of: {', '.join(candidates)}")
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)


class User(Struct, frozen=True):
    """A live thing that needs another."""

    kind: str
    name: str
    version: int | None

    def __str__(self) -> str:
        """Write it as a person would name it."""
        return f"{self.kind} {self.name}" + (f"@{self.version}" if self.version else "")


class LiveRuns(Struct, frozen=True):
    """Runs that have not ended and need a thing: how many, and some of them."""

    count: int = 0
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return self.count > 0

    def __add__(self, other: "LiveRuns") -> "LiveRuns":
        """Count both; no run may be in both."""
        return LiveRuns(self.count + other.count, self.ids + other.ids)

    def __str__(self) -> str:
        """Write how many there are, and which."""
        shown = ", ".join(self.ids[:3]) + (", …" if self.count > 3 else "")
        return f"{self.count:,} live run{'' if self.count == 1 else 's'} ({shown})"


NO_RUNS = LiveRuns()


class InUse(WonderError):
    """What should be archived is needed by others, or by runs that have not ended (RES-5)."""

    code = "IN_USE"

    def __init__(self, kind: str, name: str, users: Sequence[User], runs: LiveRuns = NO_RUNS) -> None:
        reasons, remedies = [], []
        if users:
            shown = ", ".join(str(user) for user in users[:10])
            reasons.append(f"used by {shown}" + (f" and {len(users) - 10} more" if len(users) > 10 else ""))
            remedies.append("archive or change those first")
        if runs:
            reasons.append(f"needed by {runs}")
            remedies.append("wait until the runs have ended, or cancel them")
        super().__init__(f"{kind} {name!r} is {' and '.join(reasons)}; {', and '.join(remedies)}")
        self.kind, self.name, self.users, self.runs = kind, name, tuple(users), runs


class BadCursor(WonderError):
    """A cursor was not made by the list that it is given to."""

    code = "BAD_CURSOR"

    def __init__(self, cursor: str) -> None:
        super().__init__(f"cursor {cursor[:80]!r} is not one that this list gave out; begin again without a cursor")
        self.cursor = cursor


class BadLimit(WonderError):
    """A page can't have that size."""

    code = "BAD_LIMIT"

    def __init__(self, limit: int, highest: int) -> None:
        super().__init__(f"a page of {limit} can't be given; ask for 1 to {highest}")
        self.limit, self.highest = limit, highest


class ServerFixed(WonderError):
    """A bundle would change an MCP server that the workspace allows by its name (RES-6)."""

    code = "MCP_SERVER_FIXED"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the workspace allows the MCP server {name!r} as it is stored, and this would have it run or reach "
            "something else; nothing was stored. Leave it out of the file, or have an admin look at it and deploy the "
            f"file with --allow-mcp {shlex.quote(name)}"
        )
        self.name = name
