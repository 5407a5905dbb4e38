"""CUDA C for compressed rows on a GPU, as text: `fused_rows` compiles it through cupy.

No kernel uses shared memory, barriers or warp functions. Each thread writes its own numbers, and sums over threads are
left to the array library. The same source therefore runs thread after thread on a processor, which is how the
tests compare it with numpy.

``indptr`` has 64 bits and ``indices`` 32. A row of more than ``longest`` entries is cut into runs that are worked on
side by side: kernels with ``rows, begins, ends`` take run ``i`` to be the entries ``begins[i] .. ends[i]`` of row
``rows[i]``, and without them (null) item ``i`` is row ``i``, where long rows are left out.

Macros: ``REAL`` is the type that blocks of columns are stored in; ``WEIGHTED`` and ``MEASURED`` are 1 where edges have
weights, and nodes a measure; ``INDEX`` is the type of indices that were not checked yet; ``DIMS`` and ``KEYS`` are the
columns of a signal and the number of orientations.
"""

COMMON = r"""
typedef long long wide;
typedef unsigned long long word;
// One thread per item; and one per column and slot, where slots share out the rows.
#define EACH(i, count) \
    (wide i = (wide)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (wide)gridDim.x * blockDim.x)
#define COLUMN \
    const int k = threadIdx.x, width = blockDim.x; \
    const wide slot = (wide)blockIdx.x * blockDim.y + threadIdx.y, slots = (wide)gridDim.x * blockDim.y;

// The entries of item i; false where it is left out.
__device__ bool item(wide i, const wide* indptr, const int* rows, const wide* begins, const wide* ends, wide longest,
                     wide* row, wide* begin, wide* end) {
    *row = rows ? rows[i] : i;
    *begin = rows ? begins[i] : indptr[i];
    *end = rows ? ends[i] : indptr[i + 1];
    return rows || *end - *begin <= longest;
}

__device__ word mixed(word key, word low, word high) {
    word m = key + low * 0x9E3779B97F4A7C15ULL;
    for (int i = 0; i < 2; ++i) {
        m = (m ^ (m >> 30)) * 0xBF58476D1CE4E5B9ULL;
        m = (m ^ (m >> 27)) * 0x94D049BB133111EBULL;
        m = (m ^ (m >> 31)) + (i ? 0 : high) * 0x9E3779B97F4A7C15ULL;
    }
    return m;
}
"""

STEPS = r"""
// Column k of (C^-1/2 L C^-1/2 x)[v], from some entries of row v, as a sum of differences in double precision.
__device__ double differences(const int* indices, const double* weights, const double* root, const REAL* x, wide v,
                              wide begin, wide end, int k, int width) {
    const double own = x[v * width + k];
    double total = 0;
#if MEASURED
    const double near = root[v] * root[v];
#endif
#pragma unroll 4
    for (wide e = begin; e < end; ++e) {
        const wide u = indices[e];
        const double other = x[u * width + k];
#if MEASURED
        const double change = near * own - root[v] * root[u] * other;
#else
        const double change = own - other;
#endif
#if WEIGHTED
        total += weights[e] * change;
#else
        total += change;
#endif
    }
    return total;
}

// previous = scale L x - back previous; dots[k][slot]: sums of x previous over the rows of a slot. A thread a column.
extern "C" __global__ void step(const wide* indptr, const int* indices, const double* weights, const double* root,
                                const REAL* x, REAL* previous, const double* scale, const double* back, wide longest,
                                double* dots, wide n) {
    COLUMN
    double dot = 0;
    for (wide v = slot; v < n; v += slots) {
        const wide begin = indptr[v], end = indptr[v + 1];
        if (end - begin > longest) continue;
        const double total = differences(indices, weights, root, x, v, begin, end, k, width);
        const double value = scale[k] * total - back[k] * previous[v * width + k];
        previous[v * width + k] = (REAL)value;
        dot += x[v * width + k] * value;
    }
    dots[k * slots + slot] = dot;
}

// The differences of each run of a long row.
extern "C" __global__ void run_totals(const int* indices, const double* weights, const double* root, const REAL* x,
                                      const int* rows, const wide* begins, const wide* ends, double* totals,
                                      wide count) {
    COLUMN
    for (wide i = slot; i < count; i += slots)
        totals[i * width + k] = differences(indices, weights, root, x, rows[i], begins[i], ends[i], k, width);
}

// The step of long rows, from the totals of their runs first[i] .. first[i + 1].
extern "C" __global__ void long_rows(const int* rows, const wide* first, const double* totals, const REAL* x,
                                     REAL* previous, const double* scale, const double* back, double* dots,
                                     wide count) {
    COLUMN
    double dot = 0;
    for (wide i = slot; i < count; i += slots) {
        const wide at = (wide)rows[i] * width + k;
        double total = 0;
        for (wide run = first[i]; run < first[i + 1]; ++run) total += totals[run * width + k];
        const double value = scale[k] * total - back[k] * previous[at];
        previous[at] = (REAL)value;
        dot += x[at] * value;
    }
    dots[k * slots + slot] = dot;
}

// x -= factor y; squares[k][slot]: sums of x^2 over the rows of a slot.
extern "C" __global__ void subtract(REAL* x, const REAL* y, const double* factor, double* squares, wide n) {
    COLUMN
    double square = 0;
    for (wide v = slot; v < n; v += slots) {
        const REAL value = (REAL)(x[v * width + k] - factor[k] * y[v * width + k]);
        x[v * width + k] = value;
        square += (double)value * value;
    }
    squares[k * slots + slot] = square;
}

// sums[k][slot]: sums of x y over the rows of a slot, of x alone where y is null.
extern "C" __global__ void column_dots(const REAL* x, const REAL* y, double* sums, wide n) {
    COLUMN
    double sum = 0;
    for (wide v = slot; v < n; v += slots) sum += (double)x[v * width + k] * (y ? (double)y[v * width + k] : 1.0);
    sums[k * slots + slot] = sum;
}
"""

