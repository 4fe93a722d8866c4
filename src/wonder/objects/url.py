"""Where objects are: reading addresses such as file:///folder and s3://bucket/prefix."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from wonder.objects.errors import BadObjectsUrl

_SECRET_OPTIONS: Final = frozenset({"secret_access_key", "session_token"})
_TEXT_OPTIONS: Final = frozenset({"region", "access_key_id", *_SECRET_OPTIONS})
_FLAG_OPTIONS: Final = {"virtual_hosted": "virtual_hosted_style_request", "anonymous": "skip_signature"}
_FLAGS: Final = {"true": True, "false": False}
_SHOWN_OPTIONS: Final = frozenset({"endpoint", "region", "access_key_id", *_FLAG_OPTIONS})


@dataclass(frozen=True)
class DirectoryAddress:
    """Objects in a folder of this machine."""

    path: Path


@dataclass(frozen=True)
class S3Address:
    """Objects in a bucket; without credentials here, those of the environment count (AWS_ACCESS_KEY_ID and so on)."""

    bucket: str
    prefix: str
    endpoint: str | None
    shown: str
    options: dict[str, str | bool] = field(default_factory=dict, repr=False)


def parse_objects_url(url: str) -> DirectoryAddress | S3Address:
    """Read the address of an object store; raises BadObjectsUrl, which never shows a password."""
    scheme, separator, rest = url.partition("://")
    if any(not sign.isprintable() for sign in url):
        shown = f"{scheme.encode('unicode_escape').decode()}://…" if separator else "…"
        raise BadObjectsUrl(shown, "holds a character that can't be shown")
    if not separator:
        raise BadObjectsUrl(_hidden(url), "has no scheme")
    if scheme == "file":
        return _directory(url, rest)
    if scheme == "s3":
        return _s3(url)
    raise BadObjectsUrl(f"{_hidden(scheme)}://…", f"has the unknown scheme {_hidden(scheme)!r}")


def _directory(url: str, rest: str) -> DirectoryAddress:
    # As in the address of a database: a path behind the third slash, absolute with a fourth or as usual for file://.
    if not rest.startswith("/"):
        raise BadObjectsUrl(_hidden(url), "names a host, and a folder is of this machine: write three slashes")
    if "?" in rest or "#" in rest:
        raise BadObjectsUrl(_hidden(url), "has options, and a folder takes none")
    path = unquote(rest)
    if not path.strip("/") or "\0" in path:
        raise BadObjectsUrl(url, "names no folder of its own")
    return DirectoryAddress(Path(path))


def _s3(url: str) -> S3Address:
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        # Without the reason of Python's: that quotes the part which it can't read, perhaps one of a key with a &.
        reason = "can't be read: its bucket or one of its options is invalid; write & in a key as %26"
        raise BadObjectsUrl("s3://…", reason) from None
    shown = _masked(parts, options)
    if parts.username is not None or ":" in parts.netloc:
        raise BadObjectsUrl("s3://…", "has a user or a port, and only a bucket stands before the slash")
    if not parts.netloc:
        raise BadObjectsUrl(shown, "names no bucket")
    prefix = unquote(parts.path).strip("/")
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise BadObjectsUrl(shown, "has an empty part, '.' or '..' in its prefix")
    endpoint: str | None = None
    settings: dict[str, str | bool] = {}
    for name, value in options:
        if name == "endpoint":
            if not value.startswith(("https://", "http://")):
                raise BadObjectsUrl(shown, "has an endpoint that begins neither with https:// nor with http://")
            endpoint = value.rstrip("/")
        elif name in _TEXT_OPTIONS:
            settings[name] = value
        elif name in _FLAG_OPTIONS and value in _FLAGS:
            settings[_FLAG_OPTIONS[name]] = _FLAGS[value]
        else:
            known = ", ".join(["endpoint", *sorted(_TEXT_OPTIONS), *(f"{flag}=true" for flag in _FLAG_OPTIONS)])
            raise BadObjectsUrl(shown, f"has the option {name!r}, which is not one of: {known}")
    return S3Address(parts.netloc, prefix, endpoint, shown, settings)


def _masked(parts: SplitResult, options: list[tuple[str, str]]) -> str:
    # All but what is known to be no secret: a name may be misspelled.
    shown = [(name, value if name in _SHOWN_OPTIONS and "@" not in value else "***") for name, value in options]
    netloc = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(shown, safe="/*:"), fragment=""))


def _hidden(url: str) -> str:
    """Show as much of an address that can't be read as surely holds no key."""
    if "@" in url:
        return "…"
    return url.partition("?")[0]
