"""Eigenvectors that stay factors: the tridiagonal solve, its rotations, the checks, and when they are taken."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import calls
import spectrata as st
from roads import factored_vectors
from spectrata.core.algorithms.options import by_algorithm
from spectrata.core.bases import solve, verify
from spectrata.core.bases.solve import decompose
from spectrata.core.bases.verify import verify_projection
from spectrata.core.plan import make_plan
from spectrata.core.strata import Stratum
from spectrata.errors import OptionError, SolverError
from spectrata.kernels import compiled_ql, factored, lapack
from spectrata.kernels.factored import FactoredVectors
from strategies import assert_same_spectra, dense_laplacian, each_operator, stratum_of

GRAPHS = {
    "two nodes": nx.path_graph(2),
    "one edge": nx.disjoint_union(nx.path_graph(2), nx.empty_graph(3)),
    "path": nx.path_graph(20),
    "ring": nx.cycle_graph(24),
    "star": nx.star_graph(30),
    "complete": nx.complete_graph(17),
    "torus": nx.grid_2d_graph(6, 6, periodic=True),
    "bipartite": nx.complete_bipartite_graph(9, 20),
    "equal parts": nx.disjoint_union_all([nx.cycle_graph(8)] * 3),
    "parts and singletons": nx.gnm_random_graph(60, 45, seed=1),
    "hubs": nx.barabasi_albert_graph(70, 2, seed=2),
}


# ---- the tridiagonal solve


def tridiagonals():
    rng = np.random.default_rng(0)
    yield "random", rng.standard_normal(60), rng.standard_normal(59)
    yield "diagonal", rng.standard_normal(20), np.zeros(19)
    yield "one number", np.ones(30), np.full(29, 0.5)
    yield "split", np.tile([1.0, 2.0, 3.0], 10), np.where(np.arange(29) % 3 == 2, 0.0, 0.25)
    yield "graded up", 10.0 ** np.arange(-12, 1), 10.0 ** np.arange(-12, 0)
    yield "graded down", 10.0 ** np.arange(0, -13, -1), 10.0 ** np.arange(-1, -13, -1)
    yield "zero", np.zeros(7), np.zeros(6)
    yield "no diagonal", np.zeros(9), np.ones(8)
    yield "tiny beside one", np.array([1e-170] * 8 + [1.0]), np.full(8, 1e-170)
    yield "alone", np.array([3.0]), np.zeros(0)
    yield "Wilkinson's", np.abs(np.arange(-10.0, 11.0)), np.ones(20)


@pytest.mark.parametrize(("diagonal", "off"), [pytest.param(*rest, id=name) for name, *rest in tridiagonals()])
def test_implicit_ql_gives_eigenvalues_and_their_rotations(diagonal, off):
    n = len(diagonal)
    matrix = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    values, rest = diagonal.copy(), off.copy()
    cosines, sines, sweeps = np.empty(4 * n * n), np.empty(4 * n * n), np.empty((30 * n, 2), dtype=np.int64)
    count = compiled_ql.implicit_ql(values, rest, cosines, sines, sweeps)
    assert count >= 0
    sweeps = sweeps[:count]
    used = int((sweeps[:, 1] - sweeps[:, 0]).sum())
    turned = np.zeros((n, -(-n // 8) * 8))
    turned[:, :n] = np.eye(n)
    blocks = [np.ascontiguousarray(turned[:, k : k + 8]) for k in range(0, n, 8)]
    for block in blocks:
        compiled_ql.rotate(block, cosines[:used], sines[:used], sweeps)
    vectors = np.hstack(blocks)[:, :n].T
    scale = float(np.abs(matrix).max())
    assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), rtol=0, atol=1e-14 * n * scale)
    assert_allclose(vectors.T @ vectors, np.eye(n), rtol=0, atol=1e-14 * n)
    assert_allclose(matrix @ vectors, vectors * values, rtol=0, atol=1e-14 * n * scale)
    for block in blocks:
        compiled_ql.rotate_back(block, cosines[:used], sines[:used], sweeps)
    assert_allclose(np.hstack(blocks)[:, :n], np.eye(n), rtol=0, atol=1e-14 * n)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 3, 65, 130])
def test_the_stages_of_lapack_are_a_decomposition(n, dtype):
    rng = np.random.default_rng(n)
    matrix = rng.standard_normal((n, n)).astype(dtype)
    matrix += matrix.T
    tri = lapack.tridiagonalise(np.array(matrix, order="F"))
    vectors = np.empty((n, n), dtype, order="F")
    values = lapack.solve_tridiagonal(tri.diagonal, tri.off, vectors)
    lapack.apply_reflectors(tri, vectors)
    slack = 20 * n * np.finfo(dtype).eps * np.abs(matrix).max()
    assert vectors.dtype == dtype
    assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=0, atol=slack)
    assert_allclose(matrix @ vectors, vectors * values, rtol=0, atol=slack)
    columns = np.asfortranarray(vectors[:, :1].copy())
    lapack.apply_reflectors(tri, columns, transposed=True)
    lapack.apply_reflectors(tri, columns)
    assert_allclose(columns, vectors[:, :1], rtol=0, atol=slack)


@pytest.mark.parametrize("name", ["sytrd", "stedc", "ormtr"])
def test_whole_numbers_of_lapack_have_the_width_that_is_passed(name):
    """A library built with wider whole numbers would name another type in its signatures."""
    from scipy.linalg import cython_lapack

    assert ", int *)" in str(cython_lapack.__pyx_capi__[f"d{name}"])


def test_lapack_refuses_memory_that_it_would_misread():
    with pytest.raises(ValueError, match="Fortran"):
        lapack.tridiagonalise(np.ones((4, 3)))


def test_an_error_of_lapack_is_raised():
    with pytest.raises(SolverError, match="info"):
        lapack._call("sytrd", np.dtype(float), b"X", 1, np.ones((1, 1)), 1, *np.ones((3, 1)))


# ---- against formed eigenvectors


def options_of(operator):
    return {"algorithms": "gft", **operator.arguments} if operator.laplacian == "normalized" else operator.arguments


@each_operator
@pytest.mark.parametrize("name", GRAPHS)
def test_every_degenerate_graph_has_the_same_spectra(name, operator):
    graph, rng = GRAPHS[name], np.random.default_rng(5)
    n = len(graph)
    signal = np.stack([rng.standard_normal(n), np.ones(n), np.eye(n)[0]], axis=1)
    given = {"algorithms": ("gft", "in_agg", "apprx_ls"), "orientation": "index", "keep": ()} | options_of(operator)
    one = calls.spectra(graph, signal, metric="euclidean", **given)
    with factored_vectors():
        other = calls.spectra(graph, signal, metric="euclidean", **given)
    assert_same_spectra(one, other, 1.0)
    zero = one["is_zero"].values
    for algorithm in one["algorithm"].values:  # by structure, not by rounding
        assert_array_equal(one["magnitude"].loc[algorithm].values[zero], other["magnitude"].loc[algorithm].values[zero])
    if "ls_residual" in one:
        assert_allclose(other["ls_residual"], one["ls_residual"], rtol=0, atol=1e-9)


def test_weights_of_any_size_are_solved_and_those_without_squares_refused():
    graph = nx.path_graph(6)
    for scale in (1e-200, 1e200):
        with factored_vectors(), pytest.raises(OptionError, match="divide the weights by their largest"):
            st.spectra(
                st.Stratification(graph, keep=(), max_basis_bytes=0, hops=1, weights=np.full(5, scale)),
                np.arange(6.0),
                "gft",
            )
    for scale in (1e-135, 1e135):
        with factored_vectors():
            ds = st.spectra(
                st.Stratification(graph, keep=(), max_basis_bytes=0, hops=1, weights=np.full(5, scale)),
                np.arange(6.0),
                "gft",
            )
        plain = st.spectra(st.Stratification(graph, keep=(), max_basis_bytes=0, hops=1), np.arange(6.0), "gft")
        assert_allclose(ds["eigenvalue"], plain["eigenvalue"] * scale, rtol=1e-12)
        assert_allclose(ds["magnitude"], plain["magnitude"], rtol=0, atol=1e-12)


@each_operator
def test_a_large_part_is_factored_and_orthonormal(operator):
    n = solve.FACTORED_PART
    graph = nx.disjoint_union(nx.random_regular_graph(4, n, seed=1), nx.path_graph(5))
    stratum = stratum_of(graph)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, stratum.n_edges)
    stratum = Stratum(1, stratum.n_nodes, stratum.edges, weights)
    dense, basis = decompose(stratum, operator), decompose(stratum, operator, factored=True)
    kinds = [isinstance(part.vectors, FactoredVectors) for part in basis.parts]
    assert kinds == [True, False]
    assert basis.is_factored
    assert not dense.is_factored
    columns = np.random.default_rng(2).standard_normal((n + 5, 11))
    found = basis.project(columns)
    matrix = dense_laplacian(stratum, operator)
    assert_allclose(basis.values, dense.values, rtol=0, atol=1e-12 * dense.norm)
    assert_allclose(basis.rebuild(found), columns, rtol=0, atol=1e-12)
    assert_allclose(basis.rebuild(basis.values[:, None] * found), matrix @ columns, rtol=0, atol=1e-11 * dense.norm)
    formed = replace(
        basis, is_factored=False, parts=tuple(replace(p, vectors=p.vectors @ np.eye(len(p.nodes))) for p in basis.parts)
    )
    measured = verify.verify(formed, stratum).column_residual
    assert np.linalg.norm(measured) < verify.SAFETY * 1e-14 * n * dense.norm


def test_bits_of_a_column_depend_on_no_other_block():
    graph = nx.random_regular_graph(4, solve.FACTORED_PART, seed=1)
    basis = decompose(stratum_of(graph), factored=True)
    columns = np.random.default_rng(2).standard_normal((len(graph), 19))
    vectors = basis.parts[0].vectors
    together = vectors._rotated(columns, "rotate")
    for width in (1, 7, 8, 9):
        assert_array_equal(vectors._rotated(columns[:, :width], "rotate"), together[:, :width])


@pytest.mark.parametrize("kind", ["formed", "factored"])
def test_eigenvalues_below_rounding_stay_positive_and_after_zero(kind):
    graph = nx.barbell_graph(300, 100)
    stratum = stratum_of(graph)
    weights = 10.0 ** np.random.default_rng(0).uniform(-6, 6, stratum.n_edges)
    basis = decompose(Stratum(1, len(graph), stratum.edges, weights), factored=kind == "factored")
    assert basis.is_factored == (kind == "factored")
    assert_array_equal(basis.values == 0, basis.is_zero)
    assert (basis.values[1:] > 0).all()
    assert_allclose(basis.parts[0].columns, np.arange(len(graph)))


# ---- what can go wrong


@pytest.mark.parametrize("limit", ["SWEEPS", "ROTATIONS"])
def test_without_convergence_vectors_are_formed(monkeypatch, limit):
    stratum = stratum_of(nx.gnm_random_graph(80, 200, seed=1))
    with factored_vectors():
        monkeypatch.setattr(factored, limit, 1 if limit == "SWEEPS" else 0.01)
        basis = decompose(stratum, factored=True)
    assert all(isinstance(part.vectors, np.ndarray) for part in basis.parts)
    assert_array_equal(basis.values, decompose(stratum).values)
    assert_array_equal(basis.dense(), decompose(stratum).dense())


@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_wrong_transform_is_refused_by_the_sum_it_misses(power):
    """Energy that appears, that moves to another eigenvalue, and that spreads evenly to both sides."""
    stratum = stratum_of(nx.path_graph(30))
    basis = decompose(stratum)
    columns = np.random.default_rng(0).standard_normal((30, 2))
    columns -= columns.mean(axis=0)
    found = basis.project(columns)
    verify_projection(basis, stratum, columns, found)
    squares, lam = found[:, 1] ** 2, basis.values
    if power == 0:
        squares[5] += 1e-6
    elif power == 1:
        squares[[5, 20]] += [-1e-6, 1e-6]
    else:
        a, b, c = lam[[5, 6, 7]]
        squares[[5, 6, 7]] += 1e-4 * np.array([c - b, a - c, b - a])
    found[:, 1] = np.sqrt(squares)
    with pytest.raises(SolverError, match=rf"hop 1.*eigenvalue\^{power}"):
        verify_projection(basis, stratum, columns, found)


def test_a_wrong_rotation_is_refused(monkeypatch):
    right = compiled_ql.implicit_ql

    def wrong(d, e, cosines, sines, sweeps):
        count = right(d, e, cosines, sines, sweeps)
        cosines[5] *= 1 + 1e-6
        return count

    monkeypatch.setattr(compiled_ql, "implicit_ql", wrong)
    with factored_vectors(), pytest.raises(SolverError, match="please report"):
        st.spectra(st.Stratification(nx.path_graph(30), keep=(), max_basis_bytes=0, hops=1), np.arange(30.0), "gft")


# ---- when


def plan_of(algorithms, **given):
    names = ("keep", "dtype", "n_eigs")
    arguments = {name: given.pop(name) for name in names if name in given}
    return make_plan(algorithms, by_algorithm(given), 1000, **arguments)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (plan_of("gft"), True),
        (plan_of(["gft", "in_agg"]), True),
        (plan_of("gft", laplacian="normalized"), True),
        (plan_of("apprx_ls", orientation="index"), True),
        (plan_of("apprx_ls", orientation="random"), True),
        (plan_of("apprx_ls"), False),
        (plan_of(None), False),
        (plan_of("adj_diff"), False),
        (plan_of("ln_vx"), False),
        (plan_of("ens", ens_weights={"in_agg": 1.0}), True),
        (plan_of("ens", ens_weights={"in_agg": 1.0, "adj_diff": 1.0}), False),
        (plan_of("gft", keep=["eigenvectors"]), False),
        (plan_of("gft", keep=["signal"]), True),
        (plan_of("gft", dtype="float32"), False),
        (plan_of("gft", n_eigs=3), False),
    ],
)
def test_which_plans_only_project(plan, expected):
    assert plan.only_projects(1) is expected


@pytest.mark.parametrize(
    ("keeping", "columns", "expected"),
    [
        ({"max_basis_bytes": 0}, 3, True),
        ({"max_basis_bytes": 0}, 5, False),
        ({}, 3, False),
        ({"cache": "bases"}, 3, False),
    ],
)
def test_eigenvectors_are_factored_for_few_columns_where_no_basis_is_kept(
    monkeypatch, tmp_path, keeping, columns, expected
):
    seen = []
    right = solve.decompose

    def spied(*arguments, **given):
        seen.append(given.get("factored", False))
        return right(*arguments, **given)

    monkeypatch.setattr("spectrata.core.stratification.decompose", spied)
    if "cache" in keeping:
        keeping = {"cache": tmp_path / "bases"}
    strat = st.Stratification(nx.path_graph(32), hops=2, **keeping)
    strat.using(keep=()).spectra(np.random.default_rng(0).standard_normal((32, columns)), "gft")
    assert seen == [expected] * 2
