"""`python -m proof.fuzz_process TARGET [OPTION…]`: one target under libFuzzer, with its options."""

import logging
import sys
import time
from importlib import import_module
from pkgutil import walk_packages

import atheris  # type: ignore[import-not-found]  # installed for fuzzing alone

import wonder.errors  # the package itself, which has nothing to fuzz

_FUZZED = ("language", "definitions", "phases", "sandbox", "coordinator", "storage.pages", "storage.sqlite.entries")
# What a target's functions import besides; to instrument all of it would take every target half a minute.
_MORE = {
    "operations": ("engine", "context", "storage", "operations", "app", "observe", "executor", "actions"),
    "command_line": ("cli", "operations"),
}
_NOT_IMPORTED = ("typescript_worker", "__main__")

with atheris.instrument_imports(include=["wonder"]):
    # Many modules are imported by the function that needs them first, which would be too late.
    for module in walk_packages(wonder.__path__, "wonder."):
        if module.name.removeprefix("wonder.").startswith(
            _FUZZED + _MORE.get(sys.argv[1], ())
        ) and not module.name.endswith(_NOT_IMPORTED):
            import_module(module.name)
    from proof import fuzz_values
    from proof.fuzz_targets import survive


_CPU_SECONDS_MAX = 4.0


class TooSlow(Exception):
    """An input took too long."""


def run() -> None:
    """Fuzz until libFuzzer ends the process."""
    target = sys.argv[1]
    logging.disable()
    fuzz_values.parts = 8
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: _survive_soon(target, data))
    atheris.Fuzz()


def _survive_soon(target: str, data: bytes) -> None:
    # Not by the clock on the wall, as libFuzzer does it: others may use the machine.
    begun = time.process_time()
    survive(target, data)
    seconds = time.process_time() - begun
    if seconds > _CPU_SECONDS_MAX:
        raise TooSlow(f"{seconds:.1f} s of CPU for {len(data)} bytes")


if __name__ == "__main__":
    run()
