"""The directive ``command-line``: every command with its arguments and options, read from the program itself."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class CommandLine(Directive):
    """One section for the program and one for each command, as tables."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Read the commands and let Sphinx parse what is written about them."""
        import spectrata.cli.app

        for file in (__file__, spectrata.cli.app.__file__):
            self.state.document.settings.env.note_dependency(file)
        lines = StringList(list(page()), source="spectrata.cli.app")
        parent = nodes.section()
        parent.document = self.state.document
        self.state.nested_parse(lines, self.content_offset, parent, match_titles=True)
        return parent.children


class ExitCodes(Directive):
    """The exit codes with their meanings."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Read the list of the program."""
        from spectrata.cli.failures import Code

        items = [f"* ``{code.value}``: {code.meaning}" for code in Code]
        parent = nodes.section()
        parent.document = self.state.document
        self.state.nested_parse(StringList(items, source="spectrata.cli.failures"), self.content_offset, parent)
        return parent.children


def page() -> Iterator[str]:
    """The page in reStructuredText."""
    import typer

    from spectrata.cli.app import app

    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield from section(name, command)


def section(name: str, command: Any) -> Iterator[str]:
    """One command: how it is called, what it does, and a table for each group of options."""
    title = f"spectrata {name}"
    yield from (f".. _command-{name}:", "", title, "-" * len(title), "")
    words = [shown(one) for one in command.params if one.param_type_name == "argument"]
    yield from (".. code-block:: text", "", f"   {' '.join([title, *words, '[OPTIONS]'])}", "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (" ".join(escaped(paragraph).split()), "")
    if command.epilog:
        lines = command.epilog.split("\n\n")
        yield from (".. code-block:: console", "", *(f"   {line}" for line in lines), "")
    for panel, parameters in panels(command).items():
        yield from table(panel, parameters)


def panels(command: Any) -> dict[str, list[Any]]:
    """Arguments first, then the groups that ``--help`` shows."""
    found: dict[str, list[Any]] = {}
    for parameter in command.params:
        if parameter.name in ("help", "help_all", "debug"):
            continue
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        found.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(parameter)
    return found


def table(panel: str, parameters: list[Any]) -> Iterator[str]:
    """A table of names, values and what they mean."""
    yield from (f"**{panel}**", "", ".. list-table::", "   :class: options", "   :widths: 34 66", "   :align: left", "")
    for parameter in parameters:
        yield f"   * - {spelled(parameter)}"
        yield f"     - {escaped(parameter.help or '')}{default(parameter)}"
    yield ""


def spelled(parameter: Any) -> str:
    """``--out``, ``-o`` DIR."""
    if parameter.param_type_name == "argument":
        return f"``{shown(parameter)}``"
    names = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda name: not name.startswith("--"))
    words = ", ".join(f"``{name}``" for name in names)
    if parameter.is_flag:
        return words
    kind = str(getattr(parameter, "type_descriptor", None) or getattr(parameter, "type", "")).lower()
    value = parameter.metavar or ("N" if "int" in kind else "TEXT")
    return f"{words} {escaped(value.replace('|', ' | '))}"


def shown(argument: Any) -> str:
    """An argument as in a line of usage: in brackets where it may be left out."""
    word = argument.metavar or argument.name.upper()
    return word if argument.required or word.startswith("[") else f"[{word}]"


def default(parameter: Any) -> str:
    """The default, where there is one to speak of."""
    value = parameter.default
    if parameter.param_type_name == "argument" or value in (None, "") or isinstance(value, bool) or callable(value):
        return ""
    return f" Default: ``{value}``." if getattr(parameter, "show_default", True) else ""


def escaped(text: str) -> str:
    """Text that reStructuredText takes as it is."""
    # The colon too, or an address such as tcp://host:8786 becomes a link.
    return "".join(f"\\{mark}" if mark in r"\*`|_:" else mark for mark in text)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("command-line", CommandLine)
    app.add_directive("exit-codes", ExitCodes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
