"""What all commands share: one rule for messages and exit codes, and how the words after a command are parsed."""

import sys
from typing import Any, NoReturn

from typer.core import TyperCommand, TyperGroup

from spectrata.cli.flags import flags_of, swallowed
from spectrata.cli.stopping import end_now
from spectrata.cli.terminal import Debug, Invocation, notes, report_failure
from spectrata.errors import OptionError

STOPPED = 130


class Group(TyperGroup):
    """All commands under one rule for messages and exit codes."""

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run, and end the process with the right code."""
        Debug.asked = False
        more["standalone_mode"] = False
        given = args[0] if args else more.get("args")
        Invocation.words = tuple(sys.argv[1:] if given is None else given)
        command = next((word for word in Invocation.words if word in self.commands), "")
        Invocation.flags = flags_of(self.commands.get(command))
        with notes():
            try:
                code = super().main(*args, **more)
                if code == STOPPED:  # the parser answers Ctrl-C with this code, and with no word
                    code = report_failure(KeyboardInterrupt())
            except (Exception, KeyboardInterrupt) as problem:
                code = report_failure(problem)
        if Invocation.stopped:  # files are cleaned up; what Python does at its end may wait for threads
            end_now(code)
        sys.exit(code if isinstance(code, int) else 0)


class Command(TyperCommand):
    """A command that does not take a flag for the value of the flag before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command."""
        problem = swallowed(args, flags_of(self))
        if problem:
            raise OptionError(problem)
        return super().parse_args(ctx, args)


class ProfileCommand(Command):
    """A command whose help lists the algorithms of the registry, which is loaded only for the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from spectrata.core.registry import ALGORITHMS, resolve_algorithms

        words = f"Of {', '.join(ALGORITHMS)} (default: {', '.join(resolve_algorithms(None))})."
        for param in self.params:
            if param.name == "algorithms":
                param.help = words  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
