"""Plays: what people and programs do with each of the 43 pattern samples, and what must come of it.

The tests play each of them on both databases (`tests/samples`), the simulation plays them under faults.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from simulation.plays import branching, instances, joining, states, stopping
from simulation.plays.play import Play

_FOLDER: Final = Path(__file__).parents[2] / "samples" / "patterns"
_MODULES: Final = (branching, instances, joining, states, stopping)

FILES: Final = {int(path.name[:2]): path for path in sorted(_FOLDER.glob("*.yaml"))}
"""The file of each pattern, by its number."""
PLAYS: Final[dict[int, Callable[[Play], Awaitable[None]]]] = {
    int(name.removeprefix("wcp_")): play
    for module in _MODULES
    for name, play in vars(module).items()
    if name.startswith("wcp_")
}
"""The play of each pattern, by its number."""
