"""Where bands begin and end, from what is known of the eigenvalues off zero.

Bands are ``(lower, upper]``. An eigenvalue within ``NEAR`` times the largest one above an edge lies on the edge, and
so belongs to the band below it: no computation in double precision can tell the two. An edge at 0 has no such
neighbours: which components have eigenvalue 0 is known by structure.
"""

from dataclasses import dataclass

import numpy as np

# Eigenvalues this close to an edge lie on it, as a share of the largest one.
NEAR = 2e-10
# Eigenvalues this close, as a share of the largest one, are one place when edges are put between them.
TOGETHER = 1e-8
# The least range of a logarithmic axis: below it all eigenvalues are about equal.
LEAST_RATIO = 1.001


def reach(edges: np.ndarray, near: float) -> np.ndarray:
    """The largest eigenvalue off zero that lies at or below each edge, when those within ``near`` of it lie on it."""
    return np.where(edges > 0.0, edges + near, edges)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Places of the eigenvalues off zero, ascending, with the share of the eigenvalues at each."""

    places: np.ndarray  # (g,)
    shares: np.ndarray  # (g,), adding up to 1

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None = None) -> "Spectrum":
        """From eigenvalues, or from the nodes and weights of quadrature rules; those close together are joined.

        Examples
        --------
        >>> found = Spectrum.of(np.array([1.0, 3.0, 3.0, 4.0]))
        >>> found.places.tolist(), found.shares.tolist()
        ([1.0, 3.0, 4.0], [0.25, 0.5, 0.25])
        """
        if not len(values):
            return cls(np.zeros(0), np.zeros(0))
        order = np.argsort(values)
        values = values[order]
        weights = np.ones(len(values)) if weights is None else weights[order]
        group = np.cumsum(np.diff(values, prepend=values[0]) > TOGETHER * abs(values[-1]))
        shares = np.bincount(group, weights)
        plain = np.bincount(group, values) / np.bincount(group)
        return cls(plain, shares / shares.sum())

    @property
    def top(self) -> float:
        """The largest eigenvalue, 0 where there is none off zero."""
        return float(self.places[-1]) if len(self.places) else 0.0


def _off_places(cut: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Edges moved a little up where they meet a place, so that nothing lies within rounding of them."""
    apart = TOGETHER * places[-1]
    nearest = np.maximum(np.searchsorted(places, cut + apart, side="right") - 1, 0)
    after = np.append(np.diff(places), places[-1])[nearest]
    meets = np.abs(cut - places[nearest]) <= apart
    return np.where(meets, places[nearest] + np.minimum(4 * apart, after / 2), cut)


SPACINGS = ("log", "width", "count")


def band_edges(spectrum: Spectrum, bands: int | np.ndarray, spacing: str) -> np.ndarray:
    """Edges of the bands: as given, or from 0 up to beyond the largest eigenvalue, ``(bands + 1,)``.

    Examples
    --------
    >>> path = Spectrum.of(2 - 2 * np.cos(np.pi * np.arange(1, 100) / 100))
    >>> band_edges(path, 4, "width").round(2).tolist()
    [0.0, 1.14, 2.29, 3.43, 4.57]
    >>> band_edges(path, 4, "count").round(2).tolist()
    [0.0, 0.6, 2.0, 3.4, 4.57]
    >>> band_edges(path, 6, "log").round(3).tolist()
    [0.0, 0.004, 0.063, 1.002, 2.344, 3.521, 4.363]
    """
    if isinstance(bands, np.ndarray):
        return bands
    count, top = bands, spectrum.top or 1.0
    last = top * count / (count - 0.5)
    if spacing == "width" or not len(spectrum.places):
        return np.linspace(0.0, last, count + 1)
    if spacing == "count":
        middle, places = np.cumsum(spectrum.shares) - spectrum.shares / 2, np.append(0.0, spectrum.places)
        inside = np.interp(np.arange(1, count) / count, np.append(0.0, middle), places)
        return np.concatenate([[0.0], _off_places(inside, places), [last]])
    return _log_edges(spectrum, count)


def _log_edges(spectrum: Spectrum, count: int) -> np.ndarray:
    """Edges in geometric progression, the fullest band cut in three: no band holds more than half of the eigenvalues.

    One eigenvalue of more than half of the components is the exception. The smallest eigenvalue off zero lies in the
    first band, the largest in the last.
    """
    plain = max(1, count - 2)
    low, top = float(spectrum.places[0]), spectrum.top
    if top < LEAST_RATIO * low:
        low = top / 2
    ratio = (top / low) ** (1.0 / (plain - 1)) if plain > 1 else 1.5 * top / low
    cut = low * ratio ** (np.arange(plain + 1) - 0.5)
    cut[0], cut[-1] = 0.0, top * count / (count - 0.5)
    cut = _off_places(cut, np.append(0.0, spectrum.places)) * (np.arange(plain + 1) > 0)
    return _cut_fullest(spectrum, cut, count - plain)


def _cut_fullest(spectrum: Spectrum, cut: np.ndarray, more: int) -> np.ndarray:
    """So many edges more, 0 to 2, in the band of most eigenvalues: its pieces are as even as the places allow."""
    below = np.append(0.0, np.cumsum(spectrum.shares))[np.searchsorted(spectrum.places, cut, side="right")]
    fullest = int(np.argmax(np.diff(below)))
    low, high = cut[fullest], cut[fullest + 1]
    inside = (spectrum.places > low) & (spectrum.places <= high)
    places, sums = spectrum.places[inside], np.cumsum(spectrum.shares[inside])
    between = (places[1:] + places[:-1]) / 2
    if more and len(between) >= more:
        return np.sort(np.append(cut, between[_even(sums, more)]))
    found = np.sort(np.append([low, high], between[:more]))
    while len(found) < more + 2:
        widest = int(np.argmax(np.diff(found)))
        found = np.insert(found, widest + 1, (found[widest] + found[widest + 1]) / 2)
    extra = _off_places(found[1:-1], np.append(0.0, spectrum.places))
    return np.sort(np.append(cut, extra))


def _even(sums: np.ndarray, more: int) -> list[int]:
    """After which places to cut, once or twice, so that the largest piece is least."""
    whole, before = sums[-1], sums[:-1]
    if more == 1:
        return [int(np.argmin(np.maximum(before, whole - before)))]
    second = np.searchsorted(before, before + (whole - before) / 2)
    best, least = [0, 1], np.inf
    for shift in (-1, 0):
        j = np.clip(second + shift, np.arange(len(before)) + 1, len(before) - 1)
        i = np.arange(len(before))
        largest = np.maximum(before, np.maximum(before[j] - before, whole - before[j]))
        largest[j <= i] = np.inf
        at = int(np.argmin(largest))
        if largest[at] < least:
            best, least = [at, int(j[at])], largest[at]
    return best
