"""Random phase workflows: what is well typed has no errors, is a sound graph, and runs to the output that it means."""

import json
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from random import Random
from typing import Any

from support.phase_runs import PhaseRun, known, phases, tool
from wonder.language.schemas import compile_validator
from wonder.phases.checking import check

NAMES = ("a", "b-c", "d.e", 'f "g"', "it's", "h i", "phase-1", "a.each", "ü", "order", "x/y", "j", "k", "l", "m", "n")
KEYS = ("p", "q r", "s.t", 'u"v', "$w", "@x", "select")
TEXTS = ("", "plain", "@@at", "$dollar", "$.input", "input.p", "a @ref.output", "@@")
S, N, INT = {"type": "string"}, {"type": "number"}, {"type": "integer"}


@dataclass
class Leaf:
    """A ref of which the meaning is known without reading it: a root, of a step its name, and a path."""

    root: str
    path: tuple[Any, ...]
    type: Any
    optional: bool = False


@dataclass
class Made:
    """A workflow with all that is known of it."""

    steps: list[list[dict[str, Any]]] = field(default_factory=list)
    leaves: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, Leaf] = field(default_factory=dict)
    input_type: Any = None


def random_type(random: Random, levels: int = 2) -> Any:
    kind = random.randrange(6 if levels else 3)
    if kind < 3:
        return (S, N, INT)[kind]
    if kind == 3:
        return {"type": "array", "items": random_type(random, levels - 1)}
    keys = random.sample(KEYS, random.randint(1, 3))
    required = [key for key in keys if random.random() < 0.7]
    return {
        "type": "object",
        "properties": {key: random_type(random, levels - 1) for key in keys},
        "required": required,
    }


def random_value(random: Random, of: Any) -> Any:
    match of["type"]:
        case "string":
            return random.choice(("", "x", "@y", "$z", "ü"))
        case "integer":
            return random.randint(-5, 5)
        case "number":
            return random.choice((0, 1.5, -2, 2**60))
        case "array":
            return [random_value(random, of["items"]) for _ in range(random.randint(0, 3))]
        case _:
            there = [key for key in of["properties"] if key in of["required"] or random.random() < 0.5]
            return {key: random_value(random, of["properties"][key]) for key in there}


def inside(random: Random, leaf: Leaf) -> Leaf:
    """Read further into a value, now and then."""
    while random.random() < 0.6:
        if leaf.type["type"] == "array" and random.random() < 0.3:
            leaf = Leaf(leaf.root, (*leaf.path, random.randint(0, 1)), leaf.type["items"], True)
        elif leaf.type["type"] == "object":
            key = random.choice(list(leaf.type["properties"]))
            optional = leaf.optional or key not in leaf.type["required"]
            leaf = Leaf(leaf.root, (*leaf.path, key), leaf.type["properties"][key], optional)
        else:
            break
    return leaf


def written(leaf: Leaf) -> str:
    shown = "@" + leaf.root
    for segment in leaf.path:
        plain = isinstance(segment, str) and not set(segment) & set('."[]')
        shown += f"[{segment}]" if isinstance(segment, int) else f".{segment}" if plain else _quoted(segment)
    return shown


def _quoted(name: str) -> str:
    return '."' + name.replace('"', '""') + '"'


def random_template(random: Random, sources: list[Leaf], levels: int = 2) -> tuple[Any, Any, Any, bool]:
    """Make a template as it is written, as it is meant, its type, and whether it may be missing."""
    kind = random.random()
    if kind < 0.55:
        leaf = inside(random, random.choice(sources))
        return written(leaf), leaf, leaf.type, leaf.optional
    if levels and kind < 0.7:
        parts = {key: random_template(random, sources, levels - 1) for key in random.sample(KEYS, random.randint(0, 2))}
        required = [key for key, part in parts.items() if not part[3] and random.random() < 0.9]
        type = {"type": "object", "properties": {key: part[2] for key, part in parts.items()}, "required": required}
        return {key: part[0] for key, part in parts.items()}, {key: part[1] for key, part in parts.items()}, type, False
    if levels and kind < 0.8:
        elements = [random_template(random, sources, levels - 1) for _ in range(random.randint(0, 2))]
        types = [{"anyOf": [part[2], {"type": "null"}]} if part[3] else part[2] for part in elements]
        type = {"type": "array", "items": {"anyOf": types}} if types else {"type": "array"}
        return [part[0] for part in elements], [part[1] for part in elements], type, False
    text = random.choice(TEXTS)
    return text, text[1:] if text.startswith("@@") else text, S, False


def random_workflow(random: Random) -> Made:
    made = Made()
    names = list(random.sample(NAMES, random.randint(1, 8)))
    input_type = made.input_type = {
        "type": "object",
        "properties": {key: random_type(random) for key in KEYS},
        "required": list(KEYS),
    }
    visible = [Leaf("input", (key,), type) for key, type in input_type["properties"].items()]
    while names:
        phase, given = [], []
        for _ in range(random.choice((1, 1, 2, 3))):
            if names:
                name = names.pop()
                phase.append(random_step(random, name, visible, made))
                given.append(Leaf(f"{name}.output", (), made.tools[f"t/{name}"][2]))
        made.steps.append(phase)
        visible = [*visible, *given]
    return made


