"""Random graphs inside of a fan-out with two joins, for the check that no branch comes to both (CTL-12)."""

from random import Random
from typing import Any

_CONDITIONS = ["state.n > 1", "state.n < 3", "_branch.index = 0", "state.n % 2 = 0", "_last_error.code IS NOT NULL"]
Transitions = list[dict[str, Any]]


def random_joins(random: Random) -> Transitions:
    """Make transitions as engine tests write them: `s` fans out, and its branches go to `x` or `y` or both."""
    inner = [f"n{number}" for number in range(random.randint(3, 8))]
    joins = {name: _join(random, "s") for name in ("x", "y")}
    made: Transitions = []
    for number, to in enumerate(random.sample(inner[:3], random.randint(1, 2))):
        made.append({"from": "s", "to": to, **_several(random, 0.5)})
        if number == 0 and random.random() < 0.2:
            made[0]["ref"] = "go"
            joins["y"]["sibling_group"] = random.choice(["s", "go"])
    for place, name in enumerate(inner):
        for priority in range(tiers := random.choice([1, 2, 2])):
            for _ in range(random.choice([1, 1, 1, 2])):
                transition = {"from": name, "priority": priority, **_way(random, inner, place, joins)}
                if priority < tiers - 1 or random.random() < 0.1:
                    transition["if"] = random.choice(_CONDITIONS)
                made.append(transition)
    return [*made, {"from": "x", "to": "end"}, {"from": "y", "to": "end"}]


def _way(random: Random, inner: list[str], place: int, joins: dict[str, dict[str, Any]]) -> dict[str, Any]:
    later, chance = inner[place + 1 :], random.random()
    if chance < 0.3 or not later:
        to = random.choice(["x", "y"])
        return {"to": to, "join": joins[to]}
    if chance < 0.4 and place:
        return {"to": random.choice(inner[: place + 1]), "loop_config": {"max_iterations": random.randint(1, 2)}}
    to = random.choice(later)
    if random.random() < 0.4:
        return {"to": to, "join": joins.setdefault(to, _join(random, random.choice(inner[: place + 1])))}
    return {"to": to, **_several(random, 0.4)}


def _several(random: Random, chance: float) -> dict[str, Any]:
    if random.random() > chance:
        return {}
    if random.random() < 0.3:
        return {"foreach": {"collection": random.choice(["input.two", "input.none"])}}
    return {"spawn_count": random.randint(1, 3)}


def _join(random: Random, group: str) -> dict[str, Any]:
    strategy = random.choice(["all", "all", "any", {"m_of_n": 2}])
    ending = random.choice(["cancel", "abandon"])
    return {"strategy": strategy, "sibling_group": group, "merge": None, "on_early_complete": ending}
