"""The readers of spectra by brute force: bands, energy off zero, summary, compare, response.

A spectrum is given here as ``levels`` (eigenvalue of each eigenspace), ``sizes`` (its dimension) and ``merged``
(its magnitude), all of length S, the zero eigenspace first. NaN stands for "not defined" and drops out of sums.
"""

import numpy as np

BANDS = 4


def bands_of(sizes, bands=BANDS):
    """The band of each eigenspace: components off zero in ``bands`` equal counts, by the middle component."""
    out, before, total = [-1], 0.0, float(sum(sizes[1:]))
    for size in sizes[1:]:
        middle = (before + size / 2) / total
        out.append(min(int(middle * bands), bands - 1))
        before += size
    return np.array(out)


def band_energies(merged, sizes, bands=BANDS):
    """Energy in each band; NaN for a band without a component."""
    group = bands_of(sizes, bands)
    out = np.full(bands, np.nan)
    for band in range(bands):
        inside = merged[group == band]
        inside = inside[~np.isnan(inside)]
        if len(inside):
            out[band] = np.sum(inside**2)
    return out


def band_shares(merged, sizes, bands=BANDS):
    """Share of the energy off zero in each band."""
    energy = band_energies(merged, sizes, bands)
    total = np.nansum(energy)
    return energy / total if total > 0 else np.full(bands, np.nan)


def off_zero(merged):
    """Share of energy off the zero eigenspace; NaN without energy."""
    total = np.nansum(merged**2)
    return np.nansum(merged[1:] ** 2) / total if total > 0 else np.nan


def normalized(merged):
    """Unit length; zeros stay zeros."""
    norm = np.sqrt(np.nansum(merged**2))
    return merged / norm if norm > 0 else merged


def spread(merged, sizes, zero=False):
    """One value per component, the energy of an eigenspace spread evenly: values and eigenspace numbers."""
    spaces = [s for s in range(0 if zero else 1, len(sizes)) if not np.isnan(merged[s])]
    number = np.repeat(spaces, [sizes[s] for s in spaces]).astype(int)
    return merged[number] / np.sqrt(np.asarray(sizes)[number]), number


def summary(levels, sizes, merged):
    """The columns of ``summary`` that are numbers."""
    values, number = spread(merged, sizes)
    energy = values**2
    total = energy.sum()
    shares = band_shares(merged, sizes)
    found = {
        "norm": np.sqrt(np.nansum(merged**2)),
        "off_zero": off_zero(merged),
        "lowest": shares[0],
        "highest": shares[-1],
        "eigenspaces": len(sizes),
        "ambiguous": sum(size for size in sizes if size > 1),
    }
    if total > 0:
        found["centroid"] = energy @ levels[number] / total
        found["cosine_flat"] = values.sum() / np.sqrt(total * len(values))
    return found


def wasserstein(levels, energy_a, energy_b):
    """Integral of abs(F_a - F_b) of two distributions of energy on the eigenvalue axis."""
    total, height = 0.0, 0.0
    for s in range(len(levels) - 1):
        height += energy_a[s] / energy_a.sum() - energy_b[s] / energy_b.sum()
        total += abs(height) * (levels[s + 1] - levels[s])
    return total


def compare(levels, sizes, a, b, zero=False):
    """The measures of ``compare``; what is undefined is left out."""
    present = ~(np.isnan(a) | np.isnan(b))
    a, b = np.where(present, a, np.nan), np.where(present, b, np.nan)
    (u, number), (v, _) = spread(a, sizes, zero), spread(b, sizes, zero)
    norm_u, norm_v = np.linalg.norm(u), np.linalg.norm(v)
    found = {"energy_shift": band_shares(b, sizes) - band_shares(a, sizes)}
    if not (norm_u > 0 and norm_v > 0):
        return found
    found |= {
        "cosine": u @ v / norm_u / norm_v,
        "cosine_flat_a": u.sum() / norm_u / np.sqrt(len(u)),
        "cosine_flat_b": v.sum() / norm_v / np.sqrt(len(v)),
    }
    off_u, off_v = u - u.mean(), v - v.mean()
    if min(np.linalg.norm(off_u) / norm_u, np.linalg.norm(off_v) / norm_v) > 1e-6:
        found["correlation"] = off_u @ off_v / np.linalg.norm(off_u) / np.linalg.norm(off_v)
    difference = v / norm_v - u / norm_u
    found["largest_difference"] = difference[np.abs(difference).argmax()]
    size = np.abs(difference)
    found["at_eigenspace"] = {int(s): d for s, d in zip(number, difference, strict=True) if abs(d) > size.max() - 1e-7}
    start = 0 if zero else 1
    used = [s for s in range(start, len(sizes)) if present[s]]
    found["wasserstein"] = wasserstein(levels[used], a[used] ** 2, b[used] ** 2)
    return found


def response(sizes, before, after, level="band", bands=BANDS):
    """``gain`` off zero and ``response`` per band or eigenspace; ``relative`` is their ratio."""
    gain = np.sqrt(np.nansum(after[1:] ** 2)) / np.sqrt(np.nansum(before[1:] ** 2))
    if level == "band":
        start, end = (np.sqrt(band_energies(x, sizes, bands)) for x in (before, after))
    else:
        start, end = before, after
    with np.errstate(divide="ignore", invalid="ignore"):
        return gain, end / start, start
