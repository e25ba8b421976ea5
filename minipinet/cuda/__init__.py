"""Training on a card: kernels beside the pairs that they are, and a step that needs no word from the host.

`batch.cu`, `propagation.cu`, `readout.cu`, `adam.cu` are the kernels; `dataset` lays a data set out, `parameters` those
of several folds, `step` is the order of the kernels, `launch` runs them on CuPy arrays, `training` goes through epochs,
and `folds` is where trainings get theirs.
"""
