"""`llm_call`: a prompt filled in, a model asked, its answer as a value that fits `produces` (ACT-1)."""

from typing import TYPE_CHECKING

from wonder.actions.equipment import Equipment
from wonder.actions.llm_call.declaration import Declaration
from wonder.actions.llm_call.spending_protocol import Spending
from wonder.actions.protocol import ActionKind, CompiledAction, Use
from wonder.definitions.records.actions import ActionDef

if TYPE_CHECKING:
    from wonder.actions.llm_call.calling import Models


class LlmCallKind(Declaration, ActionKind):
    """Asks models; keeps prompts compiled and connections open between calls."""

    def __init__(self, equipment: Equipment, spending: Spending | None = None) -> None:
        self._equipment, self._spending = equipment, spending
        self._models: Models | None = None

    @classmethod
    def made_with(cls, equipment: Equipment) -> "LlmCallKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment, equipment.spending)

    def compile(self, action: ActionDef, use: Use) -> CompiledAction:
        """Make a call ready; what it names is looked up when it is run."""
        # Loaded by those who ask models, because it is a good part of what all of Wonder takes to load.
        from wonder.actions.llm_call.calling import ModelCall, Models

        if self._models is None:
            self._models = Models(self._equipment, self._spending)
        return ModelCall(self._models, self.read(action), action.produces)

    async def close(self) -> None:
        """Close all connections."""
        if self._models:
            await self._models.close()
