"""A template's syntax tree to functions that render it."""

from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote

from wonder.language.paths import MISSING, Path
from wonder.language.templates.faults import TemplateSyntax, TemplateVariableMissing
from wonder.language.templates.helpers import BLOCKS, VALUES, BlockParts, render_plain_block
from wonder.language.templates.rendering import Evaluate, Found, Output, Render, Scope, member, text_of
from wonder.language.templates.tree import (
    Block,
    Call,
    Comment,
    Content,
    Expression,
    Literal,
    Mustache,
    PathExpression,
    Program,
    Statement,
)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of `this` before rendering: the paths of it and of all around it, None where unknown."""

    bases: tuple[Path | None, ...] = ((),)
    names: frozenset[str] = frozenset()

    def inside(self, base: Path | None, names: tuple[str, ...]) -> "Place":
        """Return the place inside a block about another value."""
        return Place((base, *self.bases), self.names.union(names))


class TemplateCompiler:
    """Compiles one template; `reads` gathers the paths that it reads from its root, as far as they are known."""

    def __init__(self, text: str, *, percent_encode: bool, strict: bool = False) -> None:
        self.text, self.percent_encode, self.strict = text, percent_encode, strict
        self.reads: dict[Path, None] = {}

    def program(self, program: Program | None, place: Place) -> Render:
        """Return the function that renders a row of statements."""
        statements = program.body if program is not None else []
        renders = [render for statement in statements if (render := self.statement(statement, place)) is not None]
        if len(renders) == 1:
            return renders[0]

        def render_all(scope: Scope, out: Output) -> None:
            out.spend(len(renders))
            for render in renders:
                render(scope, out)

        return render_all

    def statement(self, statement: Statement, place: Place) -> Render | None:
        match statement:
            case Content(value=text) if text:
                return lambda scope, out: out.write(text)
            case Mustache():
                return self.mustache(statement, place)
            case Block():
                return self.block(statement, place)
            case Content() | Comment():
                return None
            case _:
                assert_never(statement)

    def mustache(self, mustache: Mustache, place: Place) -> Render:
        value = self.call(mustache.call, place)
        if self.strict:
            value = _there(value, self.text, mustache.call.path.original)
        if self.percent_encode:
            return lambda scope, out: out.write(quote(text_of(value(scope)), safe=""))
        return lambda scope, out: out.write(text_of(value(scope)))

    def block(self, block: Block, place: Place) -> Render:
        call = block.call
        name = call.path.helper_name
        helper = BLOCKS.get(name) if name is not None else None
        if helper is None:
            if name in VALUES:
                raise TemplateSyntax(self.text, call.path.position, f"{name} is no block", f"write {{{{{name} …}}}}")
            if call.arguments or call.options:
                raise self.unknown_helper(call)
            subject: Expression = call.path
            helper = render_plain_block
        elif len(call.arguments) != 1:
            reason = f"#{name} takes one value, and was given {len(call.arguments)}"
            raise TemplateSyntax(self.text, call.path.position, reason, f"write {{{{#{name} value}}}}")
        else:
            subject = call.arguments[0]
        inner = (
            place if name in ("if", "unless") else place.inside(self.base_of(name, subject, place), call.block_names)
        )
        return helper(
            BlockParts(
                value=self.expression(subject, place),
                options={key: self.expression(option, place) for key, option in call.options.items()},
                names=call.block_names,
                then=self.program(block.program, inner),
                otherwise=self.program(block.inverse, place),
            )
        )

    def base_of(self, name: str | None, subject: Expression, place: Place) -> Path | None:
        return self.known_path(subject, place) if name == "with" and isinstance(subject, PathExpression) else None

    def call(self, call: Call, place: Place) -> Evaluate:
        name = call.path.helper_name
        if name in BLOCKS and name not in place.names:
            raise TemplateSyntax(self.text, call.path.position, f"{name} is a block", f"write {{{{#{name} …}}}}…")
        if name in VALUES and name not in place.names:
            count, evaluate = VALUES[name]
            if len(call.arguments) != count or call.options:
                reason = f"{name} takes {count} value{'s' if count > 1 else ''}"
                hint = f"for a field of that name write {{{{this.{name}}}}}"
                raise TemplateSyntax(self.text, call.path.position, reason, hint)
            arguments = [self.expression(argument, place) for argument in call.arguments]
            return lambda scope: evaluate(*[argument(scope) for argument in arguments])
        if call.arguments or call.options:
            raise self.unknown_helper(call)
        return self.path(call.path, place)

    def expression(self, expression: Expression, place: Place) -> Evaluate:
        match expression:
            case Literal(value=value):
                return lambda scope: value
            case PathExpression():
                return self.path(expression, place)
            case Call():
                if expression.path.helper_name not in VALUES:
                    raise self.unknown_helper(expression)
                return self.call(expression, place)

    def path(self, path: PathExpression, place: Place) -> Evaluate:
        if (known := self.known_path(path, place)) is not None:
            self.reads[known] = None
        parts, depth = path.parts, path.depth
        if path.is_variable:
            return _variable(parts, depth)
        if parts and not depth and not path.scoped and parts[0] in place.names:
            return lambda scope: _walk(scope.names.get(parts[0], MISSING), parts[1:])
        if len(parts) == 1 and not depth:
            (name,) = parts
            return lambda scope: member(scope.this, name)
        if not depth:
            return lambda scope: _walk(scope.this, parts)
        return lambda scope: _walk(_outer(scope, depth), parts)

    def known_path(self, path: PathExpression, place: Place) -> Path | None:
        if path.is_variable:
            return path.parts[1:] if path.parts[:1] == ("root",) else None
        if path.depth >= len(place.bases):
            return None
        if path.parts and not path.depth and not path.scoped and path.parts[0] in place.names:
            return None
        base = place.bases[path.depth]
        return None if base is None else (*base, *path.parts)

    def unknown_helper(self, call: Call) -> TemplateSyntax:
        known = ", ".join(sorted([*BLOCKS, *VALUES]))
        reason = f"there is no helper {call.path.original!r}"
        return TemplateSyntax(self.text, call.path.position, reason, f"the helpers are {known}")


def _there(value: Evaluate, text: str, name: str) -> Evaluate:
    def evaluate(scope: Scope) -> Found:
        found = value(scope)
        if found is MISSING or found is None or isinstance(found, dict):
            told = "an object" if isinstance(found, dict) else "null" if found is None else "not there"
            raise TemplateVariableMissing(text, name, told)
        return found

    return evaluate


def _walk(value: Found, parts: tuple[str, ...]) -> Found:
    for part in parts:
        value = member(value, part)
    return value


def _outer(scope: Scope, depth: int) -> Found:
    found: Scope | None = scope
    for _ in range(depth):
        found = found.outer if found is not None else None
    return MISSING if found is None else found.this


def _variable(parts: tuple[str, ...], depth: int) -> Evaluate:
    if not parts:
        return lambda scope: MISSING
    first, rest = parts[0], parts[1:]

    def evaluate(scope: Scope) -> Found:
        frames = (scope.variables, *scope.outer_variables)
        return _walk(frames[depth].get(first, MISSING), rest) if depth < len(frames) else MISSING

    return evaluate
