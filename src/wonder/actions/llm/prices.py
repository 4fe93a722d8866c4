"""What a call costs: by the profile's own prices, else by the published ones, else nothing, which is logged once."""

import importlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import isclose
from typing import Final, TypeAlias

from wonder.actions.llm.question import Used
from wonder.definitions.records.resources import ModelProfile

log = logging.getLogger("wonder.actions.llm_call")

_FREE: Final = frozenset({"local", "mock"})
_FRESH_MS: Final = 3_600_000
_NOTHING: Final = Used()
_KNOWN_MAX: Final = 1_000
_FEW: Final = 1_000
_MANY: Final = 1_000_000


_Cost: TypeAlias = Callable[[Used], float]


@dataclass(frozen=True, slots=True)
class _PerToken:
    """Prices of one token each, in USD."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost_usd(self, used: Used) -> float:
        plain = max(used.input_tokens - used.cache_read_tokens - used.cache_write_tokens, 0)
        return (
            plain * self.input
            + used.cache_read_tokens * self.cache_read
            + used.cache_write_tokens * self.cache_write
            + used.output_tokens * self.output
        )


class Prices:
    """Knows what models cost; the published prices are looked up once an hour."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._published: dict[tuple[str, str], tuple[int, _Cost | None]] = {}
        self._warned: set[tuple[str, str]] = set()
        self._is_loaded = False

    def are_needed(self, profile: ModelProfile) -> bool:
        """Say whether published prices have to be loaded for this model, which takes most of a second."""
        return not self._is_loaded and self._own(profile) is None and profile.provider not in _FREE

    def load(self) -> None:
        """Load the published prices; without the library, none are known."""
        with suppress(ImportError):
            importlib.import_module("genai_prices")
        self._is_loaded = True

    def cost_usd(self, profile: ModelProfile, used: Used) -> float:
        """Return what these tokens cost."""
        if own := self._own(profile):
            return own.cost_usd(used)
        if profile.provider in _FREE or used == _NOTHING:
            return 0.0
        cost = self._lookup(profile)
        return cost(used) if cost else self._unknown(profile, used)

    def _own(self, profile: ModelProfile) -> _PerToken | None:
        given = profile.cost_per_1k_input_tokens, profile.cost_per_1k_output_tokens
        # One of the two is enough for a model without published prices: the other is free then.
        if given == (None, None) or (None in given and profile.provider not in _FREE):
            return None
        price, output = (float(per_1k or 0) / 1000 for per_1k in given)
        return _PerToken(price, output, price, price)

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

    def _lookup(self, profile: ModelProfile) -> _Cost | None:
        key = (profile.provider, profile.model_id)
        read_ms, known = self._published.get(key, (-_FRESH_MS, None))
        now_ms = self._now_ms()
        if not 0 <= now_ms - read_ms < _FRESH_MS:
            known = _published(*key)
            while len(self._published) >= _KNOWN_MAX:
                del self._published[next(iter(self._published))]
            self._published[key] = (now_ms, known)
        return known


def _published(provider: str, model_id: str) -> _Cost | None:
    """Return what tokens cost by the published prices, or None if there are none."""
    try:
        # Heavy, and asked for only by those without prices of their own.
        from genai_prices import Usage, calc_price
    except ImportError:
        return None

    def price(**usage: int) -> float:
        return float(calc_price(Usage(**usage), model_id, provider_id=provider).total_price)

    def exactly(used: Used) -> float:
        cached = min(used.cache_read_tokens, used.input_tokens)
        written = min(used.cache_write_tokens, used.input_tokens - cached)
        return price(
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=written,
        )

    try:
        if not isclose(price(input_tokens=_MANY), price(input_tokens=_FEW) * (_MANY / _FEW)):
            return exactly  # The price of a token depends on the length of the prompt.
        per_token = _PerToken(
            input=price(input_tokens=_MANY) / _MANY,
            output=price(output_tokens=_MANY) / _MANY,
            cache_read=price(input_tokens=_MANY, cache_read_tokens=_MANY) / _MANY,
            cache_write=price(input_tokens=_MANY, cache_write_tokens=_MANY) / _MANY,
        )
    except (LookupError, ValueError):
        return None
    return per_token.cost_usd
