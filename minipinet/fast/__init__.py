"""The network as training computes it: both stacks in one pass, two classes by one score, equal graphs once.

The pairs here do what those of the same names in `minipinet.propagation`, `minipinet.readout` and `minipinet.model` do,
in fewer and larger steps. They are verified by the same checker, and against the readable ones. `compiled` has the same
in loops that Numba compiles; `training` is what a training calls, in the form that this machine has.
"""
