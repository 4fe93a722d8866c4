"""The templates of an `http_request`: its url, headers and body, filled with the action's input and secrets (ACT-9)."""

import re
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from wonder.actions.http_request.record import HttpRequest
from wonder.actions.protocol import ActionFailed
from wonder.actions.secrets.template_names import SECRETS, secrets_read
from wonder.language.templates import Template, compile_template
from wonder.language.values import MAX_BYTES, JsonValue

_BODILESS: Final = ("GET", "HEAD")
_SHOWN_MAX: Final = 200
_INPUT: Final = "input"
_PASSWORD: Final = re.compile(r"//[^/?#]*@")
_ENCODED_START: Final = re.compile(r"https?%3A%2F%2F[^/?#]*", re.IGNORECASE)


class Rendered(Struct, frozen=True):
    """The texts of one request; `shown` tells what is asked for, without secrets and passwords."""

    method: str
    url: str
    shown: str
    headers: tuple[tuple[str, str, bool], ...]
    """Name, value, and whether there is a secret in it."""
    body: str | None
    has_secret_body: bool


class RequestTemplates:
    """Compiled once; `secrets` has the names of those that it reads."""

    def __init__(self, request: HttpRequest) -> None:
        self._method = request.method
        self._url = _Filled(compile_template(request.url_template, escape="url"))
        self._is_open = request.url_template.startswith("{{")
        self._headers = {name: _Filled(compile_template(text)) for name, text in (request.headers or {}).items()}
        text = None if request.method in _BODILESS else request.body_template
        self._body = _Filled(compile_template(text, output_max=MAX_BYTES)) if text is not None else None
        used = [self._url, *self._headers.values(), *([self._body] if self._body else [])]
        self.secrets = frozenset(name for filled in used for name in filled.secrets)

    def render(self, input: JsonValue, secrets: dict[str, str]) -> Rendered:
        """Fill all of them; raises ActionFailed and TemplateTooLarge."""
        scope = _scope(input)
        url = self._address(scope, secrets)
        shown = self._address(scope, {name: f"secret-{name}" for name in secrets}) if self._url.secrets else url
        return Rendered(
            self._method,
            url,
            f"{self._method} {_PASSWORD.sub('//', shown)[:_SHOWN_MAX]}",
            tuple((name, text.render(scope, secrets), bool(text.secrets)) for name, text in self._headers.items()),
            self._body.render(scope, secrets) if self._body else None,
            self._body is not None and bool(self._body.secrets),
        )

    def _address(self, scope: dict[str, JsonValue], secrets: dict[str, str]) -> str:
        url = self._url.render(scope, secrets)
        # A value at the beginning of the address is inserted as it is: `{{base}}/orders`, or a link of an answer.
        if self._is_open and (begun := _ENCODED_START.match(url)):
            return unquote(begun[0]) + url[begun.end() :]
        return url


class _Filled:
    """A template that sees the secrets that it names, and no others."""

    __slots__ = ("_reads_input", "_template", "secrets")

    def __init__(self, template: Template) -> None:
        self._template = template
        self.secrets = secrets_read([template])
        self._reads_input = any(path[:1] == (_INPUT,) for path in template.names)

    def render(self, scope: dict[str, JsonValue], secrets: dict[str, str]) -> str:
        if self._reads_input and _INPUT not in scope:
            # Only there: `{{json this}}` is the input as it is.
            scope = {**scope, _INPUT: scope}
        if self.secrets:
            scope = {**scope, SECRETS: {name: secrets[name] for name in self.secrets}}
        return self._template.render(scope)


def _scope(input: JsonValue) -> dict[str, JsonValue]:
    if input is None:
        return {}
    if not isinstance(input, dict):
        message = "the templates of a request read fields of its input, so that must be an object; map an object to it"
        raise ActionFailed("BAD_ARGUMENTS", message)
    return input
