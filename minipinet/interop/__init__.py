"""Doors to other libraries, one file a library: graphs in and out, weights, and models that run elsewhere.

Nothing here imports another library when it is imported; a function that needs one imports it when it is called, and
says what to install where it is missing. Graphs of PyTorch Geometric and DGL are read by what they have, not by their
class, so that reading them needs neither library. Graphs of networkx come in by `minipinet.conversions`, matrices of
SciPy by `minipinet.graphs.as_graph`, as those libraries are always there.
"""
