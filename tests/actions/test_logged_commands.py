"""INV-8, EVT-4a: what a command that has secrets writes to its standard error is looked through as a whole."""

import sys

from support.settled import SettledResources
from support.tasks import action
from wonder.actions.attempts import Origin
from wonder.actions.context import ActionContext
from wonder.actions.logs.collecting import LogCollector
from wonder.actions.logs.redacted_text import REDACTORS
from wonder.actions.protocol import Use
from wonder.actions.shell_command.kind import ShellCommandKind
from wonder.language.redaction import Redactor

KEY = "-----BEGIN KEY-----\nAAAABBBBCCCCDDDDEEEEFFFF\nGGGGHHHHIIIIJJJJKKKKLLLL\n-----END KEY-----"


async def test_inv_8_a_secret_of_several_lines_is_not_logged_line_by_line() -> None:
    redactor = Redactor()
    redactor.add("KEY", KEY)
    REDACTORS.add(redactor)
    logs = LogCollector("process")
    resources = SettledResources(workspace={"allow_shell": True}, secrets={"KEY": KEY})
    script = "import os, sys; sys.stderr.write('before\\n' + os.environ['KEY'] + '\\nafter\\n')"
    implementation = {"command": [sys.executable, "-I", "-S", "-c", script], "env": {"KEY": "{{secrets.KEY}}"}}
    kind = ShellCommandKind(resources, None)
    command = kind.compile(action("act", "shell_command", implementation), Use())
    try:
        await command.run({}, ActionContext(Origin("project", "run", "node"), "act", 1, logs=logs))
    finally:
        REDACTORS.discard(redactor)
        await kind.close()
    assert [record.message for record in logs.take(10)] == ["before", "[secret KEY]", "after"]
