"""hooks and hooks test, with their help. Docstrings of commands are their help."""

import click

from deskmate.faces.common.command_start import SuggestingGroup, importing


@click.group(cls=SuggestingGroup, invoke_without_command=True, subcommand_metavar="[COMMAND [ARGS]...]")
@click.pass_context
def hooks(ctx: click.Context, /) -> int:
    """List the hooks: your own programs that run at events, such as before a call or after an edit.

    Shows the file of each, whether it is in force, and what of a file is not supported. Hooks come from your settings,
    from ~/.claude/settings.json if you set claude_hooks = true, and from .claude/settings.json and
    .deskmate/settings.toml in the workspace after you trust them.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    with importing():
        from deskmate.faces.cli.hooks import hook_output

    return hook_output.hooks(ctx.meta["workspace"])


@hooks.command()
@click.argument("event")
@click.option("--tool", default="bash", metavar="NAME", help="The tool of the call. Default: bash.")
@click.option("--input", "given", default="{}", metavar="JSON", help="The input of the tool, or fields of the event.")
@click.pass_context
def test(ctx: click.Context, /, event: str, tool: str, given: str) -> int:
    """Run the hooks of an EVENT with an example, and show what they answer and what would happen.

    EVENT is one of those that deskmate hooks lists, such as PreToolUse. The hooks really run, but no agent does, and
    nothing is recorded. Exits with 1 if the hooks would block.
    """
    with importing():
        from deskmate.faces.cli.hooks import hook_output

    return hook_output.trial(ctx.meta["workspace"], event, tool, given)
