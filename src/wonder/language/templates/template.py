"""Compiled templates."""

from typing import Literal

from wonder.language.paths import Path
from wonder.language.steps import spend, spend_on_text
from wonder.language.templates.faults import TemplateSyntax
from wonder.language.templates.rendering import STEPS_MAX, Output, Render, Scope
from wonder.language.values import JsonValue

TEXT_MAX = 1_000_000
OUTPUT_MAX = 1_000_000
# A turn of a block makes scopes, and takes as long as five steps of a query.
_STEPS_A_STEP = 5


class Template:
    """A compiled template, immutable; `names` are the paths that it reads, as far as they are known beforehand."""

    __slots__ = ("_output_max", "_render", "names", "text")

    def __init__(self, text: str, render: Render, names: tuple[Path, ...], output_max: int) -> None:
        self.text, self.names = text, names
        self._render, self._output_max = render, output_max

    def render(self, scope: dict[str, JsonValue]) -> str:
        """Return the text for these values; raises TemplateTooLarge when it would be too long."""
        out = Output(self._output_max)
        try:
            self._render(Scope(scope, None, {"root": scope}, (), {}), out)
        finally:
            spend((STEPS_MAX - max(out.steps_left, 0)) * _STEPS_A_STEP)
        text = "".join(out.parts)
        spend_on_text(len(text))
        return text


def compile_template(
    text: str, *, escape: Literal["none", "url"] = "none", output_max: int = OUTPUT_MAX, strict: bool = False
) -> Template:
    """Compile Handlebars; raises TemplateSyntax.

    With `escape="url"` each value is percent-encoded, save in `{{{x}}}`, which stands for a part of a URL as it is.
    With `strict` a variable to write that is not there, null or an object makes rendering it raise
    TemplateVariableMissing; `{{#if x}}` may still ask for it.
    """
    if len(text) > TEXT_MAX:
        raise TemplateSyntax(text, TEXT_MAX, f"longer than {TEXT_MAX:,} characters", "shorten it")
    # Imported here, because they take 8 ms to load and many workflows have no template.
    from wonder.language.templates.compiler import Place, TemplateCompiler
    from wonder.language.templates.parser import parse_template
    from wonder.language.templates.whitespace import strip_whitespace

    program = parse_template(text)
    strip_whitespace(program)
    compiler = TemplateCompiler(text, percent_encode=escape == "url", strict=strict)
    render = compiler.program(program, Place())
    return Template(text, render, tuple(compiler.reads), output_max)
