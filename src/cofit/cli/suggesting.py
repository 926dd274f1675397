"""A group of commands that knows what somebody probably meant."""

from __future__ import annotations

import difflib

import click


class SuggestingGroup(click.Group):
    """Says which command is nearest to one that does not exist; click does so for options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for, or fail with the nearest one."""
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{meant}")
        return super().resolve_command(ctx, args)
