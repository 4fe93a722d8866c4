"""Small definitions for tests, and what is wrong with them."""

from pathlib import Path
from typing import Any

from wonder.definitions.catalog import Catalog
from wonder.definitions.faults import Fault
from wonder.definitions.loading import load_text, load_value

NOTHING = Catalog()
TESTS = Path(__file__).parents[1]
VALID = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted((TESTS / "definitions" / "valid").glob("*.yaml"))
}
"""Valid definitions that are easily taken for wrong ones: none of them has any fault, not even a warning."""
_FOLDER = TESTS.parent / "samples"
SAMPLES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(_FOLDER.rglob("*.yaml"))
    if _FOLDER / "phases" not in path.parents  # they are checked with the tools that their servers have
}

# What JSON Schema can't say, or could only say in words that no editor would show well.
BEYOND_SCHEMAS = {
    "bad_reference",  # the schema could give a pattern, but a name may hold almost anything
    "bad_name",  # spaces at the ends, characters that can't be printed
    "duplicate_name",
    "no_workflow",
    "phase_form",
}

GREET_EVERYONE = """\
workflow:
  name: greet-everyone
  input_schema: {type: object, required: [names], properties: {names: {type: array, items: {type: string}}}}
  context_schema: {type: object, properties: {lines: {type: array, items: {type: string}}}}
  output_schema: {type: object, properties: {count: {type: integer}}}
  initial_node: start
  timeout_ms: 60000
  on_timeout: fail
  nodes:
    start: {action: {kind: update_context, implementation: {updates: []}}}
    greet:
      task: greet-one
      input_mapping: {name: $.name}
      output_mapping: {state.line: $.line}
    done:
      action:
        kind: update_context
        implementation: {updates: [{path: output.count, expr: "json_array_length(state.lines)"}]}
  transitions:
    - {from: start, to: greet, foreach: {collection: input.names, item_var: name}}
    - from: greet
      to: done
      synchronization:
        strategy: all
        sibling_group: start
        merge: {source: _branch.output.line, target: state.lines, strategy: append}
tasks:
  greet-one:
    retry: {max_attempts: 3, backoff: exponential, initial_delay_ms: 100, max_delay_ms: 2000}
    steps:
      - {ref: say, action: say, input_mapping: {name: $.input.name}, output_mapping: {output.line: $.line}}
actions:
  say: {kind: python, implementation: {function: "greetings:say"}}
"""
"""The example of the specification (docs/rules/files.md), to the letter but for its comments."""


def faults_in(definition: str | dict[str, Any], catalog: Catalog = NOTHING) -> list[Fault]:
    """Read and check a definition; give all its faults."""
    loaded = load_text(definition, "test.yaml") if isinstance(definition, str) else load_value(definition)
    return loaded.check(catalog)


def codes_in(definition: str | dict[str, Any], catalog: Catalog = NOTHING) -> list[str]:
    """Give the codes of all faults of a definition."""
    return [fault.code for fault in faults_in(definition, catalog)]


def workflow(nodes: dict[str, Any], transitions: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    """Make a definition of one workflow; its first node is the initial one."""
    graph = {"initial_node": next(iter(nodes)), "nodes": nodes, "transitions": transitions or []}
    return {"workflow": {"name": "test", **graph, **fields}}


def noop(**fields: Any) -> dict[str, Any]:
    """Make a node that calls a function."""
    return {"action": {"kind": "python", "implementation": {"function": "module:function"}}, **fields}


def update(**updates: Any) -> dict[str, Any]:
    """Make a node that updates the context: `update(**{"state.x": "1"})`."""
    listed = [{"path": path, "expr": expr} for path, expr in updates.items()]
    return {"action": {"kind": "update_context", "implementation": {"updates": listed}}}
