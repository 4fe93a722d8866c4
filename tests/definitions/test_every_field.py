"""Every field of every record is obeyed, refused or shown: none is stored without effect (TSK-7).

The fields are those that the records have, so a field that is added needs a trial here before this passes again.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.field_trials import Ground, Trial, fields_of, prepared_peer, trial
from support.field_trials_actions import OF_KINDS
from support.field_trials_graph import OF_GRAPHS, ONE, TASK
from support.field_trials_models import OF_MODELS
from support.field_trials_settings import OF_SETTINGS
from support.field_trials_transitions import OF_TRANSITIONS
from wonder.cli.main import main
from wonder.definitions.file_form.models import BundleFile
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.providers import CONFIGURATIONS, ScriptedAnswer
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings

TRIALS: list[Trial] = [*OF_GRAPHS, *OF_TRANSITIONS, *OF_KINDS, *OF_MODELS, *OF_SETTINGS]
ELSEWHERE: dict[str, str] = {
    "ProjectSettings.retention": "app/test_retention.py::test_evt_5_nothing_that_a_live_run_needs_is_removed",
    "Retention.events_days": "app/test_retention.py::test_evt_5_a_run_that_ended_long_ago_goes_with_all_that_it_has",
    "Retention.audit_days": "operations/test_audit.py::test_key_5_records_are_deleted_after_audit_days_and_not_before",
    "Retention.logs_days": "app/test_kept_logs.py::test_evt_4a_the_engine_archives_logs_after_logs_days",
    "RunLimits.log_bytes": "app/test_log_limits.py::test_res_6_a_run_that_logs_too_much_goes_on_and_its_logs_say_so",
}
"""Fields whose effect takes days, or shows in the logs alone, each with the test that looks at it."""
VERDICTS: Counter[str] = Counter()


def all_fields() -> list[str]:
    kinds = [kind.configuration for kind in KINDS.own.values()]
    return fields_of(BundleFile, *kinds, *CONFIGURATIONS.values(), ScriptedAnswer, WorkspaceSettings, ProjectSettings)


@pytest.fixture
async def ground(sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ground]:
    monkeypatch.chdir(tmp_path)
    async with prepared_peer() as peer:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{peer.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        yield Ground(sqlite_template, tmp_path, peer)


def test_tsk_7_every_field_of_every_record_is_tried() -> None:
    tried = [one.field for one in TRIALS]
    assert [field for field, count in Counter(tried).items() if count > 1] == []
    assert sorted(set(all_fields()) - set(tried) - ELSEWHERE.keys()) == [], "a field without a trial"
    assert sorted({*tried, *ELSEWHERE} - set(all_fields())) == [], "a trial of a field that is not there"
    assert sorted(set(tried) & ELSEWHERE.keys()) == [], "it is tried here"
    for test in ELSEWHERE.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (Path(__file__).parents[1] / file).read_text("utf-8")


async def _seen_twice(ground: Ground, situation: dict[str, Any]) -> dict[str, Any]:
    """Observe until the same was seen twice; what differs each time would make every field seem to have an effect."""
    seen: list[dict[str, Any]] = []
    for _ in range(5):
        now = await ground.observe(situation)
        if now in seen:
            return now
        seen.append(now)
    pytest.fail("what is observed is never the same twice")


@pytest.mark.parametrize("tried", [one for one in TRIALS if not one.shown_by], ids=lambda one: one.field)
async def test_tsk_7_a_field_changes_what_happens_or_is_refused(ground: Ground, tried: Trial) -> None:
    without = await _seen_twice(ground, tried.without)
    given = await ground.observe(tried.given)
    VERDICTS["refused" if "refused" in given and "refused" not in without else "obeyed"] += 1
    assert given != without, f"{tried.field} is stored without effect"


@pytest.mark.parametrize("tried", [one for one in TRIALS if one.shown_by], ids=lambda one: one.field)
def test_tsk_7_a_field_that_describes_is_shown_to_people(
    tried: Trial, sqlite_template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for name, situation in (("without", tried.without), ("given", tried.given)):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(situation["bundle"]))
        url = f"sqlite:///{tmp_path / name}.db"
        assert main(["deploy", str(file), "--db", url]) == 0, capsys.readouterr()
        capsys.readouterr()
        assert main([*tried.shown_by, "--db", url]) == 0
        shown.append(capsys.readouterr().out)
    VERDICTS["shown"] += 1
    assert [tried.told in text for text in shown] == [False, True], shown


async def test_a_field_without_effect_is_found_out(ground: Ground) -> None:
    """The sweep can fail: what changes nothing is seen to change nothing."""
    for base, at in ((ONE, "workflow.description"), (TASK, "tasks.t.tags")):
        tried = trial("Some.field", base, at, ["x"] if at.endswith("tags") else "x")
        assert await ground.observe(tried.without) == await ground.observe(tried.given)


@pytest.fixture(scope="module", autouse=True)
def told_at_the_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print how many fields there are, and what became of them."""
    yield
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(VERDICTS.items()))
    capture: Any = request.config.pluginmanager.get_plugin("capturemanager")
    if sum(VERDICTS.values()) == len(TRIALS):
        with capture.global_and_fixture_disabled():
            print(f"\n{len(all_fields())} fields: {counts}, {len(ELSEWHERE)} tried by other tests, 0 ignored")
