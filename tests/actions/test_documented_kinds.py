"""What docs/reference/actions.md says of the kinds of action is there, and nothing is left out (ACT-10)."""

import re
from pathlib import Path

import pytest

from wonder.definitions.kinds import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "actions.md").read_text("utf-8")
NO_CODES = {"SSL_CERT_FILE"}


@pytest.mark.parametrize("kind", KINDS.own)
def test_act_10_every_kind_is_described_with_all_its_fields(kind: str) -> None:
    assert f"`{kind}`" in PAGE
    if kind not in {"shell_command", "read_file", "write_file", "write_artifact"}:  # these: artifacts.md
        fields = [field.alias or name for name, field in KINDS.own[kind].configuration.model_fields.items()]
        assert [name for name in fields if name not in PAGE] == []


def test_every_code_of_an_error_is_one_that_the_engine_has() -> None:
    source = "".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    codes = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", PAGE)) - NO_CODES
    assert len(codes) > 50
    assert sorted(code for code in codes if f'"{code}"' not in source) == []
