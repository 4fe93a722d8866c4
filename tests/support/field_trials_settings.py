"""Trials of the settings of workspace and project, of costs, and of schedules."""

from typing import Any

from support.definitions import update
from support.field_trials import Trial, of_project, of_workspace, shown, trial
from support.field_trials_actions import ASKED, HTTP, IMPLEMENTATION, LLM, SHELL, TOOL, acts
from support.field_trials_graph import ASKS, EACH, OBJECT, ONE, TRIGGERED, TWO
from support.systems import bundle, calls, line, waits

PRICE: Any = {"provider": "mock", "model_id": "m", "input_usd_per_million": 10_000, "output_usd_per_million": 10_000}
PAID: Any = {
    **LLM,
    "models": {
        "m": {
            "provider": "mock",
            "model_id": "m",
            "parameters": {"max_tokens": 10},
            "execution_config": {"answers": [{"answer": "x", "usage": {"input_tokens": 5, "output_tokens": 6}}]},
        }
    },
}
PRICED: Any = {"workspace": {"model_prices": [PRICE]}}
BUDGETED: Any = {"workspace": {"model_prices": [PRICE], "budget": {"max_monthly_spend_cents": 100_000}}}
SLOW: Any = bundle("w", {"a": calls("slow")}, input_schema=OBJECT)
NESTED: Any = {
    **bundle("w", {"a": waits("workflow_call", {"workflow_def_id": "middle"})}),
    "workflows": {
        "middle": bundle("middle", {"a": waits("workflow_call", {"workflow_def_id": "inner"})})["workflow"],
        "inner": bundle("inner", {"a": update()})["workflow"],
    },
}
LARGE: Any = bundle(
    "w",
    {"a": calls("many", input_mapping={"n": 2_000}, output_mapping={"state.all": "$.items"}), "b": calls("echo")},
    line("a", "b"),
    context_schema={"type": "object", "properties": {"all": {}}},
)
PURE_LOOP: Any = bundle(
    "w",
    {"a": update(**{"state.n": "coalesce(state.n, 0) + 1"}), "b": update()},
    [
        {"from": "a", "to": "a", "condition": "state.n < 50", "loop_config": {"max_iterations": 100}},
        {"from": "a", "to": "b", "priority": 1},
    ],
    context_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
)
THREE: Any = {"input": {"items": [1, 2, 3]}}
MANY_TRIGGERED: Any = {
    **TRIGGERED,
    "triggers": [{"workflowId": "next", "inputs": {"x": 1}, "forEach": "@output.items"}],
}
DYING: Any = bundle("w", {"a": calls("die")})
OF_PROJECTS = [
    of_project(
        "ProjectSettings:default_model_profile_id",
        {**LLM, "workflow": acts("llm_call", {"prompt_spec_id": "q"})["workflow"]},
        "MODEL:n",
    ),
    of_project("ProjectSettings:rate_limits", SLOW, {"max_concurrent_runs": 1}, inputs=[{}, {}]),
    of_project("ProjectSettings:budget", PAID, {"max_monthly_spend_cents": 0}, **PRICED),
    of_project("ProjectSettings:snapshot_policy", ONE, {"at_end": False}),
    of_project("ProjectSettings:files_root", acts("read_file", {"path": "a.txt"}), "FOLDER"),
    of_project("ProjectSettings:record_io", ONE, "none"),
    of_project("ProjectSettings:foreach_limit", EACH, 2, **THREE),
    of_project("ProjectSettings:run_limits", TWO, {"tokens": 1}),
    of_project("ProjectSettings:call_depth_max", NESTED, 1),
    of_project("RateLimits:rate_limits.max_concurrent_runs", SLOW, 1, inputs=[{}, {}]),
    of_project(
        "RateLimits:rate_limits.max_llm_calls_per_hour",
        {**LLM, "workflow": acts("llm_call", {"prompt_spec_id": "q", "model_profile_id": "n"})["workflow"]},
        1,
        inputs=[{}, {}],
        patience=0.5,
    ),
    of_project("ProjectBudget:budget.max_monthly_spend_cents", PAID, 0, **PRICED),
    of_project("ProjectBudget:budget.alert_threshold_cents", PAID, 1, **PRICED),
    of_project(
        "ProjectBudget:budget.on_exceeded",
        PAID,
        "human_gate",
        project={"budget": {"max_monthly_spend_cents": 0}},
        **PRICED,
    ),
    of_project(
        "SnapshotPolicy:snapshot_policy.every_events", TWO, 1, None, project={"snapshot_policy": {"at_end": False}}
    ),
    of_project("SnapshotPolicy:snapshot_policy.at_end", ONE, False),
    of_project("RunLimits:run_limits.live_tokens", EACH, 2, **THREE),
    of_project("RunLimits:run_limits.tokens", TWO, 1),
    of_project("RunLimits:run_limits.events", TWO, 5),
    of_project("RunLimits:run_limits.context_bytes", LARGE, 500),
    of_project("RunLimits:run_limits.bytes_written", LARGE, 100),
    of_project("RunLimits:run_limits.pure_steps", PURE_LOOP, 10),
    of_project("RunLimits:run_limits.evaluation_steps", LARGE, 20),
    of_project("RunLimits:run_limits.triggered_runs", MANY_TRIGGERED, 1, **THREE, linger=True),
    of_project("RunLimits:run_limits.function_wait_ms", bundle("w", {"a": calls("nobody_has")}), 20),
    of_project("RunLimits:run_limits.deaths", DYING, 1, dies=True),
]
MODEL_OPEN: Any = {"workspace": {"allow_private_addresses": True, "allowed_model_base_urls": ["PEER/v1"]}}
PRICED_MODEL: Any = {"workspace": {"budget": {"max_monthly_spend_cents": 100_000}, "model_prices": [PRICE]}}
LOCAL_PRICE: Any = {**PRICE, "provider": "local", "base_url": "PEER/v1"}
OF_WORKSPACES = [
    of_workspace("WorkspaceSettings:allowed_model_providers", LLM, ["openai"]),
    of_workspace(
        "WorkspaceSettings:allowed_model_base_urls", ASKED, ["PEER/v1"], workspace={"allow_private_addresses": True}
    ),
    of_workspace(
        "WorkspaceSettings:model_prices", PAID, [PRICE], project={"budget": {"max_monthly_spend_cents": 100_000}}
    ),
    of_workspace("WorkspaceSettings:allowed_mcp_servers", TOOL, ["tools"], allow_mcp=False),
    of_workspace("WorkspaceSettings:budget", PAID, {"max_monthly_spend_cents": 0}, **PRICED),
    of_workspace("WorkspaceSettings:allow_private_addresses", HTTP, True),
    of_workspace("WorkspaceSettings:allow_shell", SHELL, True, project={"files_root": "FOLDER"}),
    of_workspace("Budget:budget.max_monthly_spend_cents", PAID, 0, **PRICED),
    of_workspace("Budget:budget.alert_threshold_cents", PAID, 1, **PRICED),
    of_workspace("ModelPrice:model_prices.0.provider", PAID, "local", "mock", **BUDGETED),
    of_workspace("ModelPrice:model_prices.0.model_id", PAID, "other", "m", **BUDGETED),
    of_workspace(
        "ModelPrice:model_prices.0.base_url",
        ASKED,
        "PEER/v2",
        "PEER/v1",
        workspace={
            **MODEL_OPEN["workspace"],
            "model_prices": [LOCAL_PRICE],
            "budget": {"max_monthly_spend_cents": 100_000},
        },
    ),
    of_workspace("ModelPrice:model_prices.0.input_usd_per_million", PAID, 1_000, 10_000, **BUDGETED),
    of_workspace("ModelPrice:model_prices.0.output_usd_per_million", PAID, 1_000, 10_000, **BUDGETED),
]
OF_COSTS = [
    trial("ModelProfileBody.cost_per_1k_input_tokens", PAID, "models.m.cost_per_1k_input_tokens", 2.0),
    trial(
        "ModelProfileBody.cost_per_1k_output_tokens",
        PAID,
        "models.m.cost_per_1k_output_tokens",
        2.0,
        with_={"models.m.cost_per_1k_input_tokens": 1.0},
    ),
    trial(
        "WorkflowCall.inherit_artifacts",
        {
            **bundle(
                "w",
                {
                    "one": waits("write_artifact", {"artifact_type_id": "blob", "content_mapping": {"x": 1}}),
                    "a": waits("workflow_call", {"workflow_def_id": "inner"}),
                },
                line("one", "a"),
            ),
            "workflows": {"inner": NESTED["workflows"]["inner"]},
        },
        f"{IMPLEMENTATION}.inherit_artifacts",
        True,
    ),
]
HOURLY: Any = {**ONE, "schedules": {"s": {"cron": "0 * * * *", "catch_up": "all"}}}
AT = "schedules.s"
BACK: Any = {"back_ms": 3 * 3_600_000, "start": False, "linger": True, "patience": 0.4}
GATED: Any = {**ASKS, "schedules": HOURLY["schedules"]}
OTHER: Any = {**HOURLY, "workflows": {"other": bundle("other", {"a": calls("refused")})["workflow"]}}
OF_SCHEDULES = [
    shown("ScheduleFile.description", HOURLY, f"{AT}.description", "schedules", "show", "s"),
    trial("ScheduleFile.cron", HOURLY, f"{AT}.cron", "30 * * * *", "0 * * * *", **BACK),
    trial(
        "ScheduleFile.every_ms",
        {**ONE, "schedules": {"s": {"catch_up": "all"}}},
        f"{AT}.every_ms",
        1_200_000,
        600_000,
        **BACK,
    ),
    trial(
        "ScheduleFile.time_zone",
        HOURLY,
        f"{AT}.time_zone",
        "Asia/Tokyo",
        with_={f"{AT}.cron": "0 12 * * *"},
        hours=True,
        **{**BACK, "back_ms": 26 * 3_600_000},
    ),
    trial("ScheduleFile.input", HOURLY, f"{AT}.input", {"x": 4}, **BACK),
    trial("ScheduleFile.overlap", GATED, f"{AT}.overlap", "allow", **BACK),
    trial("ScheduleFile.catch_up", HOURLY, f"{AT}.catch_up", "none", **BACK),
    trial("ScheduleFile.catch_up_ms", HOURLY, f"{AT}.catch_up_ms", 60_001, **BACK),
    trial("ScheduleFile.catch_up_max", HOURLY, f"{AT}.catch_up_max", 1, with_={f"{AT}.overlap": "allow"}, **BACK),
    trial("ScheduleFile.jitter_ms", HOURLY, f"{AT}.jitter_ms", 86_000_000, **BACK),
    trial("ScheduleFile.starts_at", HOURLY, f"{AT}.starts_at", "2999-01-01", **BACK),
    trial("ScheduleFile.ends_at", HOURLY, f"{AT}.ends_at", "2001-01-01", **BACK),
    trial("ScheduleFile.workflow", OTHER, f"{AT}.workflow", "other", **BACK),
    trial("ScheduleFile.paused", HOURLY, f"{AT}.paused", True, **BACK),
]
OF_SETTINGS: list[Trial] = [*OF_PROJECTS, *OF_WORKSPACES, *OF_COSTS, *OF_SCHEDULES]
