"""What templates of actions read: the input, and secrets where they may be used (ACT-9)."""

from collections.abc import Iterable

from wonder.actions.protocol import Origin
from wonder.actions.resources import Resources
from wonder.definitions.secret_scopes import Destination
from wonder.language.templates import Template
from wonder.language.values import JsonValue

SECRETS = "secrets"


def names_of(input: JsonValue) -> dict[str, JsonValue]:
    """Give what a template of an action reads: the input, and each of its members by its own name."""
    members = input if isinstance(input, dict) else {}
    # Not what the input calls so: a template that goes out must not be fed something else for a secret.
    return {**members, "input": input, SECRETS: {}}


def secrets_read(templates: Iterable[Template]) -> frozenset[str]:
    """Say which secrets templates read."""
    paths = (path for template in templates for path in template.names)
    return frozenset(str(path[1]) for path in paths if len(path) > 1 and path[0] == SECRETS)


async def with_secrets(
    names: dict[str, JsonValue], read: frozenset[str], to: Destination, resources: Resources, origin: Origin
) -> dict[str, JsonValue]:
    """Give the names with the secrets that are read, which go there; raises SecretMissing and SecretOutOfScope."""
    if not read:
        return names
    values: dict[str, JsonValue] = dict(
        await resources.secrets.values(origin.project_id, read, lambda _: to, origin.run_id)
    )
    return {**names, SECRETS: values}
