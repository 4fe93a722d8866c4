"""Who may ask for what: one check for every door, which denies what nothing allows (KEY-4)."""

from typing import NamedTuple, Protocol

from wonder.app.callers import REACHES, Caller, Reach, Role
from wonder.errors import WonderError

_OF = {"project": "of one project", "workspace": "of one workspace", "server": "of the whole server"}


class Needs(NamedTuple):
    """What an input needs of its caller, beyond what its operation needs of everybody."""

    role: Role = "viewer"
    reach: Reach = "project"


class Asked(Protocol):
    """What is known of an operation before its input is read."""

    @property
    def name(self) -> str:
        """Say what it is called."""

    @property
    def role(self) -> Role:
        """Say which role it needs at least."""

    @property
    def reach(self) -> Reach:
        """Say how far a caller must reach at least."""


class NotAllowed(WonderError):
    """A caller may not ask for this."""

    code = "NOT_ALLOWED"


def check_role(caller: Caller | None, asked: Asked) -> None:
    """Refuse who may not ask for an operation, before its input is read; raises NotAllowed."""
    if caller is None:
        raise NotAllowed(f"{asked.name} needs the role {asked.role}, and nobody has said who asks; show a key")
    _check(caller, asked.name, asked.role, asked.reach)


def check_caller(caller: Caller, asked: Asked, given: object) -> None:
    """Refuse who may not ask for an operation with this input; raises NotAllowed."""
    _check(caller, asked.name, asked.role, asked.reach)
    # Orders to the engine are inputs too, and need nothing more.
    needs: Needs | None = getattr(given, "needs", None)
    if needs is not None:
        _check(caller, f"this input of {asked.name}", needs.role, needs.reach)


def _check(caller: Caller, what: str, role: Role, reach: Reach) -> None:
    if not caller.has_role(role):
        raise NotAllowed(f"{what} needs the role {role}; {caller.name!r} has the role {caller.role}")
    if REACHES.index(caller.reach) < REACHES.index(reach):
        raise NotAllowed(f"{what} needs a key {_OF[reach]}; that of {caller.name!r} is {_OF[caller.reach]}")
