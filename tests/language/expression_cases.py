"""Generates expressions and contexts for the comparison with SQLite, and counts what they cover."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from random import Random
from typing import Any

from expression_specimens import ABSENT, ARGUMENTS, CASES, LITERALS, SPECIMENS, TELLING, TYPES, VALUES

from wonder.language.expressions.functions import DATE_FUNCTIONS, FUNCTIONS, SPECIAL_FUNCTIONS

# How a path is written, and where its value is put.
PATHS: dict[str, tuple[str | int, ...]] = {
    "state.a": ("state", "a"),
    "b": ("state", "b"),
    "input.user.id": ("input", "user", "id"),
    'state."a-b"': ("state", "a-b"),
    "state.rows[1].price": ("state", "rows", 1, "price"),
    "item.price": ("item", "price"),
    "item": ("item",),
    "_branch.index": ("_branch", "index"),
    "output.end": ("output", "end"),
    "_last_error.code": ("_last_error", "code"),
    "state._last_error.attempts": ("_last_error", "attempts"),
    "state.select": ("state", "select"),
}

# Each operator with the text behind its left operand; `_` is where an operand goes.
_LOGIC = ["or", "and", "=", "==", "!=", "<>", "<", "<=", ">", ">=", "is", "like", "glob"]
_ARITHMETIC = ["&", "|", "<<", ">>", "+", "-", "*", "/", "%", "||", "->", "->>"]
_PHRASES = ["is not", "is distinct from", "is not distinct from", "not like", "not glob"]
INFIX = {
    **{name: f" {name} _" for name in [*_LOGIC, *_PHRASES, *_ARITHMETIC]},
    "in": " in (_, _)",
    "not in": " not in (_, _, _)",
    "between": " between _ and _",
    "not between": " not between _ and _",
    "like escape": " like _ escape '!'",
}
POSTFIX = {
    name: f" {name}" for name in ["isnull", "notnull", "not null", "collate nocase", "collate rtrim", "collate binary"]
}
PREFIX = {"not": "not ", "+x": "+ ", "-x": "- ", "~": "~"}


def all_pairs() -> set[tuple[str, str]]:
    """Every two operators that can follow each other without a parenthesis."""
    behind = [*INFIX, *POSTFIX]
    return {*product(behind, behind), *product(PREFIX, [*behind, *PREFIX]), *product(INFIX, PREFIX)}


def all_functions() -> set[str]:
    """Every function that an expression may call."""
    return {*FUNCTIONS, *SPECIAL_FUNCTIONS}


@dataclass(frozen=True)
class Parameter:
    """A path inside an expression, in the place where SQLite gets a parameter."""

    name: str


Piece = str | Parameter


@dataclass(frozen=True)
class Case:
    """An expression in pieces, and the values of the paths in it."""

    pieces: tuple[Piece, ...]
    values: dict[str, Any]

    @property
    def text(self) -> str:
        """The expression as Wonder gets it."""
        return "".join(piece if isinstance(piece, str) else piece.name for piece in self.pieces)

    def scope(self) -> dict[str, Any]:
        """The values as a context has them."""
        scope: dict[str, Any] = {"state": {}, "input": {}, "output": {}, "_branch": {}, "_last_error": {}}
        for name, value in self.values.items():
            if value is not ABSENT:
                _put(scope, PATHS[name], value)
        return scope

    def shown(self) -> str:
        """The case for a person."""
        values = {name: "absent" if value is ABSENT else value for name, value in self.values.items()}
        return f"{self.text}   where {json.dumps(values, ensure_ascii=False)}"


def _put(scope: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    place: Any = scope
    for segment, following in pairwise(path):
        if isinstance(segment, int):
            place = place[segment]
        else:
            place = place.setdefault(segment, [{} for _ in range(following + 1)] if isinstance(following, int) else {})
    place[path[-1]] = value


@dataclass
class Coverage:
    """How often each pair of operators, each function and each kind of value came up."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def missing(self) -> set[Any]:
        """Return what should have come up and did not."""
        return (
            (all_pairs() - set(self.pairs)) | (all_functions() - set(self.functions)) | (set(VALUES) - set(self.kinds))
        )

    def report(self) -> str:
        """Say what was covered, for a person."""
        fewest = min(self.pairs.values())
        lines = [f"operator pairs: {len(self.pairs)} of {len(all_pairs())}, each at least {fewest} times"]
        lines += [f"functions: {len(self.functions)} of {len(all_functions())}", _counts(self.functions)]
        lines += [f"kinds of value: {len(self.kinds)} of {len(VALUES)}", _counts(self.kinds)]
        return "\n".join([*lines, f"missing: {sorted(map(str, self.missing())) or 'nothing'}"])


