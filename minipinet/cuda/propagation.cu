// The pair of minipinet/fast/propagation.py: H = A~ M of both stacks, A~_ij = s_i (A + qI)_ij s_j (paper, eq. 3).
//
// pq[k, stack, layer, 0 or 1] holds p and q. Rows and columns beyond the last of a batch have no entries, so their
// numbers are 0.

__device__ inline const real *pair_of(const real *pq, size k, size stack, size layer) {
    return pq + ((k * 2 + stack) * 2 + layer) * 2;
}

// s = (p + (1-p) deg)^(-1/2), 0 where the base is 0.
__device__ inline real scale(real p, real deg) {
    real base = p + (1 - p) * deg;
    return base == 0 ? 0 : 1 / sqrt(base);
}

// p and q from p_raw and q_raw: 1 / (1 + exp(-4 raw)), a rounding error away from 0 and 1. Element: each of them.
extern "C" __global__ void gate_forward(const real *raw, real *pq, size n, double least) {
    size t = element();
    if (t >= n) return;
    double p = 1 / (1 + exp(-4 * (double)raw[t]));
    pq[t] = (real)(p < least ? least : p > 1 - least ? 1 - least : p);
}

// H[k, stack, i, f], added up in the order of the row's entries. Element: that.
extern "C" __global__ void propagate_forward(const real *M, const real *pq, const int *first, const int *column,
                                             const real *weight, const int *own, const int *at_own, const real *deg,
                                             real *H, size K, size rows, size columns, size entries, size F, size layer,
                                             size shared) {
    size t = element();
    if (t >= K * 2 * rows * F) return;
    size f = cut(t, F), i = cut(t, rows), stack = cut(t, 2), k = t;
    const real *values = pair_of(pq, k, stack, layer);
    real p = values[0], q = values[1];
    M += (shared ? k : k * 2 + stack) * columns * F + f;  // the features are the same for both stacks
    const int *start = first + k * (rows + 1) + i;
    real sum = 0;
    for (int e = start[0]; e < start[1]; e++) {
        size j = column[k * entries + e];
        real a = weight[k * entries + e];
        if (e == at_own[k * rows + i]) a += q;
        sum += a * scale(p, deg[k * columns + j]) * M[j * F];
    }
    real s = start[0] < start[1] ? scale(p, deg[k * columns + own[k * rows + i]]) : 0;
    H[((k * 2 + stack) * rows + i) * F + f] = s * sum;
}

// dM[k, stack, j, f] = sum over the column's entries, in their order. Element: that.
extern "C" __global__ void propagate_backward(const real *dH, const real *pq, const int *first, const int *row,
                                              const int *entry, const real *weight, const int *own, const int *at_own,
                                              const real *deg, real *dM, size K, size rows, size columns, size entries,
                                              size F, size layer) {
    size t = element();
    if (t >= K * 2 * columns * F) return;
    size f = cut(t, F), j = cut(t, columns), stack = cut(t, 2), k = t;
    const real *values = pair_of(pq, k, stack, layer);
    real p = values[0], q = values[1];
    dH += (k * 2 + stack) * rows * F + f;
    const int *start = first + k * (columns + 1) + j;
    real sum = 0;
    for (int n = start[0]; n < start[1]; n++) {
        size i = row[k * entries + n];
        int e = entry[k * entries + n];
        real a = weight[k * entries + e];
        if (e == at_own[k * rows + i]) a += q;
        sum += a * scale(p, deg[k * columns + own[k * rows + i]]) * dH[i * F];
    }
    dM[((k * 2 + stack) * columns + j) * F + f] = scale(p, deg[k * columns + j]) * sum;
}

// What each row and each column adds to dp and dq: s_i is a factor of row i of H and s_j of every term that M_j is in,
// so s_i dL/ds_i = <dH_i, H_i> from the rows and <dM_i, M_i> from the columns; d ln(s) / dp = -s^2 (1 - deg) / 2.
// terms[k, stack, layer, p or q] has room for n rows and columns, the columns after the rows; beyond them it stays 0.
// Element: (k, stack, row or column).
extern "C" __global__ void pq_terms(const real *dH, const real *H, const real *dM, const real *M, const real *pq,
                                    const int *first, const int *own, const real *deg, real *terms, size K, size rows,
                                    size columns, size F, size layer, size shared, size n) {
    size t = element();
    if (t >= K * 2 * (rows + columns)) return;
    size i = cut(t, rows + columns), stack = cut(t, 2), k = t, both = k * 2 + stack;
    real p = pair_of(pq, k, stack, layer)[0], to_p = 0, to_q = 0;
    const real *x = M + (shared ? k : both) * columns * F;
    if (i >= rows) {
        size j = i - rows;
        real s = scale(p, deg[k * columns + j]);
        for (size f = 0; f < F; f++) to_p += dM[(both * columns + j) * F + f] * x[j * F + f];
        to_p *= -s * s * (1 - deg[k * columns + j]) / 2;
    } else if (first[k * (rows + 1) + i] < first[k * (rows + 1) + i + 1]) {
        size j = own[k * rows + i], at = (both * rows + i) * F;
        real s = scale(p, deg[k * columns + j]);
        for (size f = 0; f < F; f++) {
            to_p += dH[at + f] * H[at + f];
            to_q += dH[at + f] * x[j * F + f];
        }
        to_p *= -s * s * (1 - deg[k * columns + j]) / 2;
        to_q *= s * s;  // the entry at a row's own state is s_i^2 (A_ii + q)
    }
    terms[((both * 2 + layer) * 2 + 0) * n + i] = to_p;
    terms[((both * 2 + layer) * 2 + 1) * n + i] = to_q;
}

// The parts of the sums over n rows, of each of F columns: part i adds up every parts-th row from the i-th on. Who
// needs the sum adds up the parts, so that all rows are not one thread's work. Element: (table, part, column).
extern "C" __global__ void sum_parts(const real *x, double *part, size tables, size n, size F, size parts) {
    size t = element(), at = t;
    if (t >= tables * parts * F) return;
    size f = cut(t, F), first = cut(t, parts), table = t;
    double sum = 0;
    for (size i = first; i < n; i += parts) sum += x[(table * n + i) * F + f];
    part[at] = sum;
}

// dp_raw[k, stack, layer, p or q], of q_raw too, from the sum of the parts: the gate's slope is 4 p (1 - p).
// Element: that.
extern "C" __global__ void gate_backward(const double *part, const real *pq, real *dp_raw, size n, size parts) {
    size t = element();
    if (t >= n) return;
    double sum = 0;
    for (size i = 0; i < parts; i++) sum += part[t * parts + i];
    dp_raw[t] = (real)(sum * 4 * pq[t] * (1 - pq[t]));
}
