"""What a mapping, a write and a template cost, in microseconds."""

from collections.abc import Callable
from timeit import repeat

from wonder.language.mappings import compile_mapping
from wonder.language.targets import parse_target, write
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue

ROOT: dict[str, JsonValue] = {
    "input": {"name": "Ada", "rows": [{"id": number} for number in range(10)]},
    "state": {"user": {"email": "ada@example.test"}, "count": 3},
    "output": {},
}


def measure() -> list[tuple[str, float]]:
    """Return each label with its microseconds, the best of five."""
    mapping = compile_mapping({"name": "$.input.name", "email": "$.state.user.email", "count": "$.state.count"})
    filtered = compile_mapping({"ids": "$.input.rows[?@.id > 5].id"})
    target = parse_target("state.user.email").path
    template = compile_template("Hello {{input.name}}, {{#if state.count}}you have {{state.count}} letters{{/if}}.")
    rows = compile_template("{{#each input.rows}}{{@index}}: {{id}}\n{{/each}}")
    return [
        ("apply a mapping of 3 plain paths", _microseconds(lambda: mapping.apply(ROOT))),
        ("apply a mapping with a filter over 10 rows", _microseconds(lambda: filtered.apply(ROOT))),
        ("write one field three levels deep", _microseconds(lambda: write(ROOT, target, "new"))),
        ("render a template of three values", _microseconds(lambda: template.render(ROOT))),
        ("render a template over 10 rows", _microseconds(lambda: rows.render(ROOT))),
        ("compile a mapping of 3 plain paths", _microseconds(lambda: compile_mapping(mapping.template))),
    ]


def _microseconds(work: Callable[[], object], number: int = 2_000) -> float:
    return min(repeat(work, number=number, repeat=5)) / number * 1e6


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{microseconds:8.2f} µs  {label}")
