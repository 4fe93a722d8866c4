"""What others have written is shown on a terminal, and never obeyed by it (escape sequences, reversed text)."""

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from wonder.cli.main import main
from wonder.cli.output import print_json

EVIL = "\x1b]0;evil\x07\x1b[2J\x9b2J\u202e\x7f"
ASK = """
workflow:
  name: ask
  input_schema: {{type: object}}
  context_schema: {{type: object, properties: {{ok: {{}}}}}}
  initial_node: ask
  nodes:
    ask:
      action: {{kind: human_input, implementation: {{prompt: {evil}, schema: {{title: {evil}}}}}}}
      output_mapping: {{state.ok: $}}
"""
CALL = """
workflow:
  name: call
  input_schema: {{type: object}}
  context_schema: {{type: object, properties: {{ok: {{}}}}}}
  initial_node: call
  nodes:
    call:
      action: {{kind: python, implementation: {{function: "shown_texts_sample:{function}"}}}}
      output_mapping: {{output.ok: $}}
"""
SAMPLE = f"""
import logging

def fail():
    logging.getLogger("sample").warning({EVIL!r})
    raise ValueError({EVIL!r})

def give():
    return {EVIL!r}
"""


def is_harmless(text: str) -> bool:
    """Whether a terminal obeys nothing of a text but its line breaks."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs commands in a folder with the sample, and gives what they print."""
    monkeypatch.chdir(tmp_path)
    Path("shown_texts_sample.py").write_text(SAMPLE, encoding="utf-8")
    Path("ask.yaml").write_text(ASK.format(evil=json.dumps(EVIL)), encoding="utf-8")
    for function in ("fail", "give"):
        Path(f"{function}.yaml").write_text(CALL.format(function=function), encoding="utf-8")

    def run(*words: str) -> str:
        main(words)
        told = capsys.readouterr()
        return told.out + told.err

    return run


def test_cmd_4_what_a_run_says_is_shown_and_not_obeyed(printed: Callable[..., str]) -> None:
    texts = [printed("run", f"{name}.yaml") for name in ("ask", "fail", "give")]
    texts.append(printed("inbox"))
    listed = json.loads(printed("runs", "list", "--json"))["runs"]
    assert len(listed) == 3
    for one in listed:
        texts += [printed("runs", command, one["run_id"]) for command in ("show", "events", "context")]
        texts.append(printed("runs", "show", one["run_id"], "--json"))
    for text in texts:
        assert is_harmless(text), repr(text)
    assert "evil" in texts[1]
    assert json.loads(texts[2].splitlines()[1]) == {"ok": EVIL}


def test_no_line_of_a_question_passes_for_one_of_ours(printed: Callable[..., str]) -> None:
    asked = json.dumps("Pay?\r\n✓ completed\nwonder answer 01 true\u2028x")
    Path("ask.yaml").write_text(ASK.format(evil=asked), encoding="utf-8")
    texts = [printed("run", "ask.yaml"), printed("inbox")]
    [listed] = json.loads(printed("runs", "list", "--json"))["runs"]
    texts.append(printed("runs", "show", listed["run_id"]))
    for text in texts:
        assert "completed" in text
        assert not [line for line in text.split("\n") if line.lstrip(" ") == line and line.startswith(("✓", "wonder"))]
        assert is_harmless(text)


STORE = """
workflow:
  name: store
  input_schema: {{type: object}}
  context_schema: {{type: object, properties: {{id: {{}}}}}}
  initial_node: keep
  nodes:
    keep:
      action: {{kind: write_artifact, implementation: {{artifact_type_id: page, content_mapping: {{content: {evil}}}}}}}
      output_mapping: {{output.id: $.artifact_id}}
artifact_types: {{page: {{schema: {{type: object}}}}}}
"""


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_the_content_of_an_artifact_is_obeyed_by_no_terminal_and_is_whole_everywhere_else(
    printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = f"one\ttwo\n{EVIL} é\n"
    Path("store.yaml").write_text(STORE.format(evil=json.dumps(content)), encoding="utf-8")
    id = json.loads(printed("run", "store.yaml", "--json"))["output"]["id"]
    terminal = Terminal(io.BytesIO(), encoding="utf-8")
    with monkeypatch.context() as changed:
        changed.setattr("sys.stdout", terminal)
        assert main(["artifacts", "get", id]) == 0
    shown = terminal.buffer.getvalue().decode()  # type: ignore[attr-defined]  # what it was made with
    assert shown.startswith("one\ttwo\n\\x1b]0;evil")
    assert shown.endswith(" é\n")
    assert is_harmless(shown.replace("\t", ""))
    main(["artifacts", "get", id, "--output", "whole"])
    assert Path("whole").read_text(encoding="utf-8") == content


def test_an_error_is_shown_and_not_obeyed(printed: Callable[..., str]) -> None:
    printed("deploy", "ask.yaml")
    text = printed("runs", "show", EVIL)
    assert "evil" in text
    assert is_harmless(text)


def test_what_is_logged_is_shown_and_not_obeyed(printed: Callable[..., str]) -> None:
    printed("runs", "list")
    assert logging.lastResort
    shown = logging.lastResort.format(logging.makeLogRecord({"msg": f"{EVIL}\nnext"}))
    assert "evil" in shown
    assert is_harmless(shown)


def test_json_with_what_a_terminal_obeys_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({EVIL: [EVIL, "Grüße 日本"]})
    text = capsys.readouterr().out
    assert is_harmless(text)
    assert "Grüße 日本" in text
    assert json.loads(text) == {EVIL: [EVIL, "Grüße 日本"]}
