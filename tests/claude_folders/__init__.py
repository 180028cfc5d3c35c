"""Folders of Claude Code in the forms that people use, written for these tests.

Whole folders `.claude`:

nested_research  agents and commands in folders, a skill with files, settings without hooks, folders that mean nothing
hook_suite       hooks of eight events that call scripts, a status line, an output style
review_bots      descriptions with examples, tools that do not exist here, `${{ }}` in a prompt, a blank first line

Only their folder `commands`:

git_helpers     front matter with tools and a hint, context from shell commands, arguments by number
workflow_suite  folders of commands, no front matter, long prompts with headings and examples, mentioned files
project_kit     YAML lists, quoted and folded descriptions, a model, a README, names that need care
"""

from pathlib import Path

HERE = Path(__file__).parent
GIT_HELPERS, WORKFLOW_SUITE, PROJECT_KIT = (
    HERE / name / "commands" for name in ("git_helpers", "workflow_suite", "project_kit")
)
NESTED_RESEARCH, HOOK_SUITE, REVIEW_BOTS = (HERE / name for name in ("nested_research", "hook_suite", "review_bots"))
