"""Idempotency keys of actions, rendered the same way for a worker's actions and for calls of sub-workflows (RET-4)."""

from wonder.errors import WonderError
from wonder.language.keys import check_key
from wonder.language.templates import Template, TemplateVariableMissing
from wonder.language.values import JsonValue


class KeyUnknown(WonderError):
    """The idempotency key of an action has a variable that its input does not have (RET-4)."""

    code = "IDEMPOTENCY_KEY_UNKNOWN"

    def __init__(self, action: str, template: str, variable: str, found: str) -> None:
        super().__init__(
            f"the action {action!r} was not run: {{{{{variable}}}}} of its idempotency key {template[:200]!r} is "
            f"{found}; correct key_template, or map it into the action's input"
        )
        self.action, self.template, self.variable, self.found = action, template, variable, found


def render_key(template: Template, action: str, input: JsonValue, run_id: str, node: str, branch: str) -> str:
    """Give the key of one execution; raises KeyUnknown, KeyRefused or what its template raises."""
    scope: dict[str, JsonValue] = {
        **(input if isinstance(input, dict) else {}),
        "input": input,
        "run_id": run_id,
        "node": node,
        "branch": branch,
    }
    try:
        text = template.render(scope)
    except TemplateVariableMissing as error:
        # Empty text in its place would be the same key for things that differ, and the first result for all.
        raise KeyUnknown(action, error.text, error.name, error.found) from error
    check_key(f"the idempotency key of the action {action!r},", text)
    return text