GRADIENTS = r"""
// Of each item: sum of w g^2, of w g, of w, and of sign w g for each orientation; key 0 is the order of rows.
extern "C" __global__ void gradients(const wide* indptr, const int* indices, const double* weights, const double* t,
                                     const word* keys, const int* rows, const wide* begins, const wide* ends,
                                     double* found, wide count, wide longest) {
    for EACH(i, count) {
        wide v, begin, end;
        if (!item(i, indptr, rows, begins, ends, longest, &v, &begin, &end)) continue;
        double sums[3 + KEYS];
        for (int j = 0; j < 3 + KEYS; ++j) sums[j] = 0;
        for (wide e = begin; e < end; ++e) {
            const wide u = indices[e];
            double square = 0;
#pragma unroll 8
            for (int k = 0; k < DIMS; ++k) {
                const double difference = t[v * DIMS + k] - t[u * DIMS + k];
                square += difference * difference;
            }
#if WEIGHTED
            const double weight = weights[e];
#else
            const double weight = 1.0;
#endif
            const double length = weight * sqrt(square);
            sums[0] += weight * square;
            sums[1] += length;
            sums[2] += weight;
            const wide low = v < u ? v : u, high = v < u ? u : v;
            for (int j = 0; j < KEYS; ++j) {
                const bool forward = (v < u) == (keys[j] == 0 || (mixed(keys[j], low, high) & 1));
                sums[3 + j] += forward ? length : -length;
            }
        }
        for (int j = 0; j < 3 + KEYS; ++j) found[i * (3 + KEYS) + j] = sums[j];
    }
}

// The sums of long rows from those of their runs: out[rows[i]] = the runs first[i] .. first[i + 1].
extern "C" __global__ void sum_runs(const int* rows, const wide* first, const double* values, double* out, wide count,
                                    wide width) {
    for EACH(at, count * width) {
        const wide i = at / width, k = at % width;
        double total = 0;
        for (wide run = first[i]; run < first[i + 1]; ++run) total += values[run * width + k];
        out[(wide)rows[i] * width + k] = total;
    }
}
"""

