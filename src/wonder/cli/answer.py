"""Answer a question from the inbox (see `wonder inbox`).

The answer must be valid against the schema that the inbox shows. An invalid answer is rejected and the question stays
open. A question can be answered once, or once by each of its approvers; `wonder inbox show` says who may answer it.
Two questions are asked by Wonder itself:
  a run is at its time-out:     {"decision": "extend", "extend_ms": 60000}, {"decision": "abort"}, {"decision": "fail"}
  a node would exceed a budget: {"decision": "extend", "extend_cents": 500}, {"decision": "fail"}

Without JSON, you are asked for the answer on the terminal, field by field; Ctrl-C stores nothing.

  wonder answer 01M7P9D2J8Q0T4X6Z7B1C3E5G9 '{"approved": true}'
  wonder answer 01M7P9D2J8Q0T4X6Z7B1C3E5G9
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace

from wonder.app.callers import local_caller, local_user
from wonder.cli.asking import Asker, is_terminal
from wonder.cli.engine_note import CONTINUE
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import color, print_output, visible_lines
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_json_option
from wonder.errors import WonderError
from wonder.language.values import JsonValue, parse_json
from wonder.operations.inbox import Answer, OneQuestion, answer_item, show_question
from wonder.operations.question_records import Question


def configure(parser: ArgumentParser) -> None:
    """Take the item and the answer."""
    parser.add_argument("item", metavar="ITEM", help="the id of the question, which `wonder inbox` shows")
    parser.add_argument("answer", metavar="JSON", nargs="?", help="the answer (default: you are asked for it)")
    parser.add_argument("--by", metavar="NAME", default=None, help="the person who answers (default: your user name)")
    add_json_option(parser)
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Give the answer, or ask for it."""
    if given.answer is not None:
        return run_until_stopped(_run(given, parse_json(given.answer)))
    if given.json or not is_terminal():
        raise NoAnswer("no answer was given, and nobody can be asked for one here; write it as JSON")
    question = asyncio.run(_question(given))
    try:
        value = _ask(question)
    except (EOFError, KeyboardInterrupt):
        print("\nnothing was stored; the question is still open", file=sys.stderr)
        return 130
    return run_until_stopped(_run(given, value))


class NoAnswer(WonderError):
    """The command line has no answer, and no person to ask."""

    code = "BAD_USAGE"


async def _question(given: Namespace) -> Question:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        question = await show_question(app, OneQuestion(item_id=given.item))
    if question.status != "open":
        raise NoAnswer(f"the question {given.item} is {question.status}; `wonder inbox` lists those that are open")
    return question


def _ask(question: Question) -> JsonValue:
    print(color("bold", visible_lines(question.prompt)))
    asker = Asker(question.schema)
    while True:
        value: JsonValue = asker.ask()
        if asker.confirm(value):
            return value


async def _run(given: Namespace, value: JsonValue) -> int:
    order = Answer(item_id=given.item, answer=value, by=given.by or local_user())
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    async with open_wonder(url, runs="none", caller=local_caller(), **tenant) as wonder:
        answered = await answer_item(wonder, order)
    if given.json:
        print_output(answered)
    else:
        more = "; it stays open until more approvers have answered" if answered.is_open else ""
        print(f"{color('good', '✓')} answered{more}")
        if answered.needs_engine:
            # This command records the answer only: tasks are run by an engine that has their functions.
            print(f"  no process runs the engine now; continue with {CONTINUE}")
    return 0
