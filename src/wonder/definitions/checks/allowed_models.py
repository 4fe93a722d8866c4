"""Checks of models against what the operator allows: a model that would be refused when it is used is named before."""

from wonder.definitions.addresses import base_url_of, why_no_address
from wonder.definitions.catalog import Allowed
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.providers import OWN_ADDRESSES
from wonder.definitions.records.resources import ModelProfileBody


def check_allowed(model: ModelProfileBody, allowed: Allowed, path: Path, findings: Findings) -> None:
    """Warn of a model whose address is not allowed, or whose price is not known where there is a budget.

    Warnings, because settings may change before the model is used; and only where `base_url` is written out.
    """
    given = (model.execution_config or {}).get("base_url")
    if not isinstance(given, str) or "{{" in given or why_no_address(given):
        return
    base_url, own = base_url_of(given), OWN_ADDRESSES.get(model.provider)
    if own is not None and base_url == base_url_of(own):
        return
    where = (*path, "execution_config", "base_url")
    listed = allowed.workspace.allowed_model_base_urls
    if listed is not None and base_url not in listed:
        message = f"models at {given} are not allowed: it is not in allowed_model_base_urls of the workspace"
        hint = "leave it out for the provider's own address, or have the operator allow it: wonder workspace set"
        findings.warning("base_url_not_allowed", where, message, f"{hint} allowed_model_base_urls '[\"{base_url}\"]'")
    priced = {(price.provider, price.model_id, price.base_url) for price in allowed.workspace.model_prices}
    if allowed.has_budget and (model.provider, model.model_id, base_url) not in priced:
        message = f"there is a budget, and what '{model.model_id}' costs at {given} is not in model_prices"
        hint = "have the operator add it to model_prices of the workspace; the model's own prices don't count there"
        findings.warning("price_unknown", where, message, hint)
