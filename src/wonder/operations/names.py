"""Names that people give to workspaces, projects, libraries and workflows."""

from pydantic import TypeAdapter, ValidationError

from wonder.definitions.records.fields import Name
from wonder.errors import WonderError

_NAME: TypeAdapter[str] = TypeAdapter(Name)


class NameRefused(WonderError):
    """Something can't have this name."""

    code = "NAME_REFUSED"

    def __init__(self, kind: str, name: str, why: str) -> None:
        super().__init__(f"a {kind} can't be named {name[:80]!r}: {why}; write a name such as 'orders' or 'team-1'")
        self.kind, self.name = kind, name


def check_name(kind: str, name: str) -> str:
    """Return a name that a definition file could have as well; raises NameRefused."""
    try:
        return _NAME.validate_python(name)
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise NameRefused(kind, name, message[0].lower() + message[1:]) from None
