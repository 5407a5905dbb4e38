"""JupyterLab and marimo, each started as a server of its own, for ``make notebooks``."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from contextlib import contextmanager

import pytest

CELLS = (
    """
    import networkx as nx
    import numpy as np
    import torch
    import spectrata as st
    from spectrata.inputs.graphs import as_graph
    from spectrata.torch import watch
    graph = nx.karate_club_graph()
    places = nx.spring_layout(graph, seed=0)
    strat = st.Stratification(graph, hops=3, weights=False)
    layers = np.random.default_rng(0).normal(size=(3, 34, 2)).cumsum(axis=0)
    """,
    "strat",
    "as_graph(graph, weights=False)",
    "st.diagnose(strat, {node: float(place[0]) for node, place in places.items()})",
    """
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3))
    with watch(model, strat, layers=list(model), mode="train") as w:
        model(torch.tensor(layers[0], dtype=torch.float32))
        w.step(loss=0.5)
    w
    """,
    "st.write_report(strat, layers, pos=places)",
)
SHARED = ["nx", "np", "torch", "st", "as_graph", "watch", "graph", "places", "strat", "layers"]  # what the first makes
SECONDS = 120


def needs(package):
    """Skip where a notebook is not installed, except in the leg that installs it."""
    if importlib.util.find_spec(package) is None and not os.environ.get("SPECTRATA_NOTEBOOKS"):
        pytest.skip(f"{package} is not installed here; make notebooks installs it")


@contextmanager
def served(folder, module, *arguments):
    """A server of a folder at a free port, with settings of its own; stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")}
    command = [sys.executable, "-m", module, *arguments, f"--port={port}"]
    with (
        open(folder / "server.log", "wb") as log,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            _wait(f"http://localhost:{port}/", server, folder / "server.log")
            yield f"http://localhost:{port}/"
        finally:
            server.terminate()


def _wait(address, server, log):
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def jupyterlab(folder, theme):
    cells = [
        {"cell_type": "code", "id": str(i), "metadata": {}, "source": textwrap.dedent(cell).strip(), "outputs": [],
         "execution_count": None} for i, cell in enumerate(CELLS)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "shown.ipynb").write_text(json.dumps(notebook), "utf-8")
    settings = folder / ".jupyter/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": f"JupyterLab {theme.title()}"}))
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    with served(folder, "jupyterlab", *options) as address:
        yield address


@contextmanager
def marimo(folder, theme):
    first, *rest = (textwrap.indent(textwrap.dedent(cell).strip(), "    ") for cell in CELLS)
    names = ", ".join(SHARED)
    text = f"import marimo\napp = marimo.App()\n\n@app.cell\ndef _():\n{first}\n    return {names},\n"
    text += "".join(f"\n@app.cell\ndef _({names}):\n{cell}\n    return\n" for cell in rest)
    (folder / "shown.py").write_text(text, "utf-8")
    (folder / ".config/marimo").mkdir(parents=True)
    (folder / ".config/marimo/marimo.toml").write_text(f'[display]\ntheme = "{theme}"\n')
    with served(folder, "marimo", "-y", "edit", "shown.py", "--headless", "--no-token") as address:
        yield address


def run_jupyterlab(tab, address):
    tab.goto(f"{address}lab/tree/shown.ipynb?reset")
    tab.wait_for_selector(".jp-Notebook .jp-Cell")
    tab.wait_for_selector("text=| Idle")  # the kernel has started
    tab.click(".lm-MenuBar-itemLabel:text-is('Run')")
    tab.click("[data-command='runmenu:run-all'] >> .lm-Menu-itemLabel")


def run_marimo(tab, address):
    tab.goto(address)
    tab.wait_for_selector("[data-testid=backend-status] .text-green-600, [data-testid=memory-usage-bar]")
    tab.click("[data-testid=chrome-controls-bottom-right] [data-testid=run-button]:not([disabled])")


HOSTS = {"jupyterlab": (jupyterlab, run_jupyterlab, ".jp-OutputArea-output"), "marimo": (marimo, run_marimo, ".output")}
