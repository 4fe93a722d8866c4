"""A call of a model from its prompt to its value, with all that calls share (ACT-1)."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

from wonder.actions.equipment import Equipment
from wonder.actions.llm_call.answers import check_end, value_of
from wonder.actions.llm_call.clients import Client, Clients
from wonder.actions.llm_call.noted_call import NotedCall
from wonder.actions.llm_call.question import Question
from wonder.actions.llm_call.record import LlmCall
from wonder.actions.llm_call.rendering import CompiledPrompt
from wonder.actions.llm_call.spending_protocol import ReservedCall, Spending
from wonder.actions.llm_call.structure import Shape, shape_of
from wonder.actions.llm_call.talk import Talk
from wonder.actions.money.model_prices import Prices
from wonder.actions.money.published_prices import Cost
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionContext, ActionFailed, Origin
from wonder.actions.resources import Tenancy
from wonder.definitions.records.providers import Structured
from wonder.definitions.records.resources import ModelProfile, PromptSpec
from wonder.language.schemas import Schema
from wonder.language.values import JsonValue

_PROMPTS_MAX: Final = 1_000
_SHAPES_MAX: Final = 100
# An answer of more characters is read in a thread.
_SMALL: Final = 256 * 1024


class Models:
    """What all calls of an engine share: prompts compiled, connections open, prices known."""

    def __init__(self, equipment: Equipment, spending: Spending | None) -> None:
        self.resources, self.spending, self._threads = equipment.resources, spending, equipment.threads
        self.clients = Clients(equipment.resources, equipment.threads, equipment.sleep)
        self.prices = Prices(equipment.now_ms)
        self._prompts: dict[tuple[str, int], CompiledPrompt] = {}

    def compiled(self, prompt: PromptSpec) -> CompiledPrompt:
        """Return one version of a prompt, compiled once."""
        key = (prompt.id, prompt.version)
        known = self._prompts.get(key)
        if known is None:
            while len(self._prompts) >= _PROMPTS_MAX:
                del self._prompts[next(iter(self._prompts))]
            known = self._prompts[key] = CompiledPrompt(prompt)
        return known

    async def cost_of(
        self, profile: ModelProfile, base_url: str | None, tenancy: Tenancy, context: ActionContext
    ) -> Cost:
        """Return what tokens of a model cost; raises PriceUnknown under a budget."""
        prices = self.prices
        if prices.are_needed(profile, under_budget=tenancy.has_budget):
            context.hold()
            await self._threads.call(prices.load, context.begin)
        if not tenancy.has_budget:
            return lambda used: prices.cost_usd(profile, used)
        named = f"the model {profile.name!r}"
        return prices.under_budget(profile.provider, profile.model_id, base_url, tenancy.workspace.model_prices, named)

    async def value_of(self, text: str, shape: Shape, model: str) -> JsonValue:
        """Read a large answer in a thread, because it takes seconds."""
        value: JsonValue = await self._threads.call(lambda: value_of(text, shape, model))
        return value

    async def close(self) -> None:
        """Close all connections."""
        await self.clients.close()


class ModelCall:
    """A call of a model with one prompt."""

    __slots__ = ("_configured", "_models", "_produces", "_shapes")

    def __init__(self, models: Models, configured: LlmCall, produces: Schema | None) -> None:
        self._models, self._configured = models, configured
        self._produces = None if produces in ({}, True, None) else produces
        self._shapes: dict[tuple[str, int, str, Structured], Shape] = {}

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Ask the model and return its answer."""
        models, origin = self._models, context.origin
        tenancy = await models.resources.tenancy(origin.project_id)
        profile = await self._profile(tenancy, origin)
        allowed = tenancy.workspace.allowed_model_providers
        if allowed is not None and profile.provider not in allowed:
            raise _not_allowed(profile, allowed)
        stored = await models.resources.at_start(PromptSpec, self._configured.prompt_spec_id, origin)
        prompt = models.compiled(stored)
        prompt.check(input)
        client = await models.clients.of(profile, tenancy, context)
        shape = self._shape(stored, profile, client)
        question = Question(
            profile.model_id,
            profile.parameters,
            prompt.system(input, shape),
            prompt.turns(input, shape),
            shape.native.schema if shape.native else None,
            shape.native.is_strict if shape.native else False,
            origin.run_id,
        )
        cost = await models.cost_of(profile, client.base_url, tenancy, context)
        return await self._ask(question, shape, client, profile, cost, tenancy, context)

    async def _ask(
        self,
        question: Question,
        shape: Shape,
        client: Client,
        profile: ModelProfile,
        cost: Cost,
        tenancy: Tenancy,
        context: ActionContext,
    ) -> JsonValue:
        model = f"the model {profile.name!r} ({profile.model_id})"
        talk = Talk(client.provider, question, model, context)
        with NotedCall(profile, context) as noted:
            async with AsyncExitStack() as reserved:
                call = await self._reserve(reserved, question, cost, tenancy, context)
                noted.begin()
                try:
                    await talk.run(client.timeout_ms)
                finally:
                    # Also when it failed: what was used up is to be paid.
                    used = talk.used
                    is_believed = client.base_url is None or not tenancy.has_budget
                    cost_usd = cost(used if is_believed else talk.charged)
                    noted.answered(used.input_tokens, used.output_tokens, cost_usd)
                    if call and talk.is_counted:
                        call.charge(cost_usd)  # Otherwise the worst case counts: a budget must hold for the bill.
            assert talk.ended
            text = talk.text
            check_end(talk.ended, text, model)
            if len(text) <= _SMALL:
                return value_of(text, shape, model)
            return await self._models.value_of(text, shape, model)

    async def _reserve(
        self,
        reserved: AsyncExitStack,
        question: Question,
        cost: Cost,
        tenancy: Tenancy,
        context: ActionContext,
    ) -> ReservedCall | None:
        if self._models.spending is None:
            return None
        # No model makes more than one token of a byte, so this is the worst case indeed.
        most = Used(question.size_bytes, question.parameters.max_tokens)
        return await reserved.enter_async_context(self._models.spending.call(context, tenancy, cost(most)))

    async def _profile(self, tenancy: Tenancy, origin: Origin) -> ModelProfile:
        wanted = self._configured.model_profile_id or tenancy.project.default_model_profile_id
        if wanted is None:
            message = (
                "the action names no model and its project has no default; set model_profile_id, or give the project "
                "one: wonder project set default_model_profile_id NAME"
            )
            raise ActionFailed("NO_MODEL", message)
        return await self._models.resources.model_of_run(wanted, origin)

    def _shape(self, prompt: PromptSpec, profile: ModelProfile, client: Client) -> Shape:
        key = (prompt.id, prompt.version, profile.provider, client.structured)
        known = self._shapes.get(key)
        if known is None:
            schema = prompt.produces if self._produces is None else self._produces
            while len(self._shapes) >= _SHAPES_MAX:
                del self._shapes[next(iter(self._shapes))]
            known = self._shapes[key] = shape_of(schema, client.structured, client.provider.native)
        return known


def _not_allowed(profile: ModelProfile, allowed: Sequence[str]) -> ActionFailed:
    names = ", ".join(allowed) or "none"
    message = (
        f"the workspace does not allow models of {profile.provider} (allowed: {names}); use another model, or add it "
        "to allowed_model_providers in the settings of the workspace"
    )
    return ActionFailed("PROVIDER_NOT_ALLOWED", message, details={"provider": profile.provider, "model": profile.name})
