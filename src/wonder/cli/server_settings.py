"""Settings of the HTTP server: where it listens, and how much it takes (CMD-2)."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any, Final

from wonder.cli.settings import BadSettings, Setting, setting_of

HOST: Final = "127.0.0.1"
PORT: Final = 7878
HOST_VARIABLE: Final = "WONDER_HOST"
PORT_VARIABLE: Final = "WONDER_PORT"
_PORT_MAX: Final = 65_535


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    host: str
    port: int


def add_server_options(parser: ArgumentParser) -> None:
    """Add the options that say where the server listens."""
    parser.add_argument(
        "--host", metavar="ADDRESS", help=f"listen on this address (default: {HOST_VARIABLE}, wonder.toml, or {HOST})"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        help=f"listen on this port; 0 takes any that is free (default: {PORT_VARIABLE}, wonder.toml, or {PORT})",
    )


def address_setting(given: Namespace) -> Address:
    """Return where the server listens; raises BadSettings."""
    host, origin = setting_of("host", given.host, HOST_VARIABLE, HOST)
    if not isinstance(host, str) or not host:
        raise BadSettings(f"'host' in {origin} must be an address, such as \"{HOST}\"")
    return Address(host, _number(*setting_of("port", given.port, PORT_VARIABLE, PORT), "port", _PORT_MAX))


def server_origins() -> dict[str, Setting]:
    """Return the settings of the server that no flag changes, and the origin of each."""
    found = {
        "host": setting_of("host", None, HOST_VARIABLE, HOST),
        "port": setting_of("port", None, PORT_VARIABLE, PORT),
    }
    return {name: Setting(str(value), origin) for name, (value, origin) in found.items()}


def _number(value: Any, origin: str, name: str, most: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadSettings(f"{name} from {origin} is {value!r}; give a whole number from 0 to {most:,}")
    return value
