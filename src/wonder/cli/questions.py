"""How a question to a person is shown: what is asked, what an answer looks like, and how to give it."""

from wonder.cli.output import color
from wonder.language.values import encode_json
from wonder.storage.runs.looking import InboxItem

# What the engine itself asks has a schema that says less than an example.
_ANSWERS = {
    "budget": ('{"decision": "extend", "extend_cents": 100}', '{"decision": "fail"}'),
    "timeout": ('{"decision": "extend", "extend_ms": 60000}', '{"decision": "abort"}', '{"decision": "fail"}'),
}


def answer_lines(item: InboxItem) -> list[str]:
    """Say what answers a question takes and how to give one."""
    if known := _ANSWERS.get(item.kind):
        return [color("hint", f"wonder answer {item.id} '{known[0]}'"), f"or {', '.join(known[1:])}"]
    return [f"answer with JSON that fits {encode_json(item.schema)}", color("hint", f"wonder answer {item.id} JSON")]