READING = r"""
// Counts: rows out of range; entries below their predecessor; loops; repeats.
extern "C" __global__ void inspect(const wide* indptr, const INDEX* indices, word* found, wide n) {
    word outside = 0, unsorted = 0, loops = 0, repeats = 0;
    for EACH(v, n) {
        for (wide e = indptr[v]; e < indptr[v + 1]; ++e) {
            const wide u = indices[e];
            outside += u < 0 || u >= n;
            loops += u == v;
            if (e > indptr[v]) {
                unsorted += u < (wide)indices[e - 1];
                repeats += u == (wide)indices[e - 1];
            }
        }
    }
    if (outside) atomicAdd(found, outside);
    if (unsorted) atomicAdd(found + 1, unsorted);
    if (loops) atomicAdd(found + 2, loops);
    if (repeats) atomicAdd(found + 3, repeats);
}

// Which entries of sorted rows are neither loops nor repeats.
extern "C" __global__ void keep_distinct(const wide* indptr, const INDEX* indices, unsigned char* keep, wide n) {
    for EACH(v, n)
        for (wide e = indptr[v]; e < indptr[v + 1]; ++e)
            keep[e] = (wide)indices[e] != v && (e == indptr[v] || indices[e] != indices[e - 1]);
}

extern "C" __global__ void count_kept(const wide* indptr, const unsigned char* keep, wide* counts, wide n) {
    for EACH(v, n) {
        wide count = 0;
        for (wide e = indptr[v]; e < indptr[v + 1]; ++e) count += keep[e] != 0;
        counts[v] = count;
    }
}

// Row (less start) and index of each entry of the rows start .. stop as one number, whose order is that of the entries.
extern "C" __global__ void entry_keys(const wide* indptr, const INDEX* indices, wide* keys, wide start, wide stop) {
    for EACH(i, stop - start)
        for (wide e = indptr[start + i]; e < indptr[start + i + 1]; ++e)
            keys[e - indptr[start]] = (i << 32) | (wide)indices[e];
}

// Entries without a counterpart; entries whose weight disagrees with its counterpart's.
// Weights that differ within the agreement become the larger of both.
extern "C" __global__ void symmetric(const wide* indptr, const int* indices, double* weights, const int* rows,
                                     const wide* begins, const wide* ends, word* found, double agreement, wide count,
                                     wide longest) {
    word alone = 0, apart = 0;
    for EACH(i, count) {
        wide v, begin, end;
        if (!item(i, indptr, rows, begins, ends, longest, &v, &begin, &end)) continue;
        for (wide e = begin; e < end; ++e) {
            const wide u = indices[e], last = indptr[u + 1];
            wide low = indptr[u], high = last;
            while (low < high) {
                const wide middle = low + (high - low) / 2;
                if (indices[middle] < v) low = middle + 1;
                else high = middle;
            }
            if (low == last || indices[low] != v) {
                ++alone;
            } else if (weights) {
                const double one = weights[e], other = weights[low], larger = one > other ? one : other;
                if (fabs(one - other) > agreement * larger) ++apart;
                else if (one < other) weights[e] = larger;
            }
        }
    }
    if (alone) atomicAdd(found, alone);
    if (apart) atomicAdd(found + 1, apart);
}

__device__ int root_of(int* parent, int x) {
    while (parent[x] != x) {
        const int above = parent[parent[x]];
        parent[x] = above;  // halves the way for those who come later
        x = above;
    }
    return x;
}

// Joins the ends of every edge: the larger root is hooked under the smaller, so a part's root is its first node.
extern "C" __global__ void join_parts(const wide* indptr, const int* indices, const int* rows, const wide* begins,
                                      const wide* ends, int* parent, wide count, wide longest) {
    for EACH(i, count) {
        wide v, begin, end;
        if (!item(i, indptr, rows, begins, ends, longest, &v, &begin, &end)) continue;
        for (wide e = begin; e < end; ++e) {
            if (indices[e] >= v) continue;
            int a = root_of(parent, (int)v), b = root_of(parent, indices[e]);
            while (a != b) {
                const int larger = a > b ? a : b, smaller = a > b ? b : a;
                const int before = atomicCAS(parent + larger, larger, smaller);
                if (before == larger) break;
                a = root_of(parent, before);
                b = root_of(parent, smaller);
            }
        }
    }
}

extern "C" __global__ void find_roots(const int* parent, int* roots, wide n) {
    for EACH(v, n) {
        int x = (int)v;
        while (parent[x] != x) x = parent[x];
        roots[v] = x;
    }
}

// Two sums over all edges of a hash of their ends and weights: they tell graphs apart in any order of summation.
extern "C" __global__ void fingerprint(const wide* indptr, const int* indices, const double* weights, word* found,
                                       wide n) {
    word one = 0, two = 0;
    for EACH(v, n) {
        for (wide e = indptr[v]; e < indptr[v + 1]; ++e) {
            if (indices[e] <= v) continue;
            word bits = 0;
            if (weights) bits = (word)__double_as_longlong(weights[e]);
            one += mixed(1 + bits, v, indices[e]);
            two += mixed(0x5851F42D4C957F2DULL ^ bits, indices[e], v);
        }
    }
    atomicAdd(found, one);
    atomicAdd(found + 1, two);
}
"""

STACKS = r"""
// Of each graph and component: sum over pairs x < y of flow abs(u(x) - u(y)) and of flow^2 (u(x) - u(y))^2.
extern "C" __global__ void pair_sums(const double* flow, const double* vectors, double* absolute, double* squared,
                                     wide graphs, wide n) {
    for EACH(at, graphs * n) {
        const wide graph = at / n, k = at % n;
        const double* u = vectors + graph * n * n + k;
        const double* own = flow + graph * (n * (n - 1) / 2);
        double total = 0, square = 0;
        for (wide x = 0; x < n; ++x)
            for (wide y = x + 1; y < n; ++y, ++own) {
                const double difference = *own * (u[x * n] - u[y * n]);
                total += fabs(difference);
                square += difference * difference;
            }
        absolute[at] = total;
        squared[at] = square;
    }
}
"""

DIFFERENCES = r"""
// Of a run of edges and each eigenvector: sum of weight abs(u(x) - u(y)) and of weight^2 (u(x) - u(y))^2.
extern "C" __global__ void difference_sums(const wide* x, const wide* y, const REAL* weight, const REAL* vectors,
                                           REAL* absolute, REAL* squared, wide m, wide c, wide run) {
    const wide column = (wide)blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= c) return;
    const wide first = blockIdx.x * run, last = first + run < m ? first + run : m;
    REAL total = 0, square = 0;
    for (wide e = first; e < last; ++e) {
        const REAL difference = weight[e] * (vectors[x[e] * c + column] - vectors[y[e] * c + column]);
        total += fabs(difference);
        square += difference * difference;
    }
    absolute[blockIdx.x * c + column] = total;
    squared[blockIdx.x * c + column] = square;
}
"""
