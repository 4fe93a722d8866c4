"""What a model has said becomes a value, or a failure that the task's own retry can act on (RET-2)."""

import re
from typing import Final

from wonder.actions.exceptions import storable
from wonder.actions.llm_call.question import Ended
from wonder.actions.llm_call.structure import WRAPPED, Shape
from wonder.actions.protocol import ActionFailed
from wonder.language.values import MAX_BYTES, BadValue, JsonValue, parse_json

ANSWER_MAX: Final = MAX_BYTES
"""How many characters an answer may have."""

_SHOWN_MAX: Final = 500
_FAULTS_SHOWN: Final = 3
_FENCE: Final = re.compile(r"```[a-zA-Z0-9_+-]*[ \t]*\r?\n(.*?)```", re.DOTALL)

# How else than completely an answer may end: its code, what it means, and what to do.
_ENDS: Final[dict[str, tuple[str, str, str]]] = {
    "cut_off": ("ANSWER_CUT_OFF", "stopped at its limit of tokens", "raise max_tokens of the model, or ask for less"),
    "refused": ("ANSWER_REFUSED", "refused to answer", "change the prompt"),
    "filtered": ("ANSWER_FILTERED", "was stopped by its provider's content filter", "change the prompt or the input"),
    "tool_call": ("ANSWER_UNASKED", "called a tool, though it was given none", "try again, or use another model"),
    "broken": ("ANSWER_BROKEN", "stopped for a reason of its own", "try again, or use another model"),
}


def check_end(ended: Ended, text: str, model: str) -> None:
    """Raise ActionFailed unless the model has said all that it wanted to."""
    if ended.how == "complete":
        return
    code, happened, advice = _ENDS[ended.how]
    reason = f" ({storable(ended.reason, 200)})" if ended.reason else ""
    raise ActionFailed(
        code, f"{model} {happened}{reason}; {advice}", details={"answer": _beginning(text), "reason": ended.reason}
    )


def value_of(text: str, shape: Shape, model: str) -> JsonValue:
    """Return the value that an answer is; raises ActionFailed if it does not fit the schema."""
    if shape.is_text:
        return _text_of(text, shape, model)
    refusal: BadValue | None = None
    faults: list[str] = []
    for candidate in _candidates(text):
        try:
            value = parse_json(candidate)
        except BadValue as error:
            refusal = refusal or error
            continue
        assert shape.validator
        if shape.is_wrapped and isinstance(value, dict) and value.keys() == {WRAPPED}:
            value = value[WRAPPED]
        if shape.validator.is_valid(value):
            return value
        faults = faults or [str(fault) for fault in shape.validator.faults(value)]
    bare = text.strip()
    if shape.validator and shape.validator.is_valid(bare):
        return bare  # A choice among words, said as a word.
    raise _misfit(text, model, faults or [f"it is no JSON that can be taken in: {refusal}"])


def clean(text: str) -> str:
    """Return a text that can be stored: halves of a character that came apart are joined, or replaced."""
    if text.isascii():
        return text.replace("\x00", "\N{REPLACEMENT CHARACTER}") if "\x00" in text else text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def too_large(model: str) -> ActionFailed:
    """Return the failure of an answer that does not end."""
    message = f"{model} gave more than {ANSWER_MAX:,} characters; lower max_tokens of the model, or ask for less"
    return ActionFailed("ANSWER_TOO_LARGE", message)


def _text_of(text: str, shape: Shape, model: str) -> str:
    if not text.strip():
        raise ActionFailed("ANSWER_EMPTY", f"{model} said nothing; try again, or change the prompt")
    if shape.validator is None or shape.validator.is_valid(text):
        return text
    bare = text.strip()
    if shape.validator.is_valid(bare):
        return bare
    raise _misfit(text, model, [str(fault) for fault in shape.validator.faults(text)])


def _candidates(text: str) -> list[str]:
    """Return what could be the JSON in an answer: all of it, what is fenced, or from the first bracket to the last."""
    whole = text.strip()
    found = [whole, *[fenced.strip() for fenced in _FENCE.findall(text)[:_FAULTS_SHOWN]]]
    begins = [at for at in (whole.find("{"), whole.find("[")) if at >= 0]
    end = max(whole.rfind("}"), whole.rfind("]"))
    if begins and end > min(begins):
        found.append(whole[min(begins) : end + 1])
    return list(dict.fromkeys(found))


def _misfit(text: str, model: str, faults: list[str]) -> ActionFailed:
    shown = "; ".join(storable(fault, 300) for fault in faults[:_FAULTS_SHOWN])
    message = f"the answer of {model} does not fit 'produces': {shown}; it begins with: {_beginning(text, 120)}"
    details: dict[str, JsonValue] = {"answer": _beginning(text), "faults": [storable(f, 300) for f in faults[:10]]}
    return ActionFailed("ANSWER_MISFIT", message, details=details)


def _beginning(text: str, length_max: int = _SHOWN_MAX) -> str:
    return storable(text, length_max)
