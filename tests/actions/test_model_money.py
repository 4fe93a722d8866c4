"""Models under a budget (RES-6): the operator says what they cost and where they are, and no author or server does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.embedding_peer import DIMENSIONS, MODEL, EmbeddingPeer, embedding_peer
from support.llm_peers import Asking, KnownResources, RawServer, asking, http, openai_event, raw_server
from support.settled import SettledResources
from support.stored_records import vector_index
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.money.model_prices import Prices, PriceUnknown
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionContext, ActionFailed
from wonder.actions.resources import Tenancy
from wonder.definitions.addresses import base_url_of
from wonder.definitions.records.tenancy import ModelPrice, ProjectSettings, WorkspaceSettings


class Ledger:
    """Spending that notes what it is asked."""

    def __init__(self) -> None:
        self.reserved: list[float] = []
        self.settled: list[float] = []

    def charge(self, cost_usd: float) -> None:
        """Note a cost."""
        self.settled.append(cost_usd)

    @asynccontextmanager
    async def call(self, context: ActionContext, tenancy: Tenancy, worst_case_usd: float) -> AsyncIterator["Ledger"]:
        """Note a reservation."""
        self.reserved.append(worst_case_usd)
        yield self

    @asynccontextmanager
    async def embedding(self, tenancy: Tenancy, worst_case_usd: float) -> AsyncIterator["Ledger"]:
        """Note a reservation."""
        self.reserved.append(worst_case_usd)
        yield self


def price(provider: str, model_id: str, input: float, output: float, **fields: Any) -> dict[str, Any]:
    """An entry of the operator's list, in USD for a million tokens."""
    return {
        "provider": provider,
        "model_id": model_id,
        "input_usd_per_million": input,
        "output_usd_per_million": output,
        **fields,
    }


@asynccontextmanager
async def counting(counted: dict[str, int], **fields: Any) -> AsyncIterator[tuple[Asking, RawServer, Ledger]]:
    """A budgeted project's model at a server that says to have used so many tokens for its answer of 40 characters."""
    body = openai_event("x" * 40) + openai_event(None, "stop") + openai_event(choices=[], usage=counted)

    async def respond(writer: Any) -> None:
        writer.write(http(body + b"data: [DONE]\n\n", kind="text/event-stream"))

    async with raw_server(respond) as server:
        ledger, url = Ledger(), f"{server.url}/v1"
        resources = KnownResources()
        resources.prompt("prompt", "{{say}}")
        resources.model("model", "local", {"base_url": url}, parameters={"max_tokens": 100}, **fields)
        resources.project = ProjectSettings.model_validate({"budget": {"max_monthly_spend_cents": 1}})
        prices = [price("local", "some-model", 1_000_000, 1_000_000, base_url=url)]
        resources.workspace = WorkspaceSettings.model_validate(
            {"allowed_model_base_urls": [url], "model_prices": prices}
        )
        async with asking(resources, ledger) as ask:
            yield ask, server, ledger


@pytest.mark.parametrize(
    ("counted", "settled"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0}, 22),  # 44 bytes were sent, 40 characters said
        ({"prompt_tokens": -5, "completion_tokens": -1}, 22),
        ({"prompt_tokens": 1, "completion_tokens": 1}, 22),
        ({"prompt_tokens": 20, "completion_tokens": 50}, 70),
        ({"prompt_tokens": 10**9, "completion_tokens": 10**9}, 44 + 100),  # at most what was reserved
    ],
)
async def test_res_6_a_server_elsewhere_can_neither_hide_nor_invent_what_it_used(
    counted: dict[str, int], settled: int
) -> None:
    async with counting({**counted, "total_tokens": 0}) as (ask, _, ledger):
        assert (await ask("model", {"say": "x" * 12})).error is None
    assert (ledger.reserved, ledger.settled) == ([144.0], [settled])


@pytest.mark.parametrize("own", [{}, {"cost_per_1k_input_tokens": 0.0, "cost_per_1k_output_tokens": 0.0}])
async def test_res_6_an_authors_price_counts_for_nothing_under_a_budget(own: dict[str, float]) -> None:
    async with counting({"prompt_tokens": 20, "completion_tokens": 50, "total_tokens": 0}, **own) as (ask, _, ledger):
        await ask("model", {"say": "x" * 12})
        assert ledger.settled == [70.0]


@pytest.mark.parametrize(
    ("provider", "model_id", "elsewhere"),
    [
        ("local", "some-other-model", True),
        ("openai", "some-model", True),
        ("openai", "gpt-4o-mini", True),  # a published price is that of the provider, and not of who answers here
        ("openai", "free-for-all", False),
    ],
)
async def test_res_6_a_model_without_a_price_is_refused_under_a_budget(
    provider: str, model_id: str, elsewhere: bool
) -> None:
    async with counting({}) as (ask, server, ledger):
        config = {"api_key": "k", **({"base_url": f"{server.url}/v1"} if elsewhere else {})}
        costs = {"cost_per_1k_input_tokens": 9.0, "cost_per_1k_output_tokens": 9.0}
        ask.resources.model("model", provider, config, model_id=model_id, **costs)
        refused = await ask.fails("model", {"say": "x"})
        assert (refused.code, refused.retryable) == ("PRICE_UNKNOWN", False)
        assert "wonder workspace set model_prices" in refused.message
        assert (ledger.reserved, server.requests) == ([], [])


async def test_res_6_an_alert_without_a_limit_is_a_budget_too() -> None:
    async with counting({}) as (ask, server, _):
        ask.resources.project = ProjectSettings.model_validate({"budget": {"alert_threshold_cents": 1}})
        ask.resources.model("model", "local", {"base_url": f"{server.url}/v1"}, model_id="another")
        assert (await ask.fails("model", {"say": "x"})).code == "PRICE_UNKNOWN"


