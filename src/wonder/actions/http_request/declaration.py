"""The declaration of `http_request`."""

import re
from collections.abc import Iterator

from wonder.actions.http_request.record import HttpRequest
from wonder.definitions.checks.secret_uses import host_in
from wonder.definitions.checks.texts import check_template
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import ANYTHING, TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.definitions.secret_scopes import Destination
from wonder.language.schemas import Schema

# They are about the connection, which is ours: with another's idea of where a body ends, it would begin a new request.
_HEADERS_OF_CONNECTION = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"}
    | {"transfer-encoding"}
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Declaration(Kind):
    """Sends an HTTP request."""

    kind = "http_request"
    configuration = HttpRequest
    summary = "sends an HTTP request"
    gives = "{status, headers (in lower case), body}; a status of 400 or above fails unless accepted"
    errors = (
        "ADDRESS_REFUSED",
        "BAD_ARGUMENTS",
        "BAD_BODY",
        "BAD_CERTIFICATE",
        "BAD_HEADER",
        "BAD_RESPONSE",
        "BAD_URL",
        "CONNECTION_FAILED",
        "CONNECTION_LOST",
        "HTTP_TIMEOUT",
        "NO_OBJECT_STORE",
        "REDIRECT_REFUSED",
        "RESPONSE_TOO_LARGE",
        "TOO_MANY_REDIRECTS",
    )
    at_work = "wonder.actions.http_request.kind:HttpRequestKind"

    def check(self, implementation: HttpRequest, path: Path, findings: Findings) -> None:
        """Note an address or a header that can't be sent, and a body that is not."""
        check_template(implementation.url_template, (*path, "url_template"), findings, escape="url")
        _check_url(implementation.url_template, (*path, "url_template"), findings)
        check_template(implementation.body_template, (*path, "body_template"), findings)
        for name, value in (implementation.headers or {}).items():
            _check_header(name, value, (*path, "headers", name), findings)
        if implementation.body_template is not None and implementation.method in ("GET", "HEAD"):
            message = f"a {implementation.method} request has no body"
            findings.warning("body_not_sent", (*path, "body_template"), message, "use POST, or leave the body out")

    def output_schema(self, implementation: HttpRequest | None, named: Named) -> Schema:
        """Give the status, the headers and the body."""
        is_text = implementation is not None and implementation.response == "text"
        headers: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
        return object_of(status=WHOLE_NUMBER, headers=headers, body=TEXT if is_text else ANYTHING)

    def templates(self, implementation: HttpRequest) -> Iterator[tuple[Path, str | None]]:
        """Give the address, the body and the headers."""
        yield ("url_template",), implementation.url_template
        yield ("body_template",), implementation.body_template
        for name, value in (implementation.headers or {}).items():
            yield ("headers", name), value

    def secrets_go_to(self, implementation: HttpRequest) -> Destination | None:
        """Give the host, if the address is not filled in up to its path."""
        return host_in(implementation.url_template)


def _check_header(name: str, value: str, where: Path, findings: Findings) -> None:
    check_template(value, where, findings)
    if not _HEADER_NAME.fullmatch(name):
        message = f"{name!r} can't be the name of a header"
        findings.error("bad_header", where, message, "use letters, digits and '-'")
    elif "\r" in value or "\n" in value:
        message = f"the header '{name}' has a line break in it, which would end it"
        findings.error("bad_header", where, message, "write it on one line")
    elif name.lower() in _HEADERS_OF_CONNECTION:
        message = f"the header '{name}' is about the connection, and not the request's to say"
        findings.error("bad_header", where, message, "leave it out")


def _check_url(template: str, where: Path, findings: Findings) -> None:
    """Note an address that can't become one of HTTP, whatever its template is filled with."""
    fixed, tag, _ = template.partition("{{")
    begins = fixed.lower().startswith(("http://", "https://"))
    if not begins and not (tag and any(scheme.startswith(fixed.lower()) for scheme in ("http://", "https://"))):
        message = f"'{template[:80]}' is no address of HTTP"
        findings.error("bad_url", where, message, "begin it with https:// or http://")
