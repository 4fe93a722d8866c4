"""Who asks for an operation: who has an API key, a person who has signed in, or the user of this machine (KEY-3)."""

import getpass
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Role: TypeAlias = Literal["viewer", "operator", "author", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may."""

Reach: TypeAlias = Literal["project", "workspace", "server"]
REACHES: tuple[Reach, ...] = get_args(Reach)
"""What a caller may touch, and what an operation touches; each contains those before it."""


@dataclass(frozen=True)
class Caller:
    """Who asks, as a credential says it and never the body of a request."""

    name: str
    role: Role
    workspace_id: str | None = None
    """None: the whole server."""
    project_id: str | None = None
    """None: the whole workspace, or the whole server."""
    key_id: str | None = None
    """The id of the API key that was shown; None where it was none."""
    kind: Literal["key", "person", "local", "model"] = "key"
    """What vouches for the name: an API key, a sign-in, the user account here; or that a model asks (ACT-4)."""

    @property
    def reach(self) -> Reach:
        """How far this caller reaches."""
        if self.project_id is not None:
            return "project"
        return "server" if self.workspace_id is None else "workspace"

    def has_role(self, role: Role) -> bool:
        """Say whether this caller may do what needs a role; nobody may with a role that there is not."""
        return self.role in ROLES and ROLES.index(self.role) >= ROLES.index(role)

    def covers(self, workspace_id: str | None, project_id: str | None) -> bool:
        """Say whether a scope lies within this caller's: None is the whole server, or the whole workspace."""
        if self.project_id is not None:
            return (workspace_id, project_id) == (self.workspace_id, self.project_id)
        return self.workspace_id is None or workspace_id == self.workspace_id


def local_caller() -> Caller:
    """Give who uses this machine from a shell: whoever may write to the database may do everything in it."""
    return Caller(local_user(), "admin", kind="local")


def local_user() -> str:
    """Give the name of the user account on this machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        return "unknown"
