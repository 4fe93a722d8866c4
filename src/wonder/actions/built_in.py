"""The built-in kinds of action: each is a folder beside this module that has a `declaration.py`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from wonder.definitions.kinds import Kind

_ROOM: Final = Path(__file__).parent
_DECLARATION: Final = "declaration"


class BuiltInKinds(Mapping[str, Kind]):
    """By name, in alphabetical order. A declaration is imported when it is first asked for: most processes use few."""

    def __init__(self) -> None:
        folders = sorted(place.parent.name for place in _ROOM.glob(f"*/{_DECLARATION}.py"))
        # A folder can't be called as a keyword of Python's, so that of `assert` is `assert_`.
        self._folders = {folder.rstrip("_"): folder for folder in folders}
        self._declared: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._declared:
            module = import_module(f"wonder.actions.{self._folders[name]}.{_DECLARATION}")
            self._declared[name] = module.Declaration()
        return self._declared[name]

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)
