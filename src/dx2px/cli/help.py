"""How a command's help looks: options under headings, where a command has many.

Typer shows such headings only through rich, whose import would make every help page slow.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

OPTIONS = "Options"


class Command(TyperCommand):
    """A command whose options stand under the heading that their `rich_help_panel` names, if any."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then the options heading by heading, in the order they were declared."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else OPTIONS
                heading = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
