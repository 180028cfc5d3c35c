"""The folder `commands` of `.claude` in the forms that people use, written for these tests.

git_helpers     front matter with tools and a hint, context from shell commands, arguments by number
workflow_suite  folders of commands, no front matter, long prompts with headings and examples, mentioned files
project_kit     YAML lists, quoted and folded descriptions, a model, a README, names that need care
"""

from pathlib import Path

HERE = Path(__file__).parent
GIT_HELPERS, WORKFLOW_SUITE, PROJECT_KIT = (
    HERE / name / "commands" for name in ("git_helpers", "workflow_suite", "project_kit")
)
