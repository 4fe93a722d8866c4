"""Where a model is and with which key: the `execution_config` of its profile, with secrets filled in.

A key that is not given is taken from the environment of the process, from the variable that the provider's own library
reads, but only for the provider's own address: with a `base_url` of an author's choice, the operator's key would go to
whoever listens there.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from wonder.actions.llm_call.rendering import secrets_in
from wonder.actions.models.addresses import may_be_private
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Secrets
from wonder.definitions.addresses import base_url_of, why_no_address, why_no_header
from wonder.definitions.records.providers import CONFIGURATIONS, OWN_ADDRESSES, ExecutionConfig, Structured
from wonder.definitions.records.resources import ModelProfile
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.secret_scopes import Destination, host_of_url
from wonder.language.templates import Template, TemplateSyntax, compile_template
from wonder.language.values import encode_json

_KNOWN_MAX: Final = 1_000
# Google has the model in the path of the address: a '#' there would lead to another part of its API.
_IN_A_PATH: Final = re.compile(r"[A-Za-z0-9_.@:/-]+")
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "cloudflare": ("CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class Connection:
    """A provider's address and key; equal ones share a client."""

    provider: str
    base_url: str
    api_key: str
    headers: tuple[tuple[str, str], ...]
    timeout_ms: int
    structured: Structured
    allow_private: bool
    is_own: bool
    """Whether this is the provider's own address, and not one of an author's or operator's choice."""

    def __repr__(self) -> str:
        """Say where it leads, and never with which key."""
        return f"Connection({self.provider}, {self.base_url})"


class Connections:
    """Reads the configurations of profiles, once each."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: dict[str, _CompiledConfig] = {}

    async def of(
        self, profile: ModelProfile, settings: WorkspaceSettings, *, local: bool, run_id: str | None = None
    ) -> Connection:
        """Return the connection of a profile with its secrets' values of now; raises ActionFailed."""
        if profile.provider == "google" and not _IN_A_PATH.fullmatch(profile.model_id):
            raise bad_config(profile, f"{profile.model_id!r} is not the model_id of a model; correct it")
        key = f"{profile.provider} {profile.name} {encode_json(profile.execution_config)}"
        compiled = self._known.get(key)
        if compiled is None:
            while len(self._known) >= _KNOWN_MAX:
                del self._known[next(iter(self._known))]
            compiled = self._known[key] = _CompiledConfig(profile)
        values: dict[str, str] = {}
        if compiled.secrets:

            def where(given: Mapping[str, str]) -> Destination:
                return host_of_url(compiled.address({"secrets": dict(given)}))

            values = await self._secrets.values(profile.project_id, compiled.secrets, where, run_id)
        return compiled.connection({"secrets": dict(values)}, settings, local=local)


class _CompiledConfig:
    def __init__(self, profile: ModelProfile) -> None:
        self._profile = profile
        self.config: ExecutionConfig = read_config(profile, CONFIGURATIONS[profile.provider])
        config = self.config
        self.secrets: set[str] = set()
        self._api_key = self._template(config.api_key, "api_key")
        self._base_url = self._template(config.base_url, "base_url")
        self._account_id = self._template(config.account, "account_id")
        self._headers = [(name, self._template(text, f"headers.{name}")) for name, text in config.headers.items()]

    def connection(self, scope: dict[str, Any], settings: WorkspaceSettings, *, local: bool) -> Connection:
        provider = self._profile.provider
        base_url = self.address(scope)
        own = OWN_ADDRESSES.get(provider)
        is_own = self._base_url is None or (own is not None and base_url_of(base_url) == base_url_of(own))
        allow_private = not is_own and may_be_private(
            base_url, settings, local=local, user=f"the model {self._profile.name!r}"
        )
        api_key = _rendered(self._api_key, scope) or self._key_of_environment()
        headers = tuple((name, _rendered(template, scope)) for name, template in self._headers)
        for name, value in (*headers, ("api_key", api_key.strip())):
            if name.lower() == "host":
                # Who serves several hosts would hand the key to another one than it is for.
                raise bad_config(self._profile, f"the header {name!r} can't be given; name the host in base_url")
            if why := why_no_header(name, value):
                raise bad_config(self._profile, f"{why}, and correct its secret if it has one")
        # An OpenAI-compatible server may or may not know structured output, and leaves out what it does not know;
        # Cloudflare has none that streams.
        structured: Structured = {"local": "both", "cloudflare": "prompt"}.get(provider, "native")  # type: ignore[assignment]
        return Connection(
            provider,
            base_url,
            api_key.strip(),
            headers,
            self.config.timeout_ms,
            self.config.structured or structured,
            allow_private,
            is_own,
        )

    def address(self, scope: dict[str, Any]) -> str:
        """Return where the model is; raises ActionFailed."""
        provider = self._profile.provider
        base_url = _rendered(self._base_url, scope)
        if provider == "cloudflare" and not base_url:
            account = _rendered(self._account_id, scope) or os.environ.get("CLOUDFLARE_ACCOUNT_ID", "")
            if not account.isalnum():
                raise bad_config(self._profile, "account_id is missing or wrong; add it, or set CLOUDFLARE_ACCOUNT_ID")
            return f"https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1"
        base_url = base_url or OWN_ADDRESSES.get(provider, "")
        if not base_url:
            raise bad_config(self._profile, "base_url is missing; add it, as in http://localhost:8080/v1")
        if why := why_no_address(base_url):
            raise bad_config(self._profile, f"base_url {why}")
        return base_url

    def _key_of_environment(self) -> str:
        provider = self._profile.provider
        if provider == "local":
            return "none"
        names = _KEYS[provider]
        key = next((os.environ[name] for name in names if os.environ.get(name)), "")
        if key and self._base_url is None:
            return key
        kept = f" ({names[0]} of the environment is only sent to the provider's own address)" if key else ""
        raise ActionFailed(
            "PROVIDER_KEY_MISSING",
            f"the model {self._profile.name!r} has no api_key in its execution_config{kept}; store one with: wonder "
            f"secrets set {names[0]}, and write api_key: '{{{{secrets.{names[0]}}}}}'",
            details={"model": self._profile.name, "provider": provider},
        )

    def _template(self, text: str | None, where: str) -> Template | None:
        if text is None:
            return None
        try:
            template = compile_template(text)
        except TemplateSyntax as error:
            raise bad_config(self._profile, f"{where} can't be read: {error}") from error
        names = secrets_in(template)
        if names is None:
            raise bad_config(self._profile, f"{where} reads more than secrets; write {{{{secrets.NAME}}}} only")
        self.secrets |= names
        return template


def read_config(profile: ModelProfile, record: type[Any]) -> Any:
    """Return the `execution_config` of a profile as a record; raises ActionFailed where it does not fit."""
    try:
        return record.model_validate(profile.execution_config or {})
    except ValidationError as error:
        faults = []
        for fault in error.errors()[:3]:
            where = ".".join(map(str, fault["loc"]))
            known = ", ".join(record.model_fields)
            unknown = fault["type"] == "extra_forbidden"
            faults.append(f"there is no {where!r} (known: {known})" if unknown else f"{where}: {fault['msg']}")
        raise bad_config(profile, "; ".join(faults) + "; correct the model") from None


def bad_config(profile: ModelProfile, reason: str) -> ActionFailed:
    """Return the failure of a profile that can't be used as it is."""
    message = f"the execution_config of the model {profile.name!r} can't be used: {reason}"
    return ActionFailed("BAD_EXECUTION_CONFIG", message, details={"model": profile.name})


def _rendered(template: Template | None, scope: dict[str, Any]) -> str:
    return template.render(scope) if template else ""
