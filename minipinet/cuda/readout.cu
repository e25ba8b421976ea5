// The pairs of minipinet/attention.py and minipinet/readout.py: column softmax, P_g = Z_A,g^T Z_X,g, cross-entropy.
//
// H and its like hold both stacks, attention before features. start[k * stride + b] is graph b's first row in fold k.

// Z_A[k, r, a] = count exp(H - max) / sum, over the rows of each graph. exp is taken twice: a number that was written
// would have to be waited for. Element: (k, b, a).
extern "C" __global__ void softmax_forward(const real *H, const real *count, const int *start,
                                           real *__restrict__ Z_A, size K, size B, size cap, size F, size stride) {
    size t = element();
    if (t >= K * B * F) return;
    size a = cut(t, F), b = cut(t, B), k = t;
    size from = start[k * stride + b], to = start[k * stride + b + 1];
    const real *x = H + k * 2 * cap * F + a, *n = count + k * cap;
    real *z = Z_A + k * cap * F + a;
    real top = 0, sum = 0;
    for (size r = from; r < to; r++) top = r == from || x[r * F] > top ? x[r * F] : top;
    for (size r = from; r < to; r++) sum += n[r] * exp(x[r * F] - top);
    for (size r = from; r < to; r++) z[r * F] = n[r] * exp(x[r * F] - top) / sum;
}

// In dH, which holds dZ_A on entry: dH = Z_A (dZ_A - s), s the graph's sum of Z_A dZ_A. Element: (k, b, a).
extern "C" __global__ void softmax_backward(const real *Z_A, const int *start, real *dH, size K, size B, size cap,
                                            size F, size stride) {
    size t = element();
    if (t >= K * B * F) return;
    size a = cut(t, F), b = cut(t, B), k = t;
    size from = start[k * stride + b], to = start[k * stride + b + 1];
    const real *z = Z_A + k * cap * F + a;
    real *dx = dH + k * 2 * cap * F + a, sum = 0;
    for (size r = from; r < to; r++) sum += z[r * F] * dx[r * F];
    for (size r = from; r < to; r++) dx[r * F] = z[r * F] * (dx[r * F] - sum);
}

// P[k, b, a, x] = sum over the graph's rows of Z_A[r, a] relu(H_X[r, x]). Element: that.
extern "C" __global__ void pool_forward(const real *Z_A, const real *H, const int *start, real *P, size K, size B,
                                        size cap, size F, size stride) {
    size t = element();
    if (t >= K * B * F * F) return;
    size x = cut(t, F), a = cut(t, F), b = cut(t, B), k = t;
    const real *features = H + (k * 2 + 1) * cap * F, *attention = Z_A + k * cap * F;
    real sum = 0;
    for (size r = start[k * stride + b]; r < start[k * stride + b + 1]; r++) {
        real z = features[r * F + x];
        sum += attention[r * F + a] * (z < 0 ? 0 : z);  // NaN stays
    }
    P[((k * B + b) * F + a) * F + x] = sum;
}

// turned_dP[k, b, x, a] = dP[k, b, a, x]: each half of `pool_backward` takes the one of the two in which neighbouring
// threads read side by side. Element: that.
extern "C" __global__ void transpose(const real *dP, real *turned_dP, size matrices, size F) {
    size t = element(), at = t;
    if (t >= matrices * F * F) return;
    size a = cut(t, F), x = cut(t, F), matrix = t;
    turned_dP[at] = dP[(matrix * F + a) * F + x];
}

