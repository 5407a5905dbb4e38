"""Messages on the command line name flags, not Python arguments."""

import networkx as nx
import numpy as np
import pytest

from commanding import karate, run  # noqa: F401
from spectrata.cli.app import app
from spectrata.cli.flags import Flag, as_flags, flags_of, swallowed

FLAGS = {
    "weights": Flag("--weights", False),
    "hops": Flag("--hops", False),
    "n_eigs": Flag("--n-eigs", False),
    "keep": Flag("--keep", False),
    "undirected": Flag("--undirected", True),
}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("give weights='capacity'.", "give --weights capacity."),
        ("weights= names no attribute", "--weights names no attribute"),
        ("use weights=True or weights=False;", "use --weights true or --weights false;"),
        ("(hops=3), hops=[1, 2] and hops=None.", "(--hops 3), --hops 1,2 and --hops none."),
        ("compute it with keep=['signal'].", "compute it with --keep signal."),
        ("weights='two words' of it", "--weights 'two words' of it"),
        ("undirected=True, or undirected=False", "--undirected, or no --undirected"),
        ("compute it without n_eigs, and", "compute it without --n-eigs, and"),
        ("leave out n_eigs.", "leave out --n-eigs."),
        ("hops=-1 asks for no hop", "--hops -1 asks for no hop"),
        # Names from files, paths and other arguments stay.
        ("The node 'hops=3' is not in the graph's nodes", "The node 'hops=3' is not in the graph's nodes"),
        ("a/n_eigs.csv and my_n_eigs", "a/n_eigs.csv and my_n_eigs"),
        ("metric='foo' is not one of 'auto'", "metric='foo' is not one of 'auto'"),
        ("the hops of the weights", "the hops of the weights"),
    ],
)
def test_arguments_become_flags(said, wanted):
    assert as_flags(said, FLAGS) == wanted
    assert as_flags(said, {}) == said


def test_a_flag_is_no_value():
    assert "--hops follows it" in swallowed(["a", "--weights", "--hops", "3"], FLAGS)
    assert swallowed(["--undirected", "--hops", "3"], FLAGS) == ""
    assert swallowed(["--weights", "-x", "--", "--hops", "--weights"], FLAGS) == ""


def test_every_flag_of_every_command_is_known():
    import typer

    for name, command in typer.main.get_command(app).commands.items():
        flags = flags_of(command)
        assert all(flag.name == "--" + argument.replace("_", "-") for argument, flag in flags.items()
                   if argument not in ("as_json",)), name  # fmt: skip


@pytest.mark.usefixtures("karate")
class TestOnTheCommandLine:
    def test_a_swallowed_flag(self):
        result = run("profile", "karate.txt", "degree.npy", "--weights", "--undirected")
        assert result.exit_code == 2
        assert result.stderr == (
            "error: --weights needs a value, and --undirected follows it; write --weights VALUE --undirected.\n"
        )

    def test_errors_and_notes(self):
        result = run("profile", "karate.txt", "degree.npy", "--metric", "round")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: --metric round is not known; use 'auto'")
        result = run("profile", "karate.txt", "degree.npy", "--weights", "capacity")
        assert result.exit_code == 2
        assert "weights=" not in result.stderr
        assert "--weights" in result.stderr

    def test_a_directed_graph_names_the_flag(self):
        nx.write_graphml(nx.path_graph(3, create_using=nx.DiGraph), "way.graphml")
        np.save("three.npy", np.arange(3.0))
        result = run("profile", "way.graphml", "three.npy")
        assert result.exit_code == 2
        assert "use --undirected to count" in result.stderr
        assert run("strata", "way.graphml", "--undirected").exit_code == 0

    def test_a_note_names_the_flag(self):
        graph = nx.path_graph(3)
        nx.set_edge_attributes(graph, 2.0, "weight")
        nx.write_graphml(graph, "heavy.graphml")
        result = run("strata", "heavy.graphml")
        assert result.exit_code == 0
        assert "note: " in result.stderr
        assert "--weights" in result.stderr
        assert "weights=" not in result.stderr
