"""`python -m proof fuzz`: give random bytes, led by coverage, to every parser that takes text from outside.

Each target (fuzz_targets.py) runs in a process of its own with atheris (`pip install atheris`), which is libFuzzer. It
begins with the corpus that the tests replay, and an input that makes a parser raise anything but a WonderError, compute
for 4 seconds or take 2 GB ends it and is kept. With `--keep` a share of the inputs that reached new code joins the
corpus.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from proof.fuzz_targets import SEPARATOR, TARGETS
from wonder.language.expressions import RESERVED_WORDS
from wonder.language.expressions.functions import FUNCTIONS

CORPORA: Final = Path(__file__).parent.parent / "tests" / "proof" / "corpora"
FOUND: Final = Path("build") / "fuzz"
_KEPT_MAX: Final = 59
_KEPT_LENGTH_MAX: Final = 400
_LENGTH_MAX: Final = 2_048
_WORD: Final = re.compile(r"[$@{#/~]*\w{2,30}", re.ASCII)
_COUNTS: Final = re.compile(r"#(\d+)\s.*?cov: (\d+)")


def main(arguments: list[str]) -> int:
    """Fuzz the targets one after the other; the exit status is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m proof fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="which parsers (all)")
    parser.add_argument("--seconds", type=int, default=300, help="how long each (300)")
    parser.add_argument(
        "--keep", action="store_true", help="add some of the inputs that reached new code to the corpus"
    )
    given = parser.parse_args(arguments)
    if find_spec("atheris") is None:
        print("fuzzing needs atheris: pip install atheris", file=sys.stderr)
        return 2
    found = [_fuzz(target, given.seconds, keep=given.keep) for target in given.targets or TARGETS]
    return 1 if any(found) else 0


def corpus_of(target: str) -> list[bytes]:
    """Give the inputs that the tests replay: bytes, each written as the characters of the same numbers."""
    file = CORPORA / f"{target}.json"
    return [text.encode("latin-1") for text in json.loads(file.read_text("utf-8"))] if file.exists() else []


def _fuzz(target: str, seconds: int, *, keep: bool) -> bool:
    """Fuzz one target; say whether something was found."""
    FOUND.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wonder-fuzz-") as folder:
        inputs = Path(folder) / "inputs"
        _write_inputs(inputs, corpus_of(target))
        words = Path(folder) / "words"
        written = "".join(f'"{word}"\n' for word in sorted(_words(target)))
        words.write_text(f'{written}"\\x{SEPARATOR.hex()}"\n', "utf-8")
        limits = [
            f"-dict={words}",
            f"-max_total_time={seconds}",
            "-timeout=60",
            "-rss_limit_mb=2048",
            f"-max_len={_LENGTH_MAX}",
        ]
        ended = _run(target, folder, *limits, f"-artifact_prefix={FOUND}/{target}-", str(inputs))
        counts = _COUNTS.findall(ended.stderr)
        runs, coverage = counts[-1] if counts else ("0", "0")
        print(f"{target}: {int(runs):,} inputs in {seconds} s, {coverage} edges, {_verdict(ended, target)}", flush=True)
        if keep and ended.returncode == 0:
            _keep(target, inputs)
    return ended.returncode != 0


def _words(target: str) -> set[str]:
    """Give the words of a target's language, of which random inputs are put together."""
    known = {word for data in corpus_of(target) for word in _WORD.findall(data.decode("latin-1"))}
    return known | RESERVED_WORDS | set(FUNCTIONS) if target == "expressions" else known


def _verdict(ended: "subprocess.CompletedProcess[str]", target: str) -> str:
    if ended.returncode == 0:
        return "nothing found"
    # What Python raised is on standard output, what libFuzzer says of it on standard error.
    lines = [*ended.stdout.splitlines()[-15:], *ended.stderr.splitlines()[-6:]]
    return "\n  ".join([f"FOUND something; the input is in {FOUND}/{target}-*", *lines])


def _keep(target: str, inputs: Path) -> None:
    """Keep the corpus, and a share of the inputs that have reached something new, short ones and long ones."""
    corpus = corpus_of(target)
    found = {file.read_bytes() for file in inputs.iterdir()} - set(corpus)
    new = sorted((data for data in found if len(data) <= _KEPT_LENGTH_MAX), key=lambda data: (len(data), data))
    room = max(_KEPT_MAX - len(corpus), 0)
    kept = [*corpus, *(new[:: max(1, -(-len(new) // room))] if room else [])]
    CORPORA.mkdir(exist_ok=True)
    texts = [data.decode("latin-1") for data in kept]
    (CORPORA / f"{target}.json").write_text(json.dumps(texts, indent=0) + "\n", "utf-8")


def _write_inputs(folder: Path, corpus: list[bytes]) -> None:
    folder.mkdir()
    for number, data in enumerate(corpus):
        (folder / str(number)).write_bytes(data)


def _run(target: str, folder: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "proof.fuzz_process", target, *options]
    # libFuzzer ends the process at once: what that has made is removed with the folder.
    variables = os.environ | {"TMPDIR": folder}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=variables)
