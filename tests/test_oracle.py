"""The oracle itself: against the released program's outputs, against its own fixtures, and by identities."""

import os
from pathlib import Path

import numpy as np
import pytest

import make_fixtures
import oracle

REFERENCE = Path(__file__).parents[2] / "shared" / "data" / "reference"
CASES = sorted(make_fixtures.cases())
MERGED_L2 = ("gft", "apprx_ls_index", "apprx_ls_rms", "in_agg")  # l2 over an eigenspace does not depend on the basis
PER_COMPONENT = (*MERGED_L2, "adj_diff_unit", "adj_diff_eigenvalue", "ln_vx_incidence")


def strata_of(name):
    """Yield, hop by hop: edges, eigenvalues, eigenvectors, gradients."""
    graph_edges, n_nodes, signal, metric = make_fixtures.cases()[name]
    for adjacency in oracle.strata_adjacencies(graph_edges, n_nodes):
        edges = oracle.edges_of(adjacency)
        yield edges, *oracle.eigenbasis(adjacency), oracle.gradients(signal, edges, metric)


def merged(magnitudes, spaces, order):
    """One value per eigenspace: order 2 the l2 norm, order 1 the sum."""
    return np.bincount(spaces, weights=magnitudes**order) ** (1 / order)


# --- the released program -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=("caveman", "er50_real", "er50_vector"))
def reference(request):
    """Outputs of the released program and the oracle's for the same graph and signal."""
    path = REFERENCE / f"{request.param}.npz"
    if not path.exists():
        message = f"the released program's outputs are not here: {path.name}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    with np.load(path, allow_pickle=False) as file:
        theirs = dict(file)
    metric = "euclidean" if theirs["signal"].ndim == 1 else "angular"
    return theirs, oracle.all_hops(theirs["edges"], int(theirs["n_nodes"]), theirs["signal"], metric)


