"""What members are told of own trees: that one could not be set up, what was merged and handed over, and why not."""

from collections.abc import Collection

from deskmate.core.agent.entries import Noticed
from deskmate.core.prompt.task_lines import one_line, quoted
from deskmate.core.values import frozen

_OUTPUT_SHOWN = 4096
_NAMED = 5
_CHANGED_SHOWN, _NAME_SHOWN, _REASON_SHOWN = 20, 200, 500


@frozen
class MergeConflict:
    """Why two commits cannot be merged. `hunks`: the places, as git writes them into the files.

    `rivals`: the subjects of the tasks whose work is in these files now.
    """

    files: tuple[str, ...]
    hunks: str
    rivals: tuple[str, ...] = ()


def listed(names: Collection[str]) -> str:
    """Return names for a sentence, bounded."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(sorted(names)[:_NAMED])}{more}"


def handed_over(branch: str, into: str, commit: str, files: Collection[str], uncommitted: Collection[str]) -> Noticed:
    """Return what the lead is told after the branch was merged into that of the user."""
    left = f" In {_shown(uncommitted)} it is not committed, because other changes there are not." if uncommitted else ""
    text = (
        f"The finished work of {branch} is in your workspace now, on branch {one_line(into)} at {commit[:12]}. "
        f"Changed: {_shown(files)}.{left} Read changed files again before you edit them."
    )
    return Noticed(text=text, handed_over=True)


def not_handed_over(branch: str, reason: str) -> Noticed:
    """Return what the lead is told if the branch could not be merged into that of the user."""
    why = one_line(reason)[:_REASON_SHOWN]
    text = (
        f"The finished work of {branch} is not in your workspace: {why}. Nothing was changed there. To see the work, "
        f"run: git diff HEAD {branch}, or git show {branch}:PATH."
    )
    return Noticed(text=text, handed_over=False)


def _shown(files: Collection[str]) -> str:
    shown = [one_line(name)[:_NAME_SHOWN] for name in sorted(files)[:_CHANGED_SHOWN]]
    more = f" and {len(files) - _CHANGED_SHOWN} more" if len(files) > _CHANGED_SHOWN else ""
    return f"{', '.join(shown)}{more}"


def conflict_text(branch: str, conflict: MergeConflict) -> str:
    """Return why work was not merged: where it conflicts, and with whose."""
    # Members wrote these subjects, but this is read as our text.
    subjects = ", ".join(quoted(one_line(subject)) for subject in conflict.rivals)
    merged = f" Merged there meanwhile: {subjects}." if subjects else ""
    hunks = f"\n{conflict.hunks}" if conflict.hunks else ""
    return f"It conflicts with {branch} in {', '.join(conflict.files)}.{merged}{hunks}"


def check_failed(branch: str, how: str, output: str, *, own: bool) -> str:
    """Return why work was not merged: a command failed on the merged files. `own`: the task's verify command."""
    command = "the task's verify command" if own else "the team's check"
    shown = output.strip()[-_OUTPUT_SHOWN:] or "(no output)"
    return f"Merged with {branch}, {command} fails with {how}, although your files alone may pass:\n{shown}"


def hook_refused(branch: str, reason: str) -> str:
    """Return why work was not merged: a hook refused the task after it saw the merged files."""
    return f"Merged with {branch}, a TaskCompleted hook refused it: {reason}"


def setup_failed(command: str, how: str, output: str) -> str:
    """Return what a member is told if the user's setup command failed in its new tree."""
    shown = output.strip()[-_OUTPUT_SHOWN:] or "(no output)"
    return (
        f"The setup command of your workspace, `{one_line(command)}`, failed with {how}. What it installs may be "
        f"missing. If you need that, fix it first, or tell the lead what is missing.\n{shown}"
    )


def filter_failed(output: str) -> str:
    """Return what a member is told if git could not convert files of its new tree with the filters of the user."""
    shown = output.strip()[-_OUTPUT_SHOWN:] or "(no output)"
    return (
        "A filter of git, such as Git LFS, failed in your tree. The files that it converts are there as git stores "
        f"them, for example as pointers. Do not change these files. Tell the lead if you need them.\n{shown}"
    )


def git_failed(error: str) -> str:
    """Return why work was not merged: git itself failed."""
    return f"Git could not merge it: {error}"


def returned_text(task: int, branch: str, reason: str) -> str:
    """Return what the owner of returned work does next. The branch has been merged into its tree."""
    return (
        f"Task #{task} is not completed: your work was not merged into {branch}. {reason}\n"
        f"{branch} is now merged into your tree. Resolve the conflicts in your files, if there are any, run the tests, "
        "then complete the task again."
    )
