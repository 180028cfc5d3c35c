"""The pages about running an agent say what is so: tools, settings, options, exit codes and modes are the code's."""

from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from deskmate.config import choose_fallback, providers, settings_loader
from deskmate.config import settings as settings
from deskmate.core.policy.permissions import Attempt, Effect, Mode, judge
from deskmate.core.policy.tool_table import TOOLS, AgentKind, AgentType, tools_of
from deskmate.faces.cli.run_command import EXIT_CODES, LEFT
from deskmate.faces.common.exit_codes import INTERRUPTED, UNUSABLE, USAGE
from deskmate.tools import tools_for
from tests.test_docs import page, rows, section, snippets, ticked


def names_in(text: str) -> list[str]:
    return [name for row in rows(text) for name in ticked(row[0])]


def test_the_table_of_tools_says_who_has_each_and_what_becomes_of_it() -> None:
    agents = {
        "lead": (AgentKind.LEAD, AgentType.GENERAL),
        "teammate": (AgentKind.TEAMMATE, AgentType.GENERAL),
        "subagent": (AgentKind.SUBAGENT, AgentType.GENERAL),
        "Explore": (AgentKind.SUBAGENT, AgentType.EXPLORE),
    }
    has = {who: tools_of(*agent) for who, agent in agents.items()}
    planners = {f"{who} in plan mode": tools_of(*agents[who], planning=True) for who in ("lead", "teammate")}

    def who_has(tool: str) -> list[str]:
        return [who for who, tools in has.items() if tool in tools] or [
            who for who, tools in planners.items() if tool in tools
        ]

    table = [row[:4] for row in rows(page("reference/tools.md").partition("## Bounds")[0])]
    assert table == [
        [
            f"`{tool.name}`",
            ", ".join(who_has(tool.name)),
            "run again" if TOOLS[tool.name].repeatable else "told as interrupted",
            "yes" if TOOLS[tool.name].overlaps else "no",
        ]
        for tool in tools_for(AgentKind.LEAD, TOOLS)
    ]


def test_the_settings_page_has_every_setting_and_an_example_that_loads(tmp_path: Path) -> None:
    text = page("reference/settings.md")
    tables: dict[str, type[BaseModel]] = {"The file": settings.Written, "Prices": settings.Prices}
    assert {name: names_in(section(text, name)) for name in tables} == {n: [*t.model_fields] for n, t in tables.items()}
    described = names_in(section(text, "Providers"))
    assert sorted(described[: len(providers.Provider.model_fields)]) == sorted(providers.Provider.model_fields)
    assert described[len(providers.Provider.model_fields) :] == [*providers.PRESETS]
    names = [*providers.DEFAULT_MODELS, *settings.ModelSettings.model_fields, *providers.ALIASES]
    assert names_in(section(text, "Models")) == names
    variables = [providers.PRESETS[name].key_env for name in providers.OWN_TABLES]
    assert {*settings_loader._VARIABLES.values(), *variables} <= {*names_in(section(text, "The environment"))}
    assert [ticked(row[1])[0] for row in rows(section(text, "Models"))[:2]] == [*providers.DEFAULT_MODELS.values()]
    example, _ = (snippet for snippet in snippets(text) if snippet.language == "toml")
    file = settings.config_folder({"HOME": str(tmp_path)}) / "settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text(example.text, encoding="utf-8")
    assert choose_fallback(settings_loader.load({"HOME": str(tmp_path), "OPENAI_API_KEY": "k"})) == "openai:gpt-5.5"


def test_the_pages_about_outputs_and_permissions_have_the_exit_codes_and_the_modes() -> None:
    codes = {USAGE, UNUSABLE, INTERRUPTED, LEFT, *EXIT_CODES.values()}
    of_runs = section(page("reference/outputs.md"), "Exit codes").partition("For the commands")[0]
    assert {int(code) for code in names_in(of_runs)} == codes
    table = [
        (ticked(row[0])[0], *(not cell.startswith("no") for cell in row[1:]))
        for row in rows(section(page("reference/permissions.md"), "Modes"))
    ]
    assert sorted(table) == sorted((mode, *_cells(mode)) for mode in Mode)


def _cells(mode: Mode) -> tuple[bool, ...]:
    free, confined = may(mode, confined=False), may(mode, confined=True)
    return free("read_file"), free("edit_file"), confined("bash"), free("bash")


def may(mode: Mode, *, confined: bool) -> Callable[[str], bool]:
    def judged(tool: str) -> bool:
        attempt = Attempt(tool, ("a.py",), inside=True)
        verdict = judge(attempt, mode=mode, rules=(), traits=TOOLS, confined=confined, attended=False)
        return verdict.effect is Effect.ALLOW

    return judged
