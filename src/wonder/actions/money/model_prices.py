"""What a call costs (RES-6).

Under a budget: by the operator's `model_prices`, else by the published prices of exactly this model at its provider's
own address; a model without such a price is refused, because an author could otherwise name any price, or any model,
to get around the budget. Without a budget: by the profile's own prices, else by the published ones, else nothing,
which is logged once.
"""

import importlib
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from wonder.actions.money.published_prices import Cost, PerToken, flat_price, published
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionFailed
from wonder.definitions.addresses import base_url_of
from wonder.definitions.records.resources import ModelProfile
from wonder.definitions.records.tenancy import ModelPrice
from wonder.definitions.secret_scopes import quoted
from wonder.language.values import JsonValue, encode_json

log = logging.getLogger("wonder.actions.llm_call.kind")

_FREE: Final = frozenset({"local", "mock"})
_FRESH_MS: Final = 3_600_000
_NOTHING: Final = Used()
_KNOWN_MAX: Final = 1_000


class PriceUnknown(ActionFailed):
    """A model has no price that counts under a budget."""

    def __init__(self, provider: str, model_id: str, base_url: str | None, user: str) -> None:
        price: dict[str, JsonValue] = {"provider": provider, "model_id": model_id}
        if base_url is not None:
            price["base_url"] = base_url
        price |= {"input_usd_per_million": 0, "output_usd_per_million": 0}
        at = f" at {base_url}" if base_url is not None else ""
        message = (
            f"what {user} ({model_id} of {provider}{at}) costs is not known, and it counts against a budget; have the "
            f"operator add its price to model_prices of the workspace, which may be 0: wonder workspace set "
            f"model_prices {quoted(encode_json([price]))}"
        )
        details = {"provider": provider, "model_id": model_id, "base_url": base_url}
        super().__init__("PRICE_UNKNOWN", message, details=details)


class Prices:
    """Knows what models cost; the published prices are looked up once an hour."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._published: dict[tuple[str, str], tuple[int, tuple[Cost, bool] | None]] = {}
        self._warned: set[tuple[str, str]] = set()
        self.is_loaded = False

    def load(self) -> None:
        """Load the published prices, which takes most of a second; without the library, none are known."""
        with suppress(ImportError):
            importlib.import_module("genai_prices")
        self.is_loaded = True

    def are_needed(self, profile: ModelProfile, *, under_budget: bool) -> bool:
        """Return whether published prices have to be loaded for this model."""
        if self.is_loaded or profile.provider in _FREE:
            return False
        return under_budget or _own(profile) is None

    def under_budget(
        self, provider: str, model_id: str, base_url: str | None, listed: Sequence[ModelPrice], user: str
    ) -> Cost:
        """Return the cost that counts under a budget; raises PriceUnknown.

        `base_url` is None at the provider's own address; `user` names the model or vector index for people.
        """
        where = None if base_url is None else base_url_of(base_url)
        for price in listed:
            if (price.provider, price.model_id, price.base_url) == (provider, model_id, where):
                return flat_price(price.input_usd_per_million / 1e6, price.output_usd_per_million / 1e6).cost_usd
        if provider == "mock":
            return _free  # It reaches nobody, so that nobody can charge for it.
        known = self._lookup(provider, model_id) if where is None else None
        if known is None or not known[1]:
            raise PriceUnknown(provider, model_id, where, user)
        return known[0]

    def cost_usd(self, profile: ModelProfile, used: Used) -> float:
        """Return what these tokens cost where there is no budget."""
        if own := _own(profile):
            return own.cost_usd(used)
        if profile.provider in _FREE or used == _NOTHING:
            return 0.0
        known = self._lookup(profile.provider, profile.model_id)
        return known[0](used) if known else self._unknown(profile, used)

    def _unknown(self, profile: ModelProfile, used: Used) -> float:
        key = (profile.provider, profile.model_id)
        if key not in self._warned:
            self._warned.add(key)
            log.warning(
                "no price is known for the model %s of %s, so what it costs is not counted; "
                "set cost_per_1k_input_tokens and cost_per_1k_output_tokens of the model %s",
                profile.model_id,
                profile.provider,
                profile.name,
            )
        halves = profile.cost_per_1k_input_tokens or 0, profile.cost_per_1k_output_tokens or 0
        return (used.input_tokens * halves[0] + used.output_tokens * halves[1]) / 1000

    def _lookup(self, provider: str, model_id: str) -> tuple[Cost, bool] | None:
        key = (provider, model_id)
        read_ms, known = self._published.get(key, (-_FRESH_MS, None))
        now_ms = self._now_ms()
        if not 0 <= now_ms - read_ms < _FRESH_MS:
            known = published(provider, model_id)
            while len(self._published) >= _KNOWN_MAX:
                del self._published[next(iter(self._published))]
            self._published[key] = (now_ms, known)
        return known


def _own(profile: ModelProfile) -> PerToken | None:
    given = profile.cost_per_1k_input_tokens, profile.cost_per_1k_output_tokens
    # One of the two is enough for a model without published prices: the other is free then.
    if given == (None, None) or (None in given and profile.provider not in _FREE):
        return None
    price, output = (float(per_1k or 0) / 1000 for per_1k in given)
    return flat_price(price, output)


def _free(used: Used) -> float:
    return 0.0
