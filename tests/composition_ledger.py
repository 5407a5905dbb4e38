"""What a Dataset should be, kept beside it: a ledger, from which every number follows by brute force.

A ledger holds the graph, the signals, the settings and what has been selected and done since, in order. Its
rows are the expected spectra. ``check`` compares a Dataset with its ledger, label by label and number by
number; inside a repeated eigenvalue only merged magnitudes are compared.
"""

import json
from dataclasses import dataclass, field, replace

import numpy as np

import brute
from composition_cases import Case, Settings

TOLERANCE = 1e-9  # of the largest magnitude of a spectrum
ANGULAR_ROUNDING = 1e-14  # directions in double precision are off by so much, whatever their differences


class Problem(AssertionError):
    """Something is wrong with the library: ``kind`` for the tally, and what was seen."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


@dataclass
class Row:
    """The expected spectrum of one algorithm, snapshot and hop, by eigenspace of the whole spectrum.

    ``merged`` is NaN where nothing is defined; ``known`` marks values that any right answer must have (whole
    eigenspaces, and no dependence on the basis); ``held`` counts the components each eigenspace still has.
    ``scale`` is what rounding is relative to, and ``unit`` the length the spectrum was divided by (None where it
    depends on the basis).
    """

    op: brute.Operator
    merged: np.ndarray
    known: np.ndarray
    held: np.ndarray
    scale: np.ndarray
    unit: float | None = 1.0
    algorithm: str = "gft"
    is_shifted: bool = False  # the mean of the signal is far larger than its variation

    def kind(self, words: str) -> str:
        """The kind of a problem: what happens to signals with a large mean is tallied by itself."""
        return f"{words.removesuffix(', large mean')}, large mean" if self.is_shifted else words

    @property
    def is_whole(self) -> bool:
        """Whether all components are there, dropped or not."""
        return bool((self.held == self.op.sizes).all())

    @property
    def is_known(self) -> bool:
        """Whether every number of the spectrum is determined."""
        return bool(self.known[self.held > 0].all())

    @property
    def error(self) -> float:
        """How far a right answer may be off, in the length of the spectrum off zero."""
        return TOLERANCE * float(self.scale[1:].max()) * np.sqrt(len(self.scale))

    @property
    def off(self) -> float:
        """Length of the spectrum off zero."""
        return float(np.sqrt(np.nansum(self.merged[1:] ** 2)))

    @property
    def is_readable(self) -> bool:
        """Whether shares of energy mean something: all determined, and more than rounding off zero.

        A spectrum whose part off zero is below 1e-11 of the whole may be called constant.
        """
        whole = float(np.sqrt(np.nansum(self.merged**2)))
        return bool(self.known[1:].all()) and self.off > max(1e3 * self.error, 1e-11 * whole)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The history of a Dataset, as far as numbers depend on it."""

    case: Case
    signals: dict  # snapshot label -> (n, d); the label None where there are no snapshots
    settings: Settings
    metric: str
    hops: tuple
    algorithms: tuple
    snapshots: tuple  # (None,) without
    steps: tuple = ()  # "drop_zero", "normalize", "merge", in order
    components: tuple | None = None  # selected from the whole spectrum; None: all that n_eigs leaves
    broadcast: bool = False  # whether concat has given every variable snapshots
    _rows: dict = field(default_factory=dict)

    def but(self, **changes) -> "Ledger":
        return replace(self, **changes, _rows={})

    @property
    def is_merged(self) -> bool:
        return "merge" in self.steps

    @property
    def is_dropped(self) -> bool:
        return "drop_zero" in self.steps

    @property
    def is_normalized(self) -> bool:
        return "normalize" in self.steps

    @property
    def has_snapshots(self) -> bool:
        return self.snapshots != (None,)

    @property
    def width(self) -> int:
        """Numbers per node."""
        return next(iter(self.signals.values())).shape[1]

    @property
    def is_cut(self) -> bool:
        return len(self.held) < self.case.n

    @property
    def held(self) -> tuple:
        """Numbers, in the whole spectrum, of the components that are there."""
        n, settings = self.case.n, self.settings
        if self.components is not None:
            return self.components
        count = n if settings.n_eigs is None else min(settings.n_eigs, n)
        return tuple(range(count)) if settings.which == "lowest" else tuple(range(n - count, n))

    def operator(self, hop) -> brute.Operator:
        return self.case.operator(hop, self.settings.laplacian)

    def row(self, algorithm, snapshot, hop) -> Row | None:
        """The expected spectrum; None where the signal has no directions."""
        key = (algorithm, snapshot, hop)
        if key not in self._rows:
            self._rows[key] = self._make_row(*key)
        return self._rows[key]

    def _make_row(self, algorithm, snapshot, hop) -> Row | None:
        op = self.operator(hop)
        t = brute.potential(self.signals[snapshot], self.metric)
        if t is None:
            return None
        values = brute.magnitudes(algorithm, op, t, self.settings.orientation, self.settings.scaling)
        held = np.bincount(op.space[list(self.held)], minlength=len(op.sizes))
        known = brute.is_determined(algorithm, op) & (held == op.sizes)
        merged = np.where(held > 0, brute.merged(values, op.space), np.nan)
        shifted = np.linalg.norm(brute.centred(t)) < 1e-9 * np.linalg.norm(t.astype(float))
        row = Row(op, merged, known, held, self._rounding(algorithm, op, t, merged), 1.0, algorithm, shifted)
        for step in self.steps:
            if step == "drop_zero":
                row.merged[0] = np.nan
            if step == "normalize" and row.unit is not None:
                norm = float(np.sqrt(np.nansum(row.merged**2)))
                determined = row.known[~np.isnan(row.merged)].all()
                row.unit = row.unit * norm if determined else None
                there = ~np.isnan(row.merged)
                if determined and norm <= 10 * TOLERANCE * row.scale[there].max(initial=0.0):
                    row.known = row.known & False  # rounding, brought to unit length
                elif determined and norm > 0:
                    row.merged, row.scale = row.merged / norm, row.scale / norm
        return row

    def _rounding(self, algorithm, op, t, merged) -> np.ndarray:
        """What rounding is relative to, for every eigenspace."""
        whole = np.linalg.norm(t.astype(float))
        off = np.linalg.norm(brute.centred(t))
        if off <= 1e-15 * whole:  # constant: what is left of a mean taken off
            off = 1e-6 * whole
        if self.metric == "angular":  # tiny angles between directions of length 1/2
            off = max(off, ANGULAR_ROUNDING / TOLERANCE * whole)
        root = np.sqrt(op.c.max())
        if algorithm != "gft":
            largest = np.nan_to_num(merged).max(initial=0.0)
            small = brute.gradient(t, op).max() * 1e-3
            floor = ANGULAR_ROUNDING / TOLERANCE * whole if self.metric == "angular" else 0.0
            steepest = 1 / max(op.levels[1], 1e-3) if algorithm != "in_agg" else 1.0
            return np.full(len(merged), max(largest, small, floor * steepest * root))
        scale = np.full(len(merged), off * root)
        scale[0] = max(whole, off) * root
        return np.full(len(merged), whole * root) if op.laplacian == "normalized" else scale


