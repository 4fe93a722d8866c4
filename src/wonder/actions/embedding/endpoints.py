"""Where embeddings come from and with which key: secrets of the project or its workspace, else the environment.

A vector index names only a provider and a model. The secrets `OPENAI_API_KEY` and `OPENAI_BASE_URL`,
`CLOUDFLARE_API_TOKEN`, `CLOUDFLARE_ACCOUNT_ID` and `CLOUDFLARE_BASE_URL` say the rest, and variables of the same names
in the environment where there is no such secret. A key of the environment is the operator's: it never goes to an
address that a secret names.
"""

import os
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from wonder.actions.models.addresses import may_be_private
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources, SecretMissing, Tenancy
from wonder.definitions.addresses import why_no_address
from wonder.definitions.records.resources import VectorIndex
from wonder.definitions.secret_scopes import Destination, host_of_url

# A key that was changed is heard of within this time.
_FRESH_MS: Final = 1_000
_KNOWN_MAX: Final = 1_000
_OPENAI: Final = "https://api.openai.com/v1"
_CLOUDFLARE: Final = "https://api.cloudflare.com/client/v4"
PROVIDERS: Final = {"openai": "openai", "cloudflare_ai": "cloudflare", "local": "local"}


class Endpoint(Struct, frozen=True):
    """An address that texts are sent to, and the key that goes along; empty if none does."""

    url: str
    key: str
    allow_private: bool
    base_url: str | None = None
    """Where the server is, unless that is the provider's own address."""

    def __repr__(self) -> str:
        """Say where it leads, and never with which key."""
        return f"Endpoint({self.url})"


class Endpoints:
    """Finds endpoints, and knows them for a second."""

    def __init__(self, resources: Resources, now_ms: Callable[[], int]) -> None:
        self._resources, self._now_ms = resources, now_ms
        self._known: dict[tuple[str, str, str], tuple[int, Endpoint]] = {}

    async def of(self, index: VectorIndex) -> Endpoint:
        """Return the endpoint of an index; raises ActionFailed."""
        where, now_ms = (index.project_id, index.embedding_provider, index.embedding_model), self._now_ms()
        found_ms, known = self._known.get(where, (0, None))
        if known is not None and 0 <= now_ms - found_ms < _FRESH_MS:
            return known
        tenancy = await self._resources.tenancy(index.project_id)
        known = await (self._openai(index, tenancy) if where[1] == "openai" else self._cloudflare(index, tenancy))
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known[where] = (now_ms, known)
        return known

    async def check_allowed(self, index: VectorIndex) -> None:
        """Raise ActionFailed unless the workspace allows the index's provider (RES-6)."""
        allowed = (await self._resources.tenancy(index.project_id)).workspace.allowed_model_providers
        provider = PROVIDERS[index.embedding_provider]
        if allowed is not None and provider not in allowed:
            message = (
                f"the workspace does not allow models of {provider} (allowed: {', '.join(allowed) or 'none'}), which "
                f"the vector index {index.name!r} uses; add it to allowed_model_providers, or use another one"
            )
            raise ActionFailed("PROVIDER_NOT_ALLOWED", message, details={"provider": provider})

    async def _openai(self, index: VectorIndex, tenancy: Tenancy) -> Endpoint:
        base, key, allow_private = await self._found(index, tenancy, "OPENAI_BASE_URL", "OPENAI_API_KEY", _OPENAI)
        if not base and not key:
            raise _missing(index, "OPENAI_API_KEY")
        return Endpoint(f"{(base or _OPENAI).rstrip('/')}/embeddings", key, allow_private, base or None)

    async def _cloudflare(self, index: VectorIndex, tenancy: Tenancy) -> Endpoint:
        names = ("CLOUDFLARE_BASE_URL", "CLOUDFLARE_API_TOKEN")
        base, key, allow_private = await self._found(index, tenancy, *names, _CLOUDFLARE)
        name = "CLOUDFLARE_ACCOUNT_ID"
        account = await self._secret(index, name, base or _CLOUDFLARE) or os.environ.get(name, "").strip()
        if not key and not base:
            raise _missing(index, "CLOUDFLARE_API_TOKEN")
        if not account.isalnum():
            raise _missing(index, name)
        if any(part in ("", ".", "..") for part in index.embedding_model.split("/")):
            # It would lead to another part of the provider's API, with the operator's key.
            message = (
                f"{index.embedding_model!r} of the vector index {index.name!r} is not the name of a model; write one "
                "such as @cf/baai/bge-base-en-v1.5"
            )
            raise ActionFailed("BAD_EXECUTION_CONFIG", message, details={"vector_index": index.name})
        # A model's name has slashes in it, as in @cf/baai/bge-base-en-v1.5.
        model = quote(index.embedding_model, safe="/@")
        url = f"{(base or _CLOUDFLARE).rstrip('/')}/accounts/{account}/ai/run/{model}"
        return Endpoint(url, key, allow_private, base or None)

    async def _found(
        self, index: VectorIndex, tenancy: Tenancy, base_name: str, key_name: str, own: str
    ) -> tuple[str, str, bool]:
        base = await self._secret(index, base_name, None)
        is_operators = not base
        base = base or os.environ.get(base_name, "").strip()
        _check_base(index, base_name, base)
        key = await self._secret(index, key_name, base or own)
        if is_operators:
            key = key or os.environ.get(key_name, "").strip()
        # What the operator has chosen may be on this machine.
        user, local = f"what embeds for the vector index {index.name!r}", self._resources.local
        allow_private = bool(base) and (is_operators or may_be_private(base, tenancy.workspace, local=local, user=user))
        if not key.isascii() or not key.isprintable():
            message = f"{key_name} holds signs that no key has; store it again with: wonder secrets set {key_name}"
            raise ActionFailed("BAD_EXECUTION_CONFIG", message, details={"vector_index": index.name})
        return base, key, allow_private

    async def _secret(self, index: VectorIndex, name: str, url: str | None) -> str:
        """Return a secret that goes to an address, or that is the address; empty if there is none."""

        def where(values: Mapping[str, str]) -> Destination:
            base = values[name].strip() if url is None else url
            _check_base(index, name, base)
            return host_of_url(base)

        try:
            return (await self._resources.secrets.values(index.project_id, [name], where))[name].strip()
        except SecretMissing:
            return ""


def _check_base(index: VectorIndex, name: str, base: str) -> None:
    if base and (why := why_no_address(base)):
        raise ActionFailed("BAD_EXECUTION_CONFIG", f"{name} {why}", details={"vector_index": index.name})


def _missing(index: VectorIndex, name: str) -> ActionFailed:
    message = (
        f"the vector index {index.name!r} needs {name}; store it with: wonder secrets set {name}, or set it in the "
        "environment of the engine"
    )
    return ActionFailed("PROVIDER_KEY_MISSING", message, details={"vector_index": index.name, "missing": name})
