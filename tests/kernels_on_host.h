// Lets the kernel files be compiled as C++: the indices of a thread are variables, and a launch is a loop over them.
#include <setjmp.h>
#include <signal.h>

#include <cmath>
using std::exp;
using std::expm1;
using std::log1p;
using std::sqrt;
#define __global__
#define __device__
struct Index {
    unsigned x;
};
static Index blockIdx, threadIdx;
static const Index blockDim = {32};

static sigjmp_buf launch;
static volatile long long thread;  // read after a jump
static void stop(int) { siglongjmp(launch, 1); }

// Run a kernel, thread after thread. Returns -1, or the first thread that touched memory which is nobody's or not to be
// written; those after it have not run.
template <typename Kernel>
static long long run(long long from, long long to, Kernel kernel) {
    struct sigaction ours = {}, segv, bus;
    ours.sa_handler = stop;
    sigaction(SIGSEGV, &ours, &segv);
    sigaction(SIGBUS, &ours, &bus);
    thread = from;
    if (!sigsetjmp(launch, 1)) {
        for (; thread < to; thread = thread + 1) {
            blockIdx.x = (unsigned)(thread / blockDim.x), threadIdx.x = (unsigned)(thread % blockDim.x);
            kernel();
        }
    }
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
    return thread < to ? thread : -1;
}
