"""The published prices of models, from genai-prices."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from typing import Any, Final, TypeAlias

from wonder.actions.money.tokens import Used

Cost: TypeAlias = Callable[[Used], float]
"""What tokens cost, in USD."""

_FEW: Final = 1_000
_MANY: Final = 1_000_000
# What providers add to the name of a model for one version of it.
_VERSION: Final = re.compile(r"[-@](latest|\d{3}|\d{8}|\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, slots=True)
class PerToken:
    """Prices of one token each, in USD."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost_usd(self, used: Used) -> float:
        """Return what these tokens cost."""
        plain = max(used.input_tokens - used.cache_read_tokens - used.cache_write_tokens, 0)
        return (
            plain * self.input
            + used.cache_read_tokens * self.cache_read
            + used.cache_write_tokens * self.cache_write
            + used.output_tokens * self.output
        )


def flat_price(input: float, output: float) -> PerToken:
    """Return prices of one token each that make no difference for a cache."""
    return PerToken(input, output, input, input)


def published(provider: str, model_id: str) -> tuple[Cost, bool] | None:
    """Return what tokens cost by the published prices, and whether these name exactly this model; None without any."""
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
        is_named = names_exactly(calc_price(Usage(), model_id, provider_id=provider).model.match, model_id.lower())
        if not isclose(price(input_tokens=_MANY), price(input_tokens=_FEW) * (_MANY / _FEW)):
            return exactly, is_named  # The price of a token depends on the length of the prompt.
        per_token = PerToken(
            input=price(input_tokens=_MANY) / _MANY,
            output=price(output_tokens=_MANY) / _MANY,
            cache_read=price(input_tokens=_MANY, cache_read_tokens=_MANY) / _MANY,
            cache_write=price(input_tokens=_MANY, cache_write_tokens=_MANY) / _MANY,
        )
    except (LookupError, ValueError):
        return None
    return per_token.cost_usd, is_named


def names_exactly(match: Any, model_id: str) -> bool:
    """Return whether a rule of genai-prices names a model, and not just the beginning or a part of its name.

    A new model with a longer name may cost ten times as much as the one whose name it begins with.
    """
    if (equals := getattr(match, "equals", None)) is not None:
        return bool(model_id == equals.lower())
    if (begin := getattr(match, "starts_with", None)) is not None:
        rest = model_id.removeprefix(begin.lower())
        return model_id.startswith(begin.lower()) and (not rest or _VERSION.fullmatch(rest) is not None)
    parts = getattr(match, "or_", None) or getattr(match, "and_", None) or ()
    return any(names_exactly(part, model_id) for part in parts)
