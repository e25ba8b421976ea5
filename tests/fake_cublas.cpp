// A double of cuBLAS: plain loops in column-major order, the manual's checks of sizes, and a log of what was called.
#include <cstddef>
#include <cstring>

static char text[100000];
static double scratch;  // an address for a handle
static bool refuses = false;

static int call(const char *name, void *handle) {
    strcat(strcat(text, name), " ");
    return refuses ? 13 : handle == &scratch ? 0 : 1;
}
static int at_least_one(int n) { return n > 1 ? n : 1; }

template <typename T>
static int product(void *handle, int ta, int tb, int m, int n, int k, const T *alpha, const T *A, int lda, long long sa,
                   const T *B, int ldb, long long sb, const T *beta, T *C, int ldc, long long sc, int count) {
    if (int status = call("product", handle)) return status;
    if (m < 0 || n < 0 || k < 0 || count < 0 || ta < 0 || ta > 1 || tb < 0 || tb > 1) return 7;
    if (lda < at_least_one(ta ? k : m) || ldb < at_least_one(tb ? n : k) || ldc < at_least_one(m)) return 7;
    for (int i = 0; i < count; i++)
        for (int column = 0; column < n; column++)
            for (int row = 0; row < m; row++) {
                double sum = 0;
                for (int q = 0; q < k; q++) {
                    T a = A[i * sa + (ta ? q + (long long)row * lda : row + (long long)q * lda)];
                    T b = B[i * sb + (tb ? column + (long long)q * ldb : q + (long long)column * ldb)];
                    sum += (double)a * b;
                }
                T *c = &C[i * sc + row + (long long)column * ldc];
                *c = (T)(*alpha * sum + (*beta == 0 ? 0 : *beta * *c));
            }
    return 0;
}

extern "C" {
long long stream, workspace, bytes, math = -1, pointers = -1;
const char *log_text() { return text; }
void log_clear(int refuse) { text[0] = 0, refuses = refuse; }

int cublasCreate_v2(void **handle) { return *handle = &scratch, call("create", &scratch); }
int cublasDestroy_v2(void *handle) { return call("destroy", handle); }
int cublasSetStream_v2(void *handle, void *to) {
    stream = (long long)to, workspace = bytes = 0;  // as the manual says
    return call("stream", handle);
}
int cublasSetWorkspace_v2(void *handle, void *at, size_t size) {
    workspace = (long long)at, bytes = (long long)size;
    return call("workspace", handle);
}
int cublasSetPointerMode_v2(void *handle, int mode) { return pointers = mode, call("pointers", handle); }
int cublasSetMathMode(void *handle, int mode) { return math = mode, call("math", handle); }
int cublasSgemmStridedBatched(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *A, int lda,
                              long long sa, const float *B, int ldb, long long sb, const float *beta, float *C, int ldc,
                              long long sc, int count) {
    return product(h, ta, tb, m, n, k, alpha, A, lda, sa, B, ldb, sb, beta, C, ldc, sc, count);
}
int cublasDgemmStridedBatched(void *h, int ta, int tb, int m, int n, int k, const double *alpha, const double *A,
                              int lda, long long sa, const double *B, int ldb, long long sb, const double *beta,
                              double *C, int ldc, long long sc, int count) {
    return product(h, ta, tb, m, n, k, alpha, A, lda, sa, B, ldb, sb, beta, C, ldc, sc, count);
}
}
