// A batch cut out of the data set on the card: the graphs' rows one after the other, in buffers of fixed size.
//
// K folds are trained at once, each with a batch of B graphs (fewer in the last: id -1). The data set holds each
// graph's own quotient; ptr[m * (G + 1) + g] is where graph g's part of table m starts. Tables: 0, 1, 2 the states of
// the three levels, 3 and 4 the entries of the two layers.
//
// Beyond the last row of a batch stays what an earlier one left: no entry leads there, and such a state has no graph.

enum { TABLES = 5 };

// off[k, m, b]: where graph b's part of table m starts in fold k's batch. Element: (k, m).
extern "C" __global__ void batch_offsets(const int *order, const size *cursor, const size *ptr, int *__restrict__ id,
                                         int *__restrict__ off, size K, size B, size n, size G) {
    size t = element();
    if (t >= K * TABLES) return;
    size m = cut(t, TABLES), k = t, first = *cursor * B;
    int *start = off + (k * TABLES + m) * (B + 1);
    start[0] = 0;
    for (size b = 0; b < B; b++) {
        size at = first + b;
        int g = at < n ? order[k * n + at] : -1;
        if (m == 0) id[k * B + b] = g;
        start[b + 1] = start[b] + (g < 0 ? 0 : (int)(ptr[m * (G + 1) + g + 1] - ptr[m * (G + 1) + g]));
    }
}

// The graph of the batch that row r of a table belongs to, by bisection; B if it is beyond the last.
__device__ inline size graph_of(const int *start, size B, size r) {
    if (r >= start[B]) return B;
    size low = 0, high = B;  // start[low] <= r < start[high]
    while (high - low > 1) {
        size middle = (low + high) / 2;
        if (start[middle] <= r) low = middle;
        else high = middle;
    }
    return low;
}

// X[k, r, f]. Element: (k, r, f) of the buffer.
extern "C" __global__ void batch_features(const real *all, const size *ptr, const int *id, const int *off, real *X,
                                          size K, size B, size cap, size d) {
    size t = element();
    if (t >= K * cap * d) return;
    size f = cut(t, d), r = cut(t, cap), k = t;
    const int *start = off + k * TABLES * (B + 1);
    size b = graph_of(start, B, r);
    if (b < B) X[(k * cap + r) * d + f] = all[(ptr[id[k * B + b]] + r - start[b]) * d + f];
}

// Rows of a layer: first entry, own column and place of the own entry.
// Element: (k, r), one row more than the buffer has.
extern "C" __global__ void batch_rows(const int *all_first, const int *all_own, const int *all_at_own, const size *ptr,
                                      const int *id, const int *off, int *first, int *own, int *at_own, size K, size B,
                                      size cap, size G, size layer) {
    size t = element();
    if (t >= K * (cap + 1)) return;
    size r = cut(t, cap + 1), k = t;
    const int *tables = off + k * TABLES * (B + 1);
    const int *rows = tables + (layer + 1) * (B + 1), *columns = tables + layer * (B + 1);
    const int *entries = tables + (3 + layer) * (B + 1);
    size b = graph_of(rows, B, r);
    if (b == B) {
        first[k * (cap + 1) + r] = entries[B];
        return;
    }
    size from = ptr[(layer + 1) * (G + 1) + id[k * B + b]] + r - rows[b];
    first[k * (cap + 1) + r] = entries[b] + all_first[from];
    own[k * cap + r] = columns[b] + all_own[from];
    at_own[k * cap + r] = entries[b] + all_at_own[from];
}

// Columns of a layer: degree, and first entry in the order by columns. Element: (k, c), one more than the buffer has.
extern "C" __global__ void batch_columns(const real *all_deg, const int *all_first, const size *ptr, const int *id,
                                         const int *off, real *deg, int *first, size K, size B, size cap, size G,
                                         size layer) {
    size t = element();
    if (t >= K * (cap + 1)) return;
    size c = cut(t, cap + 1), k = t;
    const int *tables = off + k * TABLES * (B + 1);
    const int *columns = tables + layer * (B + 1), *entries = tables + (3 + layer) * (B + 1);
    size b = graph_of(columns, B, c);
    if (b == B) {
        first[k * (cap + 1) + c] = entries[B];
        return;
    }
    size from = ptr[layer * (G + 1) + id[k * B + b]] + c - columns[b];
    first[k * (cap + 1) + c] = entries[b] + all_first[from];
    deg[k * cap + c] = all_deg[from];
}

// Entries of a layer: column and weight in the order by rows; row and place in that order, in the order by columns.
// Element: (k, e) of the buffer.
extern "C" __global__ void batch_entries(const int *all_column, const real *all_weight, const int *all_row,
                                         const int *all_entry, const size *ptr, const int *id, const int *off,
                                         int *column, real *weight, int *row, int *entry, size K, size B, size cap,
                                         size G, size layer) {
    size t = element();
    if (t >= K * cap) return;
    size e = cut(t, cap), k = t;
    const int *tables = off + k * TABLES * (B + 1);
    const int *entries = tables + (3 + layer) * (B + 1);
    size b = graph_of(entries, B, e);
    if (b == B) return;
    size from = ptr[(3 + layer) * (G + 1) + id[k * B + b]] + e - entries[b], at = k * cap + e;
    column[at] = tables[layer * (B + 1) + b] + all_column[from];
    weight[at] = all_weight[from];
    row[at] = tables[(layer + 1) * (B + 1) + b] + all_row[from];
    entry[at] = entries[b] + all_entry[from];
}

// The states that are pooled: their graph (-1 beyond the last) and how many of its nodes they stand for.
// Element: (k, r).
extern "C" __global__ void batch_counts(const real *all_count, const size *ptr, const int *id, const int *off,
                                        int *graph, real *count, size K, size B, size cap, size G) {
    size t = element();
    if (t >= K * cap) return;
    size r = cut(t, cap), k = t;
    const int *rows = off + (k * TABLES + 2) * (B + 1);
    size b = graph_of(rows, B, r);
    graph[k * cap + r] = b == B ? -1 : (int)b;
    if (b < B) count[k * cap + r] = all_count[ptr[2 * (G + 1) + id[k * B + b]] + r - rows[b]];
}