async def test_res_6_a_mock_is_free_unless_the_operator_says_what_it_costs() -> None:
    async with counting({}) as (ask, _, ledger):
        answers = [{"answer": "x", "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}]
        ask.resources.model("model", "mock", {"answers": answers}, cost_per_1k_input_tokens=1_000.0)
        await ask("model", {"say": "x"})
        prices = [ModelPrice.model_validate(price("mock", "some-model", 3, 0))]
        ask.resources.workspace = ask.resources.workspace.model_copy(update={"model_prices": prices})
        await ask("model", {"say": "x"})
    assert ledger.settled == [0.0, 3.0]


@pytest.mark.parametrize(
    ("provider", "model_id", "is_known"),
    [
        ("openai", "gpt-4o-mini", True),
        ("openai", "GPT-4o-mini", True),
        ("openai", "gpt-4o-mini-2024-07-18", True),
        ("anthropic", "claude-haiku-4-5", True),
        ("anthropic", "claude-haiku-4-5-20251001", True),
        ("anthropic", "claude-haiku-4-5-ultra", False),
        ("anthropic", "claude-haiku-4-56", False),
        ("google", "gemini-2.5-pro", True),
        ("google", "gemini-2.5-pro-ultra", False),
        ("local", "gpt-4o-mini", False),
    ],
)
def test_res_6_a_published_price_counts_for_exactly_the_model_that_it_names(
    provider: str, model_id: str, is_known: bool
) -> None:
    """A name that only begins alike may be a model ten times as dear."""
    prices = Prices(lambda: 0)
    if is_known:
        assert prices.under_budget(provider, model_id, None, [], "it")(Used(1_000_000, 0)) > 0
    else:
        with pytest.raises(PriceUnknown):
            prices.under_budget(provider, model_id, None, [], "it")


@pytest.mark.parametrize(("local", "listed"), [(False, None), (False, []), (True, []), (True, ["http://x.example"])])
async def test_res_6_a_base_url_is_the_operators_to_allow(local: bool, listed: list[str] | None) -> None:
    """Without a list, in long-running processes; with one, everywhere. Private addresses being allowed says nothing."""
    async with counting({}) as (ask, server, _):
        ask.resources.local = local
        ask.resources.workspace = WorkspaceSettings.model_validate(
            {"allowed_model_base_urls": listed, "allow_private_addresses": True}
        )
        ask.resources.model("model", "local", {"base_url": f"{server.url}/v1"})
        async with asking(ask.resources) as again:
            refused = await again.fails("model", {"say": "x"})
        assert refused.code == "BASE_URL_NOT_ALLOWED"
        assert f"{server.url}/v1\"]'" in refused.message.partition("wonder workspace set allowed_model_base_urls")[2]
        assert server.requests == []


async def test_res_6_a_base_url_that_is_listed_may_be_private_and_no_other_path_of_its_server_is() -> None:
    async with counting({}) as (ask, server, _):
        assert (await ask("model", {"say": "x"})).error is None
        for path in ("", "/v2", "/v1/../admin", "/v1?x=1"):
            ask.resources.model("model", "local", {"base_url": f"{server.url}{path}"})
            assert (await ask.fails("model", {"say": "x"})).code == "BASE_URL_NOT_ALLOWED"
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://LOCALHOST/v1/", "http://localhost:80/v1", True),
        ("https://h.example./v1", "https://h.example:443/v1", True),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/", True),
        ("https://h.example/v1", "http://h.example/v1", False),
        ("https://h.example/v1", "https://h.example/V1", False),
        ("https://h.example/v1", "https://h.example@evil.example/v1", False),
    ],
)
def test_base_urls_are_compared_by_where_they_lead(one: str, other: str, same: bool) -> None:
    assert (base_url_of(one) == base_url_of(other)) is same


@pytest.fixture
async def peer() -> AsyncIterator[EmbeddingPeer]:
    """A server of embeddings."""
    async with embedding_peer() as made:
        yield made


async def embed(peer: EmbeddingPeer, workspace: dict[str, Any], *, local: bool = True) -> Ledger:
    """Embed a text of 40 characters under a budget, at a server that a secret names."""
    secrets = {"OPENAI_BASE_URL": peer.base_url, "OPENAI_API_KEY": "the-key"}
    project = {"budget": {"max_monthly_spend_cents": 1}}
    resources = SettledResources(workspace=workspace, project=project, secrets=secrets, local=local)
    index = vector_index(
        "notes", "project", ["note"], dimensions=DIMENSIONS, embedding_provider="openai", embedding_model=MODEL
    )
    ledger = Ledger()
    embedder = Embedder(resources, lambda: 0, ledger)  # type: ignore[arg-type]
    try:
        await embedder.embed(index, ["x" * 40])
    finally:
        await embedder.close()
    return ledger


async def test_res_6_embeddings_count_against_a_budget(peer: EmbeddingPeer) -> None:
    listed = {"allowed_model_base_urls": [peer.base_url]}
    prices = [price("openai", MODEL, 1_000_000, 0, base_url=peer.base_url)]
    ledger = await embed(peer, {**listed, "model_prices": prices})
    assert ledger.reserved == [40.0]
    assert len(ledger.settled) == 1
    assert 11.0 <= ledger.settled[0] <= 40.0
    with pytest.raises(PriceUnknown):
        await embed(peer, listed)


async def test_res_6_what_embeds_is_where_the_operator_allows_it(peer: EmbeddingPeer) -> None:
    with pytest.raises(ActionFailed) as refused:
        await embed(peer, {"allow_private_addresses": True}, local=False)
    assert refused.value.code == "BASE_URL_NOT_ALLOWED"
