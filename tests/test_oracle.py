"""The oracle itself, by identities."""

import numpy as np
import pytest

import oracle
from paper_graph import EDGES, METRIC, SIGNAL, N

# --- identities ---------------------------------------------------------------------------------------------


def test_small_angles_keep_their_digits():
    """The literal cosine form, in enough digits, against the half chord; parallel vectors give exactly 0."""
    for angle in (1e-3, 1e-9, 1e-15):
        expected = np.sin(angle / 2)
        assert oracle.angular_gradient([1, 0], [np.cos(angle), np.sin(angle)]) == pytest.approx(expected, rel=1e-7)
    assert oracle.angular_gradient([0.58, 0.1, 0.3], [1.16, 0.2, 0.6]) == 0
    assert oracle.angular_gradient([0.58, 0.1], [-0.58, -0.1]) == 1


# --- Algorithm 5's learning and Algorithm 6 -----------------------------------------------------------------


@pytest.fixture(scope="module")
def learning():
    """U, L(U), g and a start for the paper's graph at K = 1."""
    adjacency = oracle.adjacency_matrix(EDGES, N)
    edges, (_, basis) = oracle.edges_of(adjacency), oracle.eigenbasis(adjacency)
    m, rng, g = len(edges), np.random.default_rng(0), oracle.gradients(SIGNAL, edges, METRIC)
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