def test_strata_agree_with_the_released_program(reference):
    theirs, ours = reference
    np.testing.assert_allclose(ours["eigenvalues"], theirs["eigenvalues"], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(ours["n_parts"], theirs["n_components"])


@pytest.mark.parametrize(
    ("field", "name"), [("apprx_ls", "apprx_ls_index"), ("in_agg", "in_agg"), ("adj_diff", "adj_diff_unit")]
)
def test_magnitudes_agree_with_the_released_program(reference, field, name):
    theirs, ours = reference
    for K, simple in enumerate(ours["simple"]):
        atol = 1e-8 * theirs[field][K].max() + 1e-12  # theirs are rounded to 12 decimals
        np.testing.assert_allclose(
            ours[name][K][simple], theirs[field][K][simple], rtol=0, atol=atol, err_msg=f"K = {K + 1}"
        )
        if name in MERGED_L2:
            spaces = ours["eigenspace"][K]
            np.testing.assert_allclose(
                merged(ours[name][K], spaces, 2), merged(theirs[field][K], spaces, 2), rtol=0, atol=atol
            )
        else:  # ADJ-DIFF at zero eigenvalues does not depend on the basis
            zero = oracle.is_zero(ours["eigenvalues"][K])
            np.testing.assert_allclose(ours[name][K][zero], theirs[field][K][zero], rtol=0, atol=atol)


# --- the fixtures -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixtures")
    make_fixtures.write(folder)
    return folder


def test_fixtures_are_complete_and_small():
    files = sorted(make_fixtures.FOLDER.glob("*.npz"))
    assert [file.stem for file in files] == CASES
    assert sum(file.stat().st_size for file in files) < 300_000


@pytest.mark.parametrize("name", CASES)
def test_fixtures_are_what_the_oracle_says(regenerated, name):
    with (
        np.load(make_fixtures.FOLDER / f"{name}.npz", allow_pickle=False) as committed,
        np.load(regenerated / f"{name}.npz", allow_pickle=False) as fresh,
    ):
        assert set(committed) == set(fresh)
        simple, spaces = committed["simple"], committed["eigenspace"]
        for field in set(committed) - set(PER_COMPONENT) - {"metric"}:
            np.testing.assert_allclose(fresh[field], committed[field], rtol=0, atol=1e-10, err_msg=field)
        assert fresh["metric"] == committed["metric"]
        for field in PER_COMPONENT:
            np.testing.assert_allclose(
                fresh[field][simple], committed[field][simple], rtol=1e-10, atol=1e-10, err_msg=field
            )
        for K in range(len(simple)):
            for field in (*MERGED_L2, "ln_vx_incidence"):
                order = 1 if field == "ln_vx_incidence" else 2
                np.testing.assert_allclose(
                    merged(fresh[field][K], spaces[K], order),
                    merged(committed[field][K], spaces[K], order),
                    rtol=1e-10,
                    atol=1e-10,
                    err_msg=field,
                )


@pytest.mark.parametrize("name", CASES)
def test_no_eigenvalue_gap_is_doubtful(name):
    """Every gap, of the strata and of their line graphs, is either clearly zero or clearly not."""
    graph_edges, n_nodes, _, _ = make_fixtures.cases()[name]
    for adjacency in oracle.strata_adjacencies(graph_edges, n_nodes):
        line_values, _ = oracle.line_eigenbasis(oracle.edges_of(adjacency), n_nodes)
        for values in (oracle.eigenbasis(adjacency)[0], line_values):
            gaps = np.diff(values) / max(values[-1], 1)
            assert not np.any((gaps > 1e-12) & (gaps < 1e-4))


# --- identities ---------------------------------------------------------------------------------------------


def test_the_papers_graph():
    with np.load(make_fixtures.FOLDER / "caveman.npz", allow_pickle=False) as case:
        assert case["n_edges"].tolist() == [15, 15, 15, 18, 12, 3]
        quoted = [[0.178, 0.178, 3.835, 5.074], [0.423, 0.830, 3.060], [1, 1, 4]]
        for K, expected in enumerate(quoted):
            for value in expected:
                assert np.abs(case["eigenvalues"][K] - value).min() < 5e-4
        assert case["gradient_norm"][5] == 0  # s0 is constant on {K, L, M}


@pytest.mark.parametrize("name", CASES)
def test_gft_energy_is_gradient_energy(name):
    """sum lam M^2 = sum g^2: the GFT's vectors have the gradients as their differences."""
    with np.load(make_fixtures.FOLDER / f"{name}.npz", allow_pickle=False) as case:
        energy = (case["eigenvalues"] * case["gft"] ** 2).sum(axis=1)
        np.testing.assert_allclose(energy, case["gradient_norm"] ** 2, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_two_ways_to_every_apprx_ls(name):
    """The SVD agrees with divergence over eigenvalue, and all 2^m orientations with the direct mean."""
    for edges, values, basis, g in strata_of(name):
        keep = ~oracle.is_zero(values)
        incidence = oracle.oriented_incidence(edges, len(basis), oracle.index_orientation(edges))
        differences = incidence @ basis[:, keep]
        np.testing.assert_allclose(
            oracle.apprx_ls(basis, edges, g, oracle.index_orientation(edges))[keep],
            np.abs(differences.T @ g) / values[keep],
            rtol=0,
            atol=1e-11,
        )
        direct = oracle.apprx_ls_rms(basis, edges, g)
        closed = np.sqrt(differences.T**2 @ g**2) / values[keep]
        np.testing.assert_allclose(direct[keep], closed, rtol=0, atol=1e-11)
        np.testing.assert_allclose(direct[~keep], 0, atol=1e-11)
        if len(edges) <= 8:
            np.testing.assert_allclose(oracle.apprx_ls_rms_enumerated(basis, edges, g), direct, atol=1e-11)


def test_small_angles_keep_their_digits():
    """The literal cosine form, in enough digits, against the half chord; parallel vectors give exactly 0."""
    for angle in (1e-3, 1e-9, 1e-15):
        expected = np.sin(angle / 2)
        assert oracle.angular_gradient([1, 0], [np.cos(angle), np.sin(angle)]) == pytest.approx(expected, rel=1e-7)
    assert oracle.angular_gradient([0.58, 0.1, 0.3], [1.16, 0.2, 0.6]) == 0
    assert oracle.angular_gradient([0.58, 0.1], [-0.58, -0.1]) == 1


def test_line_graph_adjacency():
    """Two edges are neighbours in the line graph exactly when they share a node."""
    for edges, _, basis, _ in strata_of("caveman"):
        shared = [[int(e != f and bool({*e} & {*f})) for f in edges] for e in edges]
        np.testing.assert_array_equal(oracle.line_graph_adjacency(edges, len(basis)), shared)


# --- Algorithm 5's learning and Algorithm 6 -----------------------------------------------------------------


@pytest.fixture(scope="module")
def learning():
    """U, L(U), g and a start for the paper's graph at K = 1."""
    edges, _, basis, g = next(strata_of("caveman"))
    m, rng = len(edges), np.random.default_rng(0)
    h_ln, h_vx = rng.uniform(-1, 1, (2, len(basis), m)) / np.sqrt(m)
    return basis, oracle.line_eigenbasis(edges, len(basis))[1], g, h_ln, h_vx


def test_ln_vx_gradients_are_derivatives(learning):
    basis, line_basis, _, h_ln, h_vx = learning
    slopes = oracle.ln_vx_gradients(basis, line_basis, h_ln, h_vx)
    rng = np.random.default_rng(1)
    for step_ln, step_vx in rng.standard_normal((5, 2, *h_ln.shape)) * 1e-5:
        up = oracle.ln_vx_mse(basis, line_basis, h_ln + step_ln, h_vx + step_vx)
        down = oracle.ln_vx_mse(basis, line_basis, h_ln - step_ln, h_vx - step_vx)
        assert (up - down) / 2 == pytest.approx(np.sum(slopes[0] * step_ln + slopes[1] * step_vx), rel=1e-6)


def test_ln_vx_learning(learning):
    """It converges, within its epochs; an exact fit makes the magnitude of equal h that same h."""
    basis, line_basis, g, h_ln, h_vx = learning
    h_ln, h_vx, errors = oracle.ln_vx_learn(basis, line_basis, h_ln, h_vx)
    assert len(errors) <= 1001
    assert errors[-1] == oracle.ln_vx_mse(basis, line_basis, h_ln, h_vx) < 1e-4 < errors[0]
    flat = line_basis.sum(axis=1)  # its transform in the line graph is 1 everywhere
    np.testing.assert_allclose(oracle.ln_vx(basis, line_basis, flat, h_ln, h_vx), 1, atol=0.05)
    p, q, h = h_ln @ line_basis, h_vx.T @ basis, np.abs(line_basis.T @ g)
    np.testing.assert_allclose(
        oracle.ln_vx_signed(basis, line_basis, g, h_ln, h_vx), np.einsum("k,ik,ki->i", h, p, q), atol=1e-12
    )


def test_ln_vx_learning_is_torchs_adagrad(learning):
    torch = pytest.importorskip("torch")
    basis, line_basis, _, *start = learning
    tensors = [torch.tensor(h, requires_grad=True) for h in start]
    optimizer = torch.optim.Adagrad(tensors, lr=0.01, eps=1e-10)
    target, middle = torch.tensor(basis.T.copy()), torch.tensor(line_basis)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(tensors[0] @ middle @ tensors[1].T, target).backward()
        optimizer.step()
    *learned, _ = oracle.ln_vx_learn(basis, line_basis, *start, epochs=100)
    for ours, theirs in zip(learned, tensors, strict=True):
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=0, atol=1e-11)


def test_incidence_ln_vx_of_separate_edges():
    """Edges that do not touch: one line eigenspace, so w and M are the root mean square of g."""
    edges, g = [(0, 1), (2, 3)], np.array([3.0, 4.0])
    values, basis = oracle.eigenbasis(oracle.adjacency_matrix(edges, 4))
    expected = np.full(4, np.linalg.norm(g) / np.sqrt(2))
    np.testing.assert_allclose(oracle.ln_vx_incidence(values, basis, edges, g), expected, atol=1e-12)


def test_ens():
    magnitudes = {"adj_diff": np.array([np.nan, 3.0, 4.0]), "ln_vx": np.array([2.0, 1.0, 2.0])}
    weights = {"adj_diff": 0.75, "ln_vx": 0.25}
    np.testing.assert_allclose(oracle.ens(magnitudes, weights, raw=True), [2, 2.5, 3.5])
    np.testing.assert_allclose(oracle.ens(magnitudes, weights), [2 / 3, 0.75 * 0.6 + 0.25 / 3, 0.75 * 0.8 + 0.5 / 3])
    np.testing.assert_array_equal(oracle.normalized(np.zeros(3)), 0)
    assert all(sum(oracle.paper_weights(hop).values()) == pytest.approx(1) for hop in range(1, 8))
