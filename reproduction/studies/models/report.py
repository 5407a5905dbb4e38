"""Everything the study writes: the Dataset, tables, figures and the file of levels."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.pool import Say
from reproduction.store import write_text
from reproduction.studies.models import figures, page, records, results
from reproduction.studies.models.protocol import Protocol
from spectrata.results.atomic_io import written_whole
from spectrata.results.files import to_netcdf

LEVELS = "collapse_levels.json"


def report(protocol: Protocol, out: Path, data: Path | None = None, say: Say = print) -> dict[str, Any]:
    """Write ``models.nc``, the tables, figures and ``collapse_levels.json`` of a finished study; give the levels."""
    ds = records.collect(protocol, out, data)
    models = records.Models(ds, protocol.seed)
    with written_whole(out / "models.nc") as beside:
        to_netcdf(ds, beside)
    say("areas, levels and rank correlations")
    levels = results.levels(models)
    makers = (results.areas, results.correlations, results.families, results.failures)
    found = {make.__name__: make(models) for make in makers} | {"controls": results.controls(models, levels)}
    write_text(out / LEVELS, results.as_json(levels))
    for name, table in (found | {"models": models.table}).items():
        write_text(out / "values" / f"{name}.csv", table.to_csv(index=False, float_format="%.10g"))
    for name, table in all_tables(models, levels, found).items():
        write_text(out / "tables" / f"{name}.csv", table.to_csv(index=False))
    write_text(out / "tables" / "summary.md", page.summary(levels, found, results.JUDGED))
    write_text(out / "tables" / "verdict.md", page.verdict_table(levels))
    say("figures")
    figures.draw(models, levels, found, out / "figures")
    say(f"written: {out / LEVELS}, {out / 'models.nc'}, {out / 'tables'}, {out / 'figures'}")
    return levels


def all_tables(models: records.Models, levels: dict[str, Any], found: dict[str, Any]) -> dict[str, pd.DataFrame]:
    shown = results.SHOWN
    return {
        "graphs": page.graphs_table(models.graphs, models.table),
        "rates": page.rates_table(levels),
        "fitting": page.fitting_table(levels),
        "by-graph-off-zero": page.by_graph_table(levels, results.PRIMARY),
        "by-graph-rank": page.by_graph_table(levels, "directions_effective_rank"),
        "areas": page.areas_table(found["areas"], results.JUDGED),
        "hops": page.areas_table(found["areas"], results.HOPWISE),
        "correlations-all": page.spearman_table(found["correlations"], records.OUTPUTS, "all", shown),
        "correlations-fit": page.spearman_table(found["correlations"], records.OUTPUTS, "fit", shown),
        "correlations-hidden": page.spearman_table(found["correlations"], records.LAST_HIDDEN, "all", shown),
        "correlations-hidden-fit": page.spearman_table(found["correlations"], records.LAST_HIDDEN, "fit", shown),
        "families": page.family_table(found["families"], records.OUTPUTS, shown),
        "controls": page.controls_table(found["controls"]),
        "failures": page.failures_table(found["failures"]),
    }


def publish(out: Path, root: Path) -> None:
    """Put a finished study into a checkout: the levels' file, the tables, the page's two tables and its figures."""
    update_page(root / "docs" / "activations.md", out)
    copies = {out / LEVELS: root / "reproduction/studies/models" / LEVELS}
    copies |= {path: root / "docs/images" / f"models-{path.name}" for path in (out / "figures").glob("*.png")}
    copies |= {path: root / "docs/models" / path.name for path in (out / "tables").glob("*.csv")}
    for path, place in sorted(copies.items()):
        with written_whole(place) as beside:
            shutil.copyfile(path, beside)


def update_page(place: Path, out: Path) -> None:
    tables = {path.stem: path.read_text(encoding="utf-8") for path in (out / "tables").glob("*.md")}
    write_text(place, page.fill(place.read_text(encoding="utf-8"), tables))
