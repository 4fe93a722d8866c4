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
# By name: the variable, the default, the most, and what it limits. A value of a run has at most 16 MB.
_LIMITS: Final = {
    "max_body_bytes": ("WONDER_MAX_BODY_BYTES", 4_000_000, 16_000_000, "bytes in the body of a request"),
    "requests_at_once": ("WONDER_REQUESTS_AT_ONCE", 1_000, 1_000_000, "requests of one caller at once"),
    "requests_per_second": ("WONDER_REQUESTS_PER_SECOND", 5_000, 1_000_000, "requests of one caller in a second"),
}


@dataclass(frozen=True)
class Address:
    """Where a server listens, and how much it takes."""

    host: str
    port: int
    body_bytes: int
    requests_at_once: int
    requests_per_second: int


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

    for name, (variable, default, most, what) in _LIMITS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="N",
            help=f"take at most N {what}, up to {most:,} (default: {variable}, wonder.toml, or {default:,})",
        )


def address_setting(given: Namespace) -> Address:
    """Return where the server listens; raises BadSettings."""
    host, origin = setting_of("host", given.host, HOST_VARIABLE, HOST)
    if not isinstance(host, str) or not host:
        raise BadSettings(f"'host' in {origin} must be an address, such as \"{HOST}\"")
    port = _number(*setting_of("port", given.port, PORT_VARIABLE, PORT), "port", 0, _PORT_MAX)
    limits = [
        _number(*setting_of(name, getattr(given, name), variable, default), name, 1, most)
        for name, (variable, default, most, _) in _LIMITS.items()
    ]
    return Address(host, port, *limits)


def server_origins() -> dict[str, Setting]:
    """Return the settings of the server that no flag changes, and the origin of each."""
    found = {
        "host": setting_of("host", None, HOST_VARIABLE, HOST),
        "port": setting_of("port", None, PORT_VARIABLE, PORT),
        **{name: setting_of(name, None, variable, default) for name, (variable, default, *_) in _LIMITS.items()},
    }
    return {name: Setting(str(value), origin) for name, (value, origin) in found.items()}


def _number(value: Any, origin: str, name: str, least: int, most: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadSettings(f"{name} from {origin} is {value!r}; give a whole number from {least} to {most:,}")
    return value
