"""The network of `minipinet.fast`, Adam's step and the selection of a batch as loops that Numba compiles.

Module for module what is beside it in NumPy: a row of a table is read once, and what is made of it stays in the
processor. Sums run in the order of the entries; a sum along a row may be taken in the order that suits the processor,
the same in every run. Arrays are C-contiguous and may be written to, all floats of one dtype.
"""