def random_step(random: Random, name: str, visible: list[Leaf], made: Made) -> dict[str, Any]:
    step: dict[str, Any] = {"name": name, "tool": tool("t", name)}
    sources = visible
    lists = [leaf for leaf in (inside(random, one) for one in visible) if leaf.type["type"] == "array"]
    if lists and random.random() < 0.5:
        over = random.choice([leaf for leaf in lists if not leaf.optional] or lists)
        step["forEach"], made.lists[name] = written(over), over
        step["as"] = random.choice(("item", "it", "user", "select"))
        item = [Leaf("item", (), over.type["items"]), Leaf(step["as"], (), over.type["items"]), Leaf("index", (), INT)]
        step |= {"maxParallel": 2} if random.random() < 0.3 else {}
        sources = [*visible, *item * 3]
    parts = {key: random_template(random, sources) for key in random.sample(KEYS, random.randint(0, 4))}
    required = [key for key, part in parts.items() if not part[3]]
    takes = {"type": "object", "properties": {key: part[2] for key, part in parts.items()}, "required": required}
    gives = random_type(random)
    step["input"] = {key: part[0] for key, part in parts.items()}
    made.leaves[name] = {key: part[1] for key, part in parts.items()}
    made.tools[f"t/{name}"] = (takes, gives, {"type": "array", "items": gives} if "forEach" in step else gives)
    return step


class Gone(Exception):
    """A list that a step goes over is not there."""


def find(leaf: Leaf, roots: dict[str, Any]) -> Any:
    value = roots[leaf.root]
    for segment in leaf.path:
        try:
            value = value[segment]
        except (KeyError, IndexError):
            raise Gone from None
    return value


def meant(template: Any, roots: dict[str, Any]) -> Any:
    """Say what an input means: what is missing leaves its key out, and is null in a list."""
    if isinstance(template, Leaf):
        return find(template, roots)
    if isinstance(template, dict):
        built = {}
        for key, part in template.items():
            try:
                built[key] = meant(part, roots)
            except Gone:
                continue
        return built
    if isinstance(template, list):
        return [meant({"x": part}, roots).get("x") for part in template]
    return template


def does(name: str, type: Any, given: Any) -> Any:
    """Do something that depends on the name and the whole input, and gives a value of the type."""
    mark = sha256(json.dumps([name, given], sort_keys=True).encode()).hexdigest()
    return random_value(Random(mark), type)


def expected(made: Made, value: Any) -> dict[str, Any]:
    """Run a workflow as the phase form describes it, one step after the other."""
    roots: dict[str, Any] = {"input": value}
    for phase in made.steps:
        given = {}
        for step in phase:
            name, gives = step["name"], made.tools[f"t/{step['name']}"][1]
            if name not in made.lists:
                given[name] = does(name, gives, meant(made.leaves[name], roots))
                continue
            given[name] = [
                does(name, gives, meant(made.leaves[name], {**roots, "item": item, step["as"]: item, "index": index}))
                for index, item in enumerate(find(made.lists[name], roots))
            ]
        roots |= {f"{name}.output": output for name, output in given.items()}
    return {name: roots[f"{name}.output"] for phase in made.steps for name in (step["name"] for step in phase)}


def known_of(made: Made) -> Any:
    return known({name: schemas[:2] for name, schemas in made.tools.items()})


def test_phs_1_a_well_typed_workflow_runs_to_what_it_means():
    ended = {"completed": 0, "failed": 0, "refused": 0}
    for seed in range(120):
        random = Random(seed)
        made = random_workflow(random)
        workflow, what = phases(*made.steps), known_of(made)
        functions = {name: partial(does, name, made.tools[f"t/{name}"][1]) for name in made.leaves}
        run = PhaseRun(workflow, what, functions)
        checked = check(workflow, what)
        value = random_value(random, made.input_type)
        try:
            outputs = expected(made, value)
        except Gone:
            outputs = None
        if compile_validator(checked.input_schema).faults(value):
            ended["refused"] += 1
            assert outputs is None, seed  # only what would have failed is refused
            continue
        run.start(value)
        ended[run.status] += 1
        if outputs is None:
            assert (run.status, run.player.error) == ("failed", "BAD_COLLECTION"), seed
            continue
        assert run.status == "completed", (seed, run.error)
        last = [step["name"] for step in made.steps[-1]]
        assert run.output == (outputs[last[0]] if len(last) == 1 else {name: outputs[name] for name in last}), seed
        assert run.steps == outputs, seed
        assert compile_validator(checked.output_schema).faults(run.output) == [], seed
    assert ended["completed"] > 80, ended


def test_phs_4_what_no_longer_fits_is_told_where_it_flows():
    told = 0
    for seed in range(200):
        random = Random(seed)
        made = random_workflow(random)
        step = random.choice([step for phase in made.steps for step in phase])
        takes = made.tools[f"t/{step['name']}"][0]
        if not takes["properties"]:
            continue
        key = random.choice(list(takes["properties"]))
        # Nothing that the generator makes is a boolean.
        takes["properties"][key] = {"type": "boolean"}
        errors = check(phases(*made.steps, input_schema=made.input_type), known_of(made)).errors
        assert errors, seed
        assert {error.step for error in errors} == {step["name"]}, seed
        assert {error.type for error in errors} == {"type_mismatch"}, seed
        assert {error.path[:5] for error in errors} == {(*error.path[:4], key) for error in errors}, seed
        told += 1
    assert told > 100
