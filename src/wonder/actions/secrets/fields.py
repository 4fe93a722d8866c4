"""The secret fields of an action of a user's kind: filled before it runs, so that its code just reads them (INV-8)."""

from collections.abc import Callable
from typing import Final

from wonder.actions.protocol import ActionFailed, ActionKind, CompiledAction, Origin, Use
from wonder.actions.resources import Secrets
from wonder.actions.secrets.template_names import SECRETS, secrets_read
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.secret_scopes import Destination
from wonder.errors import WonderError
from wonder.language.templates import Template, TemplateVariableMissing, compile_template
from wonder.language.values import JsonValue

# An action of a library is used by several projects, each with secrets of its own.
_COMPILED_MAX: Final = 8


class SecretFields:
    """The texts of an implementation that name secrets; `read` has the names of those, if there are any."""

    def __init__(self, kind: ActionKind, action: ActionDef, use: Use, secrets: Secrets) -> None:
        self._kind, self._action, self._use, self._secrets = kind, action, use, secrets
        self._templates: dict[str, Template] = {}
        for value in self._fields().values():
            _change_texts(value, self._gather)
        self.read = secrets_read(self._templates.values())
        self._compiled: dict[tuple[str, ...], CompiledAction] = {}

    async def compiled(self, origin: Origin) -> CompiledAction:
        """Give the action as it is with the secrets of a project; raises SecretMissing and what its kind raises."""
        to = Destination("kind", self._kind.kind)
        values = await self._secrets.values(origin.project_id, self.read, lambda _: to, origin.run_id)
        key = tuple(values[name] for name in sorted(self.read))
        known = self._compiled.get(key)
        if known is None:
            while len(self._compiled) >= _COMPILED_MAX:
                del self._compiled[next(iter(self._compiled))]
            known = self._compiled[key] = self._compile(values)
        return known

    def _compile(self, values: dict[str, str]) -> CompiledAction:
        scope: dict[str, JsonValue] = {SECRETS: dict(values)}

        def fill(text: str) -> str:
            template = self._templates.get(text)
            return template.render(scope) if template else text

        try:
            filled = {name: _change_texts(value, fill) for name, value in self._fields().items()}
        except TemplateVariableMissing as error:
            message = f"{error}: a field of secrets is filled with those alone; read the input in the kind's own code"
            raise ActionFailed("BAD_SECRET_FIELD", message) from error
        implementation = {**self._action.implementation, **filled}
        action = self._action.model_copy(update={"implementation": implementation})
        return self._kind.compile(action, self._use)  # type: ignore[return-value]  # a kind that acts

    def _fields(self) -> dict[str, JsonValue]:
        given, names = self._action.implementation, self._kind.configuration.secret_fields
        return {name: value for name, value in given.items() if name in names} if isinstance(given, dict) else {}

    def _gather(self, text: str) -> str:
        if SECRETS in text and "{{" in text:
            try:
                template = compile_template(text, strict=True)
            except WonderError:
                return text  # No template of ours.
            if secrets_read([template]):
                self._templates[text] = template
        return text


def _change_texts(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _change_texts(held, change) for key, held in value.items()}
    if isinstance(value, list):
        return [_change_texts(held, change) for held in value]
    return value
