"""How ``--help`` reads: commands by what they are for, options that few need under a heading."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

TASKS = {
    "From data to a release": ("init", "validate", "plan", "run", "report", "codebook"),
    "Choose between settings": ("frontier", "compare"),
    "Judge files, whoever made them": ("risk", "utility", "refine"),
    "Draw without the data": ("fit", "generate"),
    "Verify findings": ("public-schema", "ledger", "verify", "serve", "server"),
    "Look up": ("models", "schema"),
}
"""Every command, in the order in which it is listed."""


class Tasks(TyperGroup):
    """Lists the commands by task, each with the first sentence about it."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list."""
        longest = max(map(len, self.commands))
        for task, names in TASKS.items():
            with formatter.section(task):
                formatter.write_dl(
                    [
                        (name.ljust(longest), self.commands[name].get_short_help_str(limit=200))
                        for name in names
                    ]
                )


class Options(TyperCommand):
    """Lists arguments, options, and options under the headings of their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the lists."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_option = parameter.param_type_name == "option"
                heading = getattr(parameter, "rich_help_panel", None) if is_option else "Arguments"
                groups.setdefault(heading or "Options", []).append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
