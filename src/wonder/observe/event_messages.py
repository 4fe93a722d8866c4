"""What an event says to people: a sentence for every type, with what matters most of its fields (EVT-1).

The view `event_log` says the same in SQL; a test compares the two for every type.
"""

from typing import Any, Final

from wonder.engine.events import EVENTS


def _sentence(doc: str | None) -> str:
    text = (doc or "").split("\n", 1)[0].split(";", 1)[0].rstrip(".")
    return text[:1].lower() + text[1:]


_SENTENCES: Final = {name: _sentence(declared.fields.__doc__) for name, declared in EVENTS.items()}


def message_of(type: str, told: dict[str, Any]) -> str:
    """Say in a sentence what happened; of a type that is not declared, its name."""
    sentence = _SENTENCES.get(type, type)
    if type == "token_dispatched" and "lost_with" in told:
        return f"attempt {told['losses']} was lost with its {told['lost_with']}, and the task is sent to a worker again"
    details = [part for part in (_error(told), _detail(type, told)) if part]
    return f"{sentence}: {', '.join(details)}" if details else sentence


def _error(told: dict[str, Any]) -> str:
    error = told.get("error")
    return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else ""


def _detail(type: str, told: dict[str, Any]) -> str:
    match type:
        case "token_suspended":
            return f"it waits for {told['wait'].get('kind')}"
        case "token_resumed":
            return f"by {told['by']}"
        case "workflow_paused" | "workflow_cancelled":
            return str(told["reason"] or "")
        case "human_input_requested":
            return str(told["prompt"])
        case "human_input_claimed" | "human_input_counted":
            return f"by {told['by']}"
        case "human_input_delegated":
            return f"to {told['to']}"
        case "human_input_released" | "human_input_answered":
            return f"by {told['by']}" if told["by"] else ""
        case "fan_out_started":
            return f"{told['total']} branches"
        case "fan_in_completed":
            return f"{told['arrived']} of {told['total']} branches"
        case "context_updated":
            return ", ".join(
                ".".join(map(str, path)) if isinstance(path, list) else str(path) for path, _ in told["changes"]
            )
        case "artifact_written":
            return f"{told['artifact_id']}, {told['size_bytes']:,} bytes of {told['content_type']}"
        case "llm_call_completed":
            return f"{told['profile']} ({told['model']}) in {told['duration_ms']} ms"
        case "tokens_ended":
            return f"{told['count']:,} are {told['status']}"
        case _:
            return ""
