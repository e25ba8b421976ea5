"""Keras on TensorFlow, the paper's way: every graph a dense matrix padded to the largest graph of the data set."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from serve import Arrays, batches, padded, serve


class MessagePassing(keras.layers.Layer):
    """A~ X W with learned p and q."""

    def __init__(self, W: np.ndarray, p_raw: float, q_raw: float, activation: str | None) -> None:
        super().__init__()
        self.W = self.add_weight(shape=W.shape, initializer=lambda *_, **__: W)
        self.p_raw = self.add_weight(shape=(), initializer=lambda *_, **__: p_raw)
        self.q_raw = self.add_weight(shape=(), initializer=lambda *_, **__: q_raw)
        self.activation = keras.activations.get(activation)

    def call(self, X, A):
        p, q = ops.sigmoid(4 * self.p_raw), ops.sigmoid(4 * self.q_raw)
        s = (p + (1 - p) * ops.sum(A, axis=2, keepdims=True)) ** -0.5
        M = s * ops.matmul(X, self.W)
        return self.activation(s * (ops.matmul(A, M) + q * M))


class Readout(keras.layers.Layer):
    """Logits from both stacks: softmax over the nodes, P = Z_A^T Z_X, vec(P) W_D."""

    def __init__(self, W: np.ndarray) -> None:
        super().__init__()
        self.W = self.add_weight(shape=W.shape, initializer=lambda *_, **__: W)

    def call(self, H, Z_X, mask):
        Z_A = ops.softmax(ops.where(mask[:, :, None] > 0, H, -np.inf), axis=1)
        P = ops.matmul(ops.transpose(Z_A, (0, 2, 1)), Z_X)
        return ops.matmul(ops.reshape(P, (-1, self.W.shape[0])), self.W)


def network(arrays: Arrays, N: int) -> keras.Model:
    def conv(k: int, name: str, activation: str | None) -> MessagePassing:
        return MessagePassing(arrays[f"W_{name}"], float(arrays["p_raw"][k]), float(arrays["q_raw"][k]), activation)

    A, X = keras.Input((N, N)), keras.Input((N, arrays["X"].shape[1]))
    mask = keras.Input((N,))
    attention = conv(1, "A1", None)(conv(0, "A0", "relu")(X, A), A)
    features = conv(3, "X1", "relu")(conv(2, "X0", "relu")(X, A), A)
    model = keras.Model([A, X, mask], Readout(arrays["W_D"])(attention, features, mask))
    model.compile(
        keras.optimizers.Adam(float(arrays["lr"]), epsilon=1e-8),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


class Peer:
    def __init__(self, arrays: Arrays, threads: int) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        self.size, G, N = int(arrays["batch_size"]), len(arrays["y"]), int(np.diff(arrays["ptr"]).max())
        self.data, self.first = padded(arrays, np.arange(G), N), arrays["orders"][0, : self.size]
        self.model = network(arrays, N)
        self.model.optimizer.build(self.model.trainable_variables)
        self.initial = [(v, np.array(v)) for v in (*self.model.weights, *self.model.optimizer.variables)]

    def restart(self) -> None:
        for variable, value in self.initial:
            variable.assign(value)

    def take(self, graphs: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        return tuple(self.data[key][graphs] for key in ("A", "X", "mask")), self.data["y"][graphs]

    def loss(self) -> float:
        return float(self.model.test_on_batch(*self.take(self.first)))

    def epoch(self, order: np.ndarray) -> float:
        total = 0.0
        for graphs in batches(order, self.size):
            # What Keras returns is the mean since the metrics were last reset.
            self.model.reset_metrics()
            total += float(self.model.train_on_batch(*self.take(graphs))) * len(graphs)
        return total / len(order)


if __name__ == "__main__":
    serve(Peer, ["keras", "tensorflow-cpu", "numpy"])
