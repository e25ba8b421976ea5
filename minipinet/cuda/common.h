// Before every kernel file: `real` is chosen at compile time, all sizes are 64-bit. What one thread does stands after
// "Element" at each kernel: a number of the output, a row, or what a graph has in a column.
//
// No thread waits for another or adds to what another wrote: each number is the work of one, and each sum has one
// order.
// Sums over all rows of a batch are taken in double, whatever the type: in single precision ten thousand numbers, one
// after the other, keep four digits. Those over the rows of a graph, or a row's neighbours, are as short as the CPU's.
//
// `__restrict__`: no other argument lies there, so that a thread that goes through many numbers need not read and write
// one after the other.
#ifndef REAL
#define REAL float
#endif
typedef REAL real;
typedef long long size;

// The element that this thread is for.
__device__ inline size element() { return blockIdx.x * (size)blockDim.x + threadIdx.x; }

// Split an index, last axis first: cut(t, n) returns t % n and leaves t / n.
__device__ inline size cut(size &t, size n) {
    size rest = t % n;
    t /= n;
    return rest;
}