def _counts(counter: Counter[str]) -> str:
    return "  " + ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


class Generator:
    """Makes cases from a seed; the same seed gives the same cases."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.coverage = Coverage()
        self._values: dict[str, Any] = {}

    def cases(self, each_pair: int, each_function: int, mixed: int) -> Iterator[Case]:
        """Yield so many cases for every pair of operators, for every function, and of all kinds mixed."""
        for pair in sorted(all_pairs()):
            yield from self._several(each_pair, partial(self._pair, *pair))
        for name in sorted(all_functions()):
            yield from self._several(each_function, partial(self._wrapped_call, name))
        yield from self._several(mixed, partial(self._mixed, 3))
        for case in self._several(mixed // 4, partial(self._mixed, 2)):
            yield self._damaged(case)

    def _several(self, count: int, build: Callable[[], list[Piece]]) -> Iterator[Case]:
        for _ in range(count):
            self._values = {}
            yield Case(tuple(build()), self._values)

    def _damaged(self, case: Case) -> Case:
        """Leave a word or sign out, so that what is no expression is compared too."""
        pieces = list(case.pieces)
        spots = [index for index, piece in enumerate(pieces) if isinstance(piece, str) and piece.strip()]
        if spots:
            spot = self.random.choice(spots)
            words = str(pieces[spot]).split(" ")
            words.pop(self.random.randrange(len(words)))
            pieces[spot] = " " + " ".join(words) + " "
        return Case(tuple(pieces), case.values)

    def _pair(self, first: str, second: str) -> list[Piece]:
        self.coverage.pairs[first, second] += 1
        if first in PREFIX and second in PREFIX:
            return [PREFIX[first], PREFIX[second], *self._operand()]
        if first in PREFIX:
            return [PREFIX[first], *self._operand(), *self._behind(second), *self._perhaps_more()]
        if second in PREFIX:
            pieces = [*self._operand(), *self._behind(first)]
            spot = next(index for index in range(1, len(pieces)) if pieces[index - 1] == INFIX[first].split("_")[0])
            return [*pieces[:spot], PREFIX[second], *pieces[spot:], *self._perhaps_more()]
        return [*self._operand(), *self._behind(first), *self._behind(second), *self._perhaps_more()]

    def _perhaps_more(self) -> list[Piece]:
        return self._behind(self.random.choice([*INFIX, *POSTFIX])) if self.random.random() < 0.3 else []

    def _behind(self, name: str) -> list[Piece]:
        return self._filled(INFIX.get(name) or POSTFIX[name], self._operand)

    def _filled(self, template: str, operand: Callable[[], list[Piece]]) -> list[Piece]:
        first, *others = template.split("_")
        pieces: list[Piece] = [first]
        for part in others:
            pieces += [*operand(), part]
        return [piece for piece in pieces if piece != ""]

    def _operand(self) -> list[Piece]:
        choice = self.random.random()
        if choice < 0.2:
            return [self.random.choice(LITERALS)]
        return [self._parameter("telling" if choice < 0.5 else self.random.choice(list(VALUES)))]

    def _parameter(self, *kinds: str) -> Parameter:
        # `item` and `item.price` can't both have a value of their own.
        taken = {*self._values, *({"item", "item.price"} if {"item", "item.price"} & set(self._values) else ())}
        free = [name for name in PATHS if name not in taken]
        if not free:
            return Parameter(self.random.choice(list(self._values)))
        kind = self.random.choice(kinds)
        name = self.random.choice(free)
        self._values[name] = self.random.choice(TELLING if kind == "telling" else VALUES[kind])
        if kind in VALUES:
            self.coverage.kinds[kind] += 1
        return Parameter(name)

    def _wrapped_call(self, name: str) -> list[Piece]:
        """Put a call alone, into another one, or in front of an operator."""
        pieces = self._call(name)
        choice = self.random.random()
        if choice < 0.6:
            return pieces
        if choice < 0.8:
            return [self.random.choice(["typeof(", "json_array(", "quote("]), *pieces, ")"]
        return [*pieces, *self._behind(self.random.choice([*INFIX, *POSTFIX]))]

    def _call(self, name: str, inner: list[Piece] | None = None) -> list[Piece]:
        """Call a function, with an inner expression in the place of one argument if there is one."""
        self.coverage.functions[name] += 1
        arguments = self._arguments(name)
        if inner and arguments and name != "likelihood":
            arguments[self.random.randrange(len(arguments))] = inner
        pieces: list[Piece] = [name, "("]
        for index, argument in enumerate(arguments):
            pieces += [", ", *argument] if index else argument
        return [*pieces, ")"]

    def _arguments(self, name: str) -> list[list[Piece]]:
        known = FUNCTIONS.get(name)
        fewest, most = (known.fewest, known.most) if known else SPECIAL_FUNCTIONS[name]
        # More than two modifiers of a date leave hardly any that is not NULL.
        more = 2 if name in DATE_FUNCTIONS else 5
        count = self.random.randint(fewest, fewest + more if most is None else most)
        kinds = ARGUMENTS.get(name, ["any"])
        return [self._argument(kinds[min(index, len(kinds) - 1)]) for index in range(count)]

    def _argument(self, kind: str) -> list[Piece]:
        if kind == "any" or self.random.random() < 0.1:
            return self._operand()
        if kind == "json":
            kind = self.random.choice(["json value", "json value", "json text"])
        match kind:
            case "json value":
                return [self._parameter("text that is JSON", "list", "object")]
            case "json text":
                return ["'" + self._damaged_json().replace("'", "''") + "'"]
            case "number":
                return self._number()
            case "text":
                return [self._parameter("text", "text", "text", "text like a number", "real", "list")]
            case _:
                return [self.random.choice(SPECIMENS[kind])]

    def _damaged_json(self) -> str:
        """Leave out, double or exchange a character of a JSON text."""
        text = self.random.choice(VALUES["text that is JSON"])
        spot = self.random.randrange(len(text))
        exchanged = self.random.choice("[]{},:\"'0.eE+-xn \\/\u00a0é")
        return text[:spot] + self.random.choice(["", text[spot] * 2, exchanged]) + text[spot + 1 :]

    def _number(self) -> list[Piece]:
        """Make a number as they come in practice, or one at the edge."""
        choice = self.random.random()
        if choice < 0.4:
            return [repr(round(self.random.uniform(-1000, 1000), self.random.randint(0, 6)))]
        if choice < 0.6:
            return [repr(self.random.uniform(-1, 1) * 10 ** self.random.randint(-12, 18))]
        return [self._parameter(*[kind for kind in VALUES if "integer" in kind or kind == "real"])]

    def _mixed(self, depth: int) -> list[Piece]:
        choice = self.random.randrange(12) if depth else 0
        deeper = partial(self._mixed, depth - 1)
        if choice <= 1:
            return self._operand()
        if choice <= 4:
            name = self.random.choice([*INFIX, *POSTFIX])
            return [*deeper(), *self._filled(INFIX.get(name) or POSTFIX[name], deeper)]
        if choice == 5:
            return [self.random.choice(list(PREFIX.values())), *deeper()]
        if choice == 6:
            return ["(", *deeper(), ")"]
        if choice == 7:
            return self._filled(self.random.choice(CASES), deeper)
        if choice == 8:
            return ["cast(", *deeper(), f" as {self.random.choice(TYPES)})"]
        return self._call(self.random.choice(sorted(all_functions())), deeper())
