"""A PromptSpec and the input of an action become the turns of a conversation."""

from wonder.actions.llm_call.question import Turn
from wonder.actions.llm_call.structure import WRAPPED, Shape
from wonder.actions.protocol import ActionFailed
from wonder.actions.secrets.template_names import SECRETS, names_of
from wonder.definitions.records.resources import PromptExample, PromptSpec
from wonder.language.schemas import ValueFault, compile_validator
from wonder.language.templates import Template, compile_template
from wonder.language.values import JsonValue, encode_json

_FAULTS_SHOWN = 3


class CompiledPrompt:
    """One version of a prompt, ready to be filled in; values are never read as templates."""

    __slots__ = ("_examples", "_requires", "_system", "_template", "name", "produces", "version")

    def __init__(self, prompt: PromptSpec) -> None:
        self.name, self.version, self.produces = prompt.name, prompt.version, prompt.produces
        self._template = compile_template(prompt.template)
        self._system = compile_template(prompt.system_prompt) if prompt.system_prompt else None
        self._requires = compile_validator(prompt.requires) if prompt.requires not in ({}, True, None) else None
        self._examples = [(self._asked(example), example.output) for example in prompt.examples or []]

    def system(self, input: JsonValue, shape: Shape) -> str | None:
        """Return the system prompt, with the schema of the answer where it has to be asked for in words."""
        said = self._system.render(names_of(input)) if self._system else ""
        return "\n\n".join(part for part in (said, shape.instruction) if part) or None

    def turns(self, input: JsonValue, shape: Shape) -> tuple[Turn, ...]:
        """Return the examples as turns that were said before, and the filled-in template as the last one."""
        turns: list[Turn] = []
        for asked, output in self._examples:
            turns += [Turn("user", asked), Turn("assistant", _written(output, shape))]
        return (*turns, Turn("user", self._template.render(names_of(input))))

    def check(self, input: JsonValue) -> None:
        """Raise ActionFailed unless the input has what the prompt requires."""
        if not isinstance(input, dict):
            message = f"the prompt {self.name!r} is filled in from an object; map one to the action's input"
            raise ActionFailed("PROMPT_INPUT_SCHEMA", message, details={"prompt": self.name})
        if self._requires and not self._requires.is_valid(input):
            raise self._misfit(self._requires.faults(input))

    def _misfit(self, faults: list[ValueFault]) -> ActionFailed:
        shown = "; ".join(str(fault) for fault in faults[:_FAULTS_SHOWN])
        more = f" (and {len(faults) - _FAULTS_SHOWN} more)" if faults[_FAULTS_SHOWN:] else ""
        message = f"the input does not have what the prompt {self.name!r} requires: {shown}{more}; correct the mapping"
        details: dict[str, JsonValue] = {"prompt": self.name, "version": self.version}
        return ActionFailed("PROMPT_INPUT_SCHEMA", message, details=details)

    def _asked(self, example: PromptExample) -> str:
        if isinstance(example.input, dict):
            return self._template.render(names_of(example.input))
        return example.input if isinstance(example.input, str) else encode_json(example.input)


def secrets_in(template: Template) -> set[str] | None:
    """Return the names of the secrets that a template reads, or None if it reads anything else."""
    names: set[str] = set()
    for path in template.names:
        if len(path) != 2 or path[0] != SECRETS:
            return None
        names.add(str(path[1]))
    return names


def _written(output: JsonValue, shape: Shape) -> str:
    """Write an example's output as the model is to write its own."""
    if shape.is_text and isinstance(output, str):
        return output
    return encode_json({WRAPPED: output} if shape.is_wrapped else output)
