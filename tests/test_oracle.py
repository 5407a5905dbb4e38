"""The oracle itself, by identities; ``test_reference`` holds it and the released program to the same numbers."""

import numpy as np
import pytest

import oracle
import oracle_cases

CASES = sorted(oracle_cases.cases())


def strata_of(name):
    """Yield, hop by hop: edges, eigenvalues, eigenvectors, gradients."""
    graph_edges, n_nodes, signal, metric = oracle_cases.cases()[name]
    for adjacency in oracle.strata_adjacencies(graph_edges, n_nodes):
        edges = oracle.edges_of(adjacency)
        yield edges, *oracle.eigenbasis(adjacency), oracle.gradients(signal, edges, metric)


@pytest.mark.parametrize("name", CASES)
def test_no_eigenvalue_gap_is_doubtful(name):
    """Every gap, of the strata and of their line graphs, is either clearly zero or clearly not."""
    graph_edges, n_nodes, _, _ = oracle_cases.cases()[name]
    for adjacency in oracle.strata_adjacencies(graph_edges, n_nodes):
        line_values, _ = oracle.line_eigenbasis(oracle.edges_of(adjacency), n_nodes)
        for values in (oracle.eigenbasis(adjacency)[0], line_values):
            gaps = np.diff(values) / max(values[-1], 1)
            assert not np.any((gaps > 1e-12) & (gaps < 1e-4))


# --- identities ---------------------------------------------------------------------------------------------


def test_the_papers_graph():
    case = oracle_cases.solved("caveman")
    assert case["n_edges"].tolist() == [15, 15, 15, 18, 12, 3]
    quoted = [[0.178, 0.178, 3.835, 5.074], [0.423, 0.830, 3.060], [1, 1, 4]]
    for K, expected in enumerate(quoted):
        for value in expected:
            assert np.abs(case["eigenvalues"][K] - value).min() < 5e-4
    assert case["gradient_norm"][5] == 0  # s0 is constant on {K, L, M}


@pytest.mark.parametrize("name", CASES)
def test_gft_energy_is_gradient_energy(name):
    """sum lam M^2 = sum g^2: the GFT's vectors have the gradients as their differences."""
    case = oracle_cases.solved(name)
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
