"""The program: its commands, their help, and how they end.

Commands import the library inside functions, so that ``--help`` is quick.
"""

import sys
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

import spectrata
from spectrata._version import __version__
from spectrata.cli.failures import CALLED_WITH, Code, notes, report_failure, stop_on_signals
from spectrata.cli.options import DEBUG_FLAG, flat
from spectrata.errors import FLAGS, OptionError, shown

ANALYSE, COMPARE, OTHER = "Analyse a graph and a signal", "Compare and check results", "Other commands"
START = ("spectrata demo", "spectrata profile graph.txt signal.csv", "spectrata homophily graph.txt labels.csv")
COMMANDS = (  # each a function of its name in a file of its name
    ("profile", ANALYSE, (
        "spectrata profile graph.txt signal.csv --hops 3 --report",
        "spectrata profile graph.txt signal.csv --bands 16 --hops 1",
        "spectrata profile --many pairs.csv --jobs 4 -o results",
    )),
    ("homophily", ANALYSE, ("spectrata homophily graph.txt labels.csv --hops 3",)),
    ("correlogram", ANALYSE, ("spectrata correlogram graph.txt signal.csv --hops 3 -o out",)),
    ("local", ANALYSE, ("spectrata local graph.txt signal.csv",)),
    ("agree", ANALYSE, ("spectrata agree graph.txt signal.csv other.csv",)),
    ("probe", ANALYSE, ("spectrata probe graph.txt features.csv labels.csv",)),
    ("strata", ANALYSE, ("spectrata strata graph.txt",)),
    ("compare", COMPARE, ("spectrata compare before/spectra.nc after/spectra.nc",)),
    ("check", COMPARE, ("spectrata check run.zarr --fail-on collapse",)),
    ("demo", OTHER, ("spectrata demo -o demo",)),
    ("info", OTHER, ("spectrata info --json",)),
)  # fmt: skip
PROFILES = ("rank_columns", "rank", "diagnose")  # what ``profile`` does


def main() -> None:
    """Run the command line."""
    stop_on_signals()
    app(prog_name="spectrata")


def epilog(examples: tuple[str, ...]) -> str:
    """Examples as paragraphs, which ``--help`` shows as lines."""
    return "\n\n".join(f"$ {line}" for line in examples)


class Group(TyperGroup):
    """All commands under one rule for messages and exit codes."""

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run, and end the process with the right code."""
        given = args[0] if args else more.get("args")
        CALLED_WITH[:] = sys.argv[1:] if given is None else given
        more["standalone_mode"] = False
        with notes():
            try:
                code = super().main(*args, **more)
                if code == Code.INTERRUPTED:  # the parser answers Ctrl-C with this code, and with no word
                    code = report_failure(KeyboardInterrupt())
            except (Exception, KeyboardInterrupt) as problem:
                code = report_failure(problem)
            finally:
                FLAGS.clear()
        sys.exit(code if isinstance(code, int) else Code.OK)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; what is a function of Python, or done by another command, says so."""
        word = args[0].replace("-", "_")
        if word in PROFILES:
            raise OptionError(f"{shown(args[0])} is no command; spectrata profile tests and ranks columns of a table.")
        if word in spectrata.__all__ and word not in self.commands:
            raise OptionError(f"{shown(args[0])} is no command; use it in Python, as st.{word}.")
        return super().resolve_command(ctx, args)


class Command(TyperCommand):
    """A command that tells the library its flags, and whose help is short unless all of it is asked for."""

    allow_extra_args = True  # refused below, in words that help

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command; a flag is not taken for the value of the flag before it."""
        options: list[Any] = [param for param in self.params if param.param_type_name == "option"]
        FLAGS.update({param.name: (max(param.opts, key=len), not param.is_flag) for param in options})
        takes_value = {name: not param.is_flag for param in options for name in param.opts}
        for word, following in pairwise(args):
            if word == "--":
                break
            if takes_value.get(word) and following in takes_value:
                raise OptionError(f"{word} needs a value, and {following} follows it; write {word} VALUE {following}.")
        written = [*args]  # the parser empties the list
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            raise OptionError(f"{shown(left[0])} is one argument too many{_meant(left, written, takes_value)}.")
        return left

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help; where options are left out, how to see them."""
        hidden = sum(getattr(param, "hidden", False) for param in self.params)
        if hidden:
            self.epilog = f"{self.epilog}\n\n{hidden} more options: spectrata {self.name} --help-all"
        super().format_help(ctx, formatter)


def _meant(left: list[str], args: list[str], takes_value: dict[str, bool]) -> str:
    """What an argument too many may have been meant as."""
    further, before, *rest = ["", "", *args][args.index(left[0]) :]
    if takes_value.get(further):
        blanks = " ".join([before, *(left if rest[: len(left)] == left else left[:1])])
        return f'; quote a value with blanks, as in {further} "{blanks}"'
    if takes_value.get(before) is False:
        return f"; {before} takes no value" + "; -o DIR chooses the folder" * ("out" in FLAGS)
    return f"; to choose a column, write --column {left[0]}" if "column" in FLAGS else ""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"spectrata {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How far does likeness reach in your network? A signal on a graph, hop by hop and frequency by frequency.",
    epilog=epilog(START),
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", metavar="", callback=_version, is_eager=True, help="Print the version."
    ),
    debug: bool = DEBUG_FLAG,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


for name, panel, examples in COMMANDS:
    function = getattr(import_module(f"spectrata.cli.commands.{name}"), name)
    app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog(examples))(flat(function))