def open_ledger(case, signals, settings, hops) -> Ledger:
    """The ledger of a fresh result."""
    first = next(iter(signals.values()))
    metric = brute.resolve_metric(settings.metric, first)
    return Ledger(case, signals, settings, metric, tuple(hops), settings.algorithms, tuple(signals))


# --- Comparison ---------------------------------------------------------------------------------------------


def check(ds, ledger: Ledger, note) -> None:
    """Compare everything in a Dataset with its ledger; ``note`` takes what is missing of the schema."""
    check_labels(ds, ledger)
    check_facts(ds, ledger, note)
    ambiguous = arrays(ds, "ambiguous") if "ambiguous" in ds.variables else None
    magnitude, status = arrays(ds, "magnitude"), arrays(ds, "status")
    gradient_norm = arrays(ds, "gradient_norm")
    for k, hop in enumerate(ledger.hops):
        one = {name: per_hop(ds, name, k) for name in PER_HOP if name in ds.variables}
        spaces = spaces_in(one, ledger, hop)
        check_hop(one, ledger, hop, spaces, note)
        check_gradients(gradient_norm[:, k], ledger, hop)
        for m, algorithm in enumerate(ledger.algorithms):
            flags = None if ambiguous is None else ambiguous[m, 0, k]
            for t, snapshot in enumerate(ledger.snapshots):
                row = ledger.row(algorithm, snapshot, hop)
                where = f"{algorithm}, snapshot {snapshot}, hop {hop}"
                check_row(magnitude[m, t, k], str(status[m, t, k]), flags, spaces, ledger, row, where)


PER_HOP = (
    *("eigenvalue", "eigenspace", "multiplicity", "is_zero", "complete"),
    *("n_edges", "n_parts", "n_singletons"),
)


