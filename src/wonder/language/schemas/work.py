"""How much work it is at most to hold a value against a schema, told before it is done.

The validator is machine code that nothing can interrupt: two hundred alternatives for each of a million elements would
hold up everything else for a minute, and a pattern with thousands of places a megabyte of text for longer.
"""

from typing import Final, NamedTuple

from wonder.language.pattern_width import width_of
from wonder.language.schemas.expansion import unfold
from wonder.language.schemas.positions import Path
from wonder.language.schemas.references import References
from wonder.language.values import JsonValue

# One step is a place of a pattern for one character: some 60 ns. This is about ten seconds of them at the very worst.
STEPS_MAX: Final = 200_000_000
# As measured, what one of these takes.
_CHECK: Final = 8
_NAME: Final = 2
_CHOICE: Final = 1
_HELD_PART: Final = 14
_WHOLE_STEP: Final = 50
_FRACTION_STEP: Final = 1_000
# A value has 16 MB and so at most 8 million parts: with so little for each of them there is nothing to count.
_LITTLE: Final = STEPS_MAX // 8_000_000


class Work(NamedTuple):
    """At most so many steps for each part of a value, and for each character of its texts and names."""

    part: int
    character: int

    @property
    def is_little(self) -> bool:
        """Whether no value can make it too much."""
        return self.part <= _LITTLE and not self.character

    def is_too_much(self, value: object) -> bool:
        """Say whether a value would take more than is allowed; looks at no more of it than that takes."""
        if self.is_little:
            return False
        steps, left = 0, [value]
        while left:
            held = left.pop()
            steps += self.part
            if isinstance(held, str):
                steps += self.character * len(held)
            elif isinstance(held, list):
                left += held
            elif isinstance(held, dict):
                left += held.values()
                if self.character:
                    steps += self.character * sum(map(len, held))
            # Those that wait are counted before they are looked at.
            if steps + self.part * len(left) > STEPS_MAX:
                return True
        return False


def work_of(references: References) -> Work:
    """Return how much work a schema is that has no faults."""
    parts = {path: _for_a_part(schema) for path, schema in references.positions.items()}
    characters = {path: _for_a_character(schema) for path, schema in references.positions.items()}
    root: Path = ()
    return Work(unfold(references, parts)[root], unfold(references, characters)[root])


def _for_a_part(schema: JsonValue) -> int:
    if not isinstance(schema, dict):
        return 0
    steps = _CHECK
    # `required` ends at the first name that is missing, so what it looks at are parts too.
    for keyword in ("patternProperties", "dependentRequired", "dependentSchemas"):
        held = schema.get(keyword)
        steps += _NAME * len(held) if isinstance(held, dict) else 0
    if "const" in schema:
        steps += _HELD_PART * (_parts(schema["const"]) - 1)
    if isinstance(choices := schema.get("enum"), list):
        steps += _for_choices(choices)
    if "multipleOf" in schema:
        steps += _WHOLE_STEP if isinstance(schema["multipleOf"], int) else _FRACTION_STEP
    return steps


def _for_choices(choices: list[JsonValue]) -> int:
    if any(isinstance(choice, list | dict) for choice in choices):
        return _HELD_PART * sum(map(_parts, choices))
    # Those of one kind are looked up.
    return _CHOICE * len(choices) if len({type(choice) for choice in choices}) > 1 else 0


def _for_a_character(schema: JsonValue) -> int:
    if not isinstance(schema, dict):
        return 0
    patterns = [pattern] if isinstance(pattern := schema.get("pattern"), str) else []
    if isinstance(named := schema.get("patternProperties"), dict):
        patterns += named
    return sum(map(width_of, patterns))


def _parts(value: JsonValue) -> int:
    count, left = 0, [value]
    while left:
        held = left.pop()
        count += 1
        if isinstance(held, list):
            left += held
        elif isinstance(held, dict):
            left += held.values()
    return count