// dZ_A into the attention half of dH, and dH of the features stack, 0 where relu was; 0 beyond the last row.
// Element: (k, stack, r, f).
extern "C" __global__ void pool_backward(const real *dP, const real *turned_dP, const real *Z_A, const real *H,
                                         const int *graph, real *dH, size K, size B, size cap, size F) {
    size t = element();
    if (t >= K * 2 * cap * F) return;
    size f = cut(t, F), r = cut(t, cap), stack = cut(t, 2), k = t;
    int b = graph[k * cap + r];
    const real *features = H + ((k * 2 + 1) * cap + r) * F, *attention = Z_A + (k * cap + r) * F;
    real sum = 0;
    if (b >= 0) {
        size matrix = (k * B + b) * F * F;
        if (stack == 0) {
            const real *d = turned_dP + matrix;
            for (size x = 0; x < F; x++) sum += d[x * F + f] * (features[x] < 0 ? 0 : features[x]);
        } else {
            const real *d = dP + matrix;
            for (size a = 0; a < F; a++) sum += d[a * F + f] * attention[a];
            sum *= features[f] > 0;  // a product, so that NaN stays
        }
    }
    dH[((k * 2 + stack) * cap + r) * F + f] = sum;
}

// out = H + b, with relu if asked for; rows beyond the last stay 0. Element: (k, stack, r, f).
extern "C" __global__ void bias_relu(const real *H, const real *b, const int *start, real *out, size K, size B,
                                     size cap, size F, size stride, size relu) {
    size t = element(), at = t;
    if (t >= K * 2 * cap * F) return;
    size f = cut(t, F), r = cut(t, cap), stack = cut(t, 2), k = t;
    real h = H[at];
    if (b && r < start[k * stride + B]) h += b[(k * 2 + stack) * F + f];
    out[at] = relu && h < 0 ? 0 : h;
}

// dR is 0 where R is. Element: each.
extern "C" __global__ void relu_backward(real *dR, const real *R, size n) {
    size t = element();
    if (t < n) dR[t] *= R[t] > 0;  // a product, so that NaN stays
}

// db[k, stack, f] = sum over the rows of dH, from the parts that `sum_parts` adds up. Element: that.
extern "C" __global__ void bias_backward(const double *part, real *db, size stacks, size F, size parts) {
    size t = element(), at = t;
    if (t >= stacks * F) return;
    size f = cut(t, F), table = t;
    double sum = 0;
    for (size i = 0; i < parts; i++) sum += part[(table * parts + i) * F + f];
    db[at] = (real)sum;
}

// Cross-entropy of each graph in nats, whether its class has the greatest logit, and dlogits of the batch's mean.
// Logits get their bias here. Element: (k, b); a graph that is not there has zeros.
extern "C" __global__ void cross_entropy(real *logits, const real *b_D, const int *y, const int *id, real *dlogits,
                                         double *loss, double *right, size K, size B, size C) {
    size t = element();
    if (t >= K * B) return;
    size b = cut(t, B), k = t, here = 0;
    real *z = logits + (k * B + b) * C, *d = dlogits + (k * B + b) * C;
    for (size i = 0; i < B; i++) here += id[k * B + i] >= 0;
    int g = id[k * B + b];
    loss[k * B + b] = right[k * B + b] = 0;
    for (size c = 0; c < C; c++) d[c] = 0;
    if (g < 0) return;
    size top = 0;
    for (size c = 0; c < C; c++) {
        if (b_D) z[c] += b_D[k * C + c];
        if (z[c] > z[top]) top = c;
    }
    // The greatest logit's own exp, which is 1, goes into log1p: a confident right answer has its true loss and not 0.
    real rest = 0;
    for (size c = 0; c < C; c++) rest += c == top ? 0 : exp(z[c] - z[top]);
    real log_sum = log1p(rest), of_y = z[y[g]] - z[top] - log_sum;
    for (size c = 0; c < C; c++) {
        real log_p = z[c] - z[top] - log_sum;
        d[c] = (c == (size)y[g] ? expm1(log_p) : exp(log_p)) / (real)here;
    }
    loss[k * B + b] = -of_y;
    right[k * B + b] = top == (size)y[g];
}

// db_D[k, c] = sum over the batch of dlogits. Element: that.
extern "C" __global__ void logits_bias_backward(const real *dlogits, real *db_D, size K, size B, size C) {
    size t = element();
    if (t >= K * C) return;
    size c = cut(t, C), k = t;
    double sum = 0;
    for (size b = 0; b < B; b++) sum += dlogits[(k * B + b) * C + c];
    db_D[k * C + c] = (real)sum;
}