def per_hop(ds, name, position):
    """A variable at one hop as a plain array."""
    variable = ds.variables[name]  # without coordinates, whose handling would take most of the time
    if "snapshot" in variable.dims:
        variable = variable.isel(snapshot=0)
    return variable.transpose("hop", ...).values[position]


def arrays(ds, name) -> np.ndarray:
    """A variable as (algorithm, snapshot, hop, ...), without the axes it never has."""
    variable = ds.variables[name]
    if "snapshot" not in variable.dims:
        variable = variable.set_dims({"snapshot": 1, **dict(variable.sizes)})
    first = ("algorithm", "snapshot", "hop") if "algorithm" in variable.dims else ("snapshot", "hop")
    return variable.transpose(*first, ...).values


def same(kind, what, seen, expected) -> None:
    """Labels must be equal."""
    if seen != expected:
        raise Problem(kind, f"{what} is {seen}, expected {expected}")


def near(kind, what, seen, expected, tolerance) -> None:
    """Numbers must agree within a tolerance; NaN only with NaN."""
    seen, expected = np.asarray(seen, dtype=float), np.asarray(expected, dtype=float)
    if seen.shape != expected.shape:
        raise Problem(kind, f"{what} has shape {seen.shape}, expected {expected.shape}")
    with np.errstate(invalid="ignore"):
        fine = (np.abs(seen - expected) <= tolerance) | (np.isnan(seen) & np.isnan(expected))
    if not fine.all():
        raise Problem(kind, f"{what} is {seen}, expected {expected} within {tolerance}")


def check_labels(ds, ledger) -> None:
    """The order of algorithms, hops and snapshots."""
    same("wrong labels", "hop", [int(h) for h in ds["hop"].values], list(ledger.hops))
    same("wrong labels", "algorithm", [str(a) for a in ds["algorithm"].values], list(ledger.algorithms))
    same("wrong labels", "snapshots", "snapshot" in ds["magnitude"].dims, ledger.has_snapshots)
    if ledger.has_snapshots:
        same("wrong labels", "snapshot", ds["snapshot"].values.tolist(), list(ledger.snapshots))


def check_facts(ds, ledger, note) -> None:
    """Attributes, edges, and the variables that make a result readable."""
    same("wrong attribute", "metric", ds.attrs.get("metric"), ledger.metric)
    parameters = json.loads(ds.attrs.get("options", ds.attrs.get("parameters", "{}")))
    settings = ledger.settings
    for name in ("laplacian", "orientation", "scaling"):
        seen = ds.attrs.get(name, parameters.get(name))
        same("wrong attribute", name, seen, getattr(settings, name))
    for name in ("is_zero", "complete", "made_with"):
        if name not in ds.variables:
            note("schema", f"the result has no {name}")
    for name in ("laplacian", "options", "seed", "graph_hash"):
        if name not in ds.attrs:
            note("schema", f"the result has no attribute {name}")
    if not ledger.broadcast:
        pairs = {tuple(sorted(int(v) for v in pair)) for pair in ds["edges"].values}
        same("wrong edges", "edges", pairs, {tuple(sorted(pair)) for pair in ledger.case.edges})


def check_hop(ds, ledger, hop, spaces, note) -> None:
    """Eigenvalues, eigenspaces, multiplicities, and counts of the stratum, at one hop."""
    op = ledger.operator(hop)
    counts = {"n_edges": len(op.edges), "n_parts": op.n_parts, "n_singletons": op.n_singletons}
    for name in counts.keys() & ds.keys():
        same("wrong count", f"{name} at hop {hop}", int(ds[name]), counts[name])
    if "complete" in ds:
        whole = ledger.settings.n_eigs is None or ledger.settings.n_eigs >= op.n
        if ledger.is_merged:  # merging looks at what is there; a plain selection keeps the coordinate as it was
            whole = whole and len(ledger.held) == op.n
        same("wrong complete", f"complete at hop {hop}", bool(ds["complete"]), whole)
    top = max(op.values[-1], 1.0)
    for position, space in enumerate(spaces):
        if space is None:
            continue
        where = f"component {position} at hop {hop}"
        near("wrong eigenvalue", where, ds["eigenvalue"][position], op.levels[space], 1e-9 * top)
        same("wrong multiplicity", where, int(ds["multiplicity"][position]), int(op.sizes[space]))
        if int(ds["eigenspace"][position]) != space:
            note("wrong eigenspace number", f"{where}: {ds['eigenspace'][position]}, expected {space}")
        if "is_zero" in ds:
            same("wrong is_zero", where, bool(ds["is_zero"][position]), space == 0)


