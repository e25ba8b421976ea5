// The step of minipinet/optim.py over the parameters of all folds, and what counts steps.

// The leaves stand one after the other, each with its K folds: ends[l] is where leaf l ends. The first `decayed`
// numbers have the penalty l2 w^2. A fold whose batch is empty (it has fewer batches than another) stays as it is.
// 1 - beta^t is -expm1(t ln beta), which keeps its digits in single precision.
// Element: each parameter.
extern "C" __global__ void adam(real *w, const real *dw, real *m, real *v, const size *steps, const int *id,
                                const size *ends, size leaves, size K, size B, size decayed, double lr, double l2,
                                double beta1, double beta2, double eps, double ln_beta1, double ln_beta2) {
    size t = element();
    if (t >= ends[leaves - 1]) return;
    size leaf = 0;
    while (ends[leaf] <= t) leaf++;
    size first = leaf ? ends[leaf - 1] : 0, k = (t - first) / ((ends[leaf] - first) / K);
    if (id[k * B] < 0) return;
    real step = (real)(steps[k] + 1), c1 = -expm1(step * (real)ln_beta1), c2 = -expm1(step * (real)ln_beta2);
    real g = dw[t] + (t < decayed ? (real)(2 * l2) * w[t] : 0);
    m[t] = (real)beta1 * m[t] + (real)(1 - beta1) * g;
    v[t] = (real)beta2 * v[t] + (real)(1 - beta2) * (g * g);
    w[t] -= (real)lr * (m[t] / c1) / (sqrt(v[t] / c2) + (real)eps);
}

// Add the batch to the epoch's sums, and go to the next. Element: the fold; the cursor is the first fold's.
extern "C" __global__ void next_batch(const double *loss, const double *right, const int *id,
                                      double *__restrict__ sums, size *steps, size *cursor, size K, size B) {
    size k = element();
    if (k >= K) return;
    for (size b = 0; b < B; b++) {
        sums[k * 2] += loss[k * B + b];
        sums[k * 2 + 1] += right[k * B + b];
    }
    if (id[k * B] >= 0) steps[k] += 1;
    if (k == 0) *cursor += 1;
}
