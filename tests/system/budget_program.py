"""A program that asks a model until it is killed, or has brought all of its runs to their end; see `engine_program`."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import engine_program

from support.definitions import update
from support.faulty_stores import KillingStore, wonder_on
from support.paid_models import list_model
from support.systems import bundle, calls, settle

# Takes a second or two to load, which the processes made from here do without.
import_module("wonder.actions.llm_call.openai")
import_module("wonder.actions.llm_call.bounded")

LEASE_MS = engine_program.LEASE_MS
CENTS = 50


def asking(peer: str, *, seconds: float = 15.0, **fields: Any) -> dict[str, Any]:
    """Make what a definition needs to ask a model; each call may cost one cent, and does."""
    model = {
        "provider": "local",
        "model_id": "m",
        "parameters": {"max_tokens": 10},
        "execution_config": {"base_url": f"{peer}/v1", "timeout_ms": int(seconds * 1_000)},
        **fields,
    }
    return {"prompts": {"prompt": {"template": "{{n}}"}}, "models": {"model": model}}


def _ask(execution: Any) -> dict[str, Any]:
    names = {"prompt_spec_id": "prompt", "model_profile_id": "model"}
    return {"kind": "llm_call", "implementation": names, **({"execution": execution} if execution else {})}


def one_call(peer: str, *, execution: Any = None, **fields: Any) -> dict[str, Any]:
    """Make a workflow that asks once."""
    node = {"action": _ask(execution), "input_mapping": {"n": "$.input.n"}, "output_mapping": {"output.said": "$"}}
    return {**bundle("one", {"ask": node}), **asking(peer, **fields)}


def many_calls(peer: str, *, execution: Any = None, **of_foreach: Any) -> dict[str, Any]:
    """Make a workflow that asks for each item, and gathers what was said; a call that is refused says nothing."""
    step = {
        "ref": "ask",
        "action": _ask(execution),
        "input_mapping": {"n": "$.input.n"},
        "output_mapping": {"output.said": "$"},
        "on_failure": "continue",
    }
    nodes = {
        "start": update(),
        "ask": {
            "task": {"steps": [step]},
            "input_mapping": {"n": "$.item"},
            "output_mapping": {"state.got": "$"},
        },
        "done": update(**{"output.all": "state.all"}),
    }
    transitions = [
        {"from": "start", "to": "ask", "foreach": {"collection": "input.items", **of_foreach}},
        {
            "from": "ask",
            "to": "done",
            "synchronization": {
                "strategy": "all",
                "sibling_group": "start",
                "merge": {"source": "_branch.output.got", "target": "state.all", "strategy": "append"},
            },
        },
    ]
    schema = {"type": "object", "properties": {"got": {}, "all": {"type": "array"}}}
    return {**bundle("many", nodes, transitions, context_schema=schema), **asking(peer)}


async def spend(url: str, peer: str, runs: str, items: str) -> None:
    """Start runs, with as many calls each as there are items, and tell how they ended."""
    async with wonder_on(url, lambda store: store, {}, LEASE_MS) as wonder:
        # Few at once, so that one death does not use up the whole budget.
        limits = {"max_concurrent_runs": 4}
        await list_model(wonder, peer)
        await settle(wonder, budget={"max_monthly_spend_cents": CENTS}, rate_limits=limits)
        workflow = await wonder.deploy(many_calls(peer, max_parallel=4))
        given = {"items": list(range(int(items)))}
        started = [await wonder.start(workflow, given, idempotency_key=f"{number}") for number in range(int(runs))]
        ended: list[Any] = [await run.wait() for run in started]
        said = [got for result in ended for got in result.output["all"]]
        print(json.dumps({"statuses": [one.status for one in ended], "said": said}), flush=True)


async def measure(url: str, folder: str, moment: str, number: str) -> None:
    """Run a workflow that gives metrics in both scopes, and tell that it has ended; MOMENT is as for `work`."""
    effects = engine_program.Effects(Path(folder), int(number) if moment == "result" else None)

    def wrap(store: Any) -> Any:
        return KillingStore(store, "never" if moment == "result" else moment, int(number))

    async with wonder_on(url, wrap, {"effect": effects}, LEASE_MS) as wonder:
        workflow = await wonder.deploy(measured())
        run = await wonder.start(workflow, {"items": [0, 1, 2, 3]}, idempotency_key="one")
        print(json.dumps({"status": (await run.wait()).status}), flush=True)


def measured() -> dict[str, Any]:
    """Make a workflow whose branches give a metric inside of a task and one of a node of its own."""
    count = {
        "kind": "emit_metric",
        "implementation": {"metric_name": "steps", "value": 1, "dimensions": {"of": "task"}},
    }
    act = {**calls("effect")["action"]}
    nodes = {
        "start": update(),
        "work": {
            "task": {
                "steps": [
                    {"ref": "count", "action": count},
                    {"ref": "act", "action": act, "input_mapping": {"name": "$.input.n", "key": "k"}},
                ]
            },
            "input_mapping": {"n": "$.item"},
        },
        "tell": {
            "action": {
                "kind": "emit_metric",
                "implementation": {
                    "metric_name": "nodes",
                    "value": {"expr": "2"},
                    "dimensions": {"of": "node"},
                    "scope": "workflow",
                },
            }
        },
    }
    transitions = [
        {"from": "start", "to": "work", "foreach": {"collection": "input.items"}},
        {"from": "work", "to": "tell"},
    ]
    return bundle("measured", nodes, transitions)


engine_program._DOES |= {"spend": spend, "measure": measure}

if __name__ == "__main__":
    engine_program.main()