def check_gradients(norms, ledger, hop) -> None:
    """The norm of the gradient of every snapshot at one hop."""
    op = ledger.operator(hop)
    for seen, snapshot in zip(norms, ledger.snapshots, strict=True):
        t = brute.potential(ledger.signals[snapshot], ledger.metric)
        if t is None:
            near("wrong gradient_norm", f"snapshot {snapshot}, hop {hop}", seen, np.nan, 0)
            continue
        norm = np.linalg.norm(brute.gradient(t, op))
        floor = 1e-14 * np.linalg.norm(t.astype(float)) if ledger.metric == "angular" else 0.0
        near("wrong gradient_norm", f"snapshot {snapshot}, hop {hop}", seen, norm, TOLERANCE * norm + floor)


def spaces_in(ds, ledger, hop) -> list:
    """The eigenspace at each position of a Dataset at one hop; None for padding."""
    op = ledger.operator(hop)
    if not ledger.is_merged:
        count = len(ds["eigenvalue"])
        same("wrong labels", f"components at hop {hop}", count, len(ledger.held))
        return [int(op.space[i]) for i in ledger.held]
    # Which eigenspaces a merged result has is told by its eigenvalues: numbers are checked against them.
    out = []
    for value in ds["eigenvalue"]:
        gap = np.abs(op.levels - value)
        out.append(None if np.isnan(value) else int(np.argmin(gap)))
    here = [space for space in out if space is not None]
    held = np.bincount(op.space[list(ledger.held)], minlength=len(op.sizes))
    must = [s for s in range(len(held)) if held[s] == op.sizes[s]]
    may = [s for s in range(len(held)) if 0 < held[s] < op.sizes[s]]
    if [s for s in here if s not in may] != must or len(set(here)) < len(here):
        raise Problem("wrong labels", f"merged eigenspaces at hop {hop} are {here}, expected {must} (and {may})")
    return out


def check_row(seen, status, flags, spaces, ledger, row, where) -> None:
    """One spectrum."""
    if row is None:
        if not np.isnan(seen).all() or status == "ok":
            raise Problem("wrong magnitude", f"{where}: a signal without directions has {seen}, status {status}")
        return
    real = np.array([space is not None for space in spaces])
    space = np.array([-1 if s is None else s for s in spaces])
    if np.isnan(seen[real]).any() and status == "ok":
        raise Problem("wrong status", f"{where}: NaN magnitudes with status ok")
    found, here = np.full(len(row.merged), np.nan), np.zeros(len(row.merged), dtype=bool)
    for s in range(len(row.merged)):
        inside = seen[(space == s) & real]
        here[s] = bool(len(inside))
        inside = inside[~np.isnan(inside)]
        if len(inside):
            found[s] = np.linalg.norm(inside)
    check_partial(flags, ledger, row, found, status, space, where)
    use = row.known & here
    tolerance = TOLERANCE * np.maximum(row.scale, np.nan_to_num(row.merged[1:]).max(initial=0.0))
    expected = row.merged.copy()
    if row.unit is None:  # the length depends on the basis: compare proportions
        size = [np.sqrt(np.nansum(x[use] ** 2)) for x in (found, expected)]
        if min(size) <= 1e3 * tolerance.max():
            return
        found, expected, tolerance = found / size[0], expected / size[1], tolerance / size[1]
    near(row.kind("wrong magnitude"), where, found[use], expected[use], tolerance[use])


def check_partial(flags, ledger, row, found, status, space, where) -> None:
    """An eigenspace that a cut divides has at most its whole energy, and may not pass as merged."""
    for s in np.flatnonzero((row.held > 0) & (row.held < row.op.sizes)):
        if row.unit == 1.0 and row.algorithm in brute.INVARIANT:
            most = row.merged[s] + TOLERANCE * row.scale[s]
            if found[s] > most:
                raise Problem("wrong magnitude", f"{where}: part of an eigenspace has {found[s]} of {most}")
        marked = status != "ok" or np.isnan(found[s]) or s not in space
        flagged = flags is not None and flags[space == s].all()
        if ledger.is_merged and not marked and not flagged:
            raise Problem("incomplete eigenspace", f"{where}: eigenspace {s} is cut, merged and unmarked")
