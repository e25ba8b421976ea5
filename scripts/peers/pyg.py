"""PyTorch with PyTorch Geometric, as its users write it: a list of Data, a DataLoader, MessagePassing.

Pooling goes over `to_dense_batch`: a scatter of the outer products of all nodes takes two to four times as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import torch
from serve import Arrays, device, serve
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax, to_dense_batch


class PQConv(MessagePassing):
    """A~ X W with learned p and q."""

    def __init__(self, W: np.ndarray, p_raw: float, q_raw: float) -> None:
        super().__init__(aggr="add")
        self.weight = nn.Parameter(torch.tensor(W))
        self.p_raw = nn.Parameter(torch.tensor(p_raw))
        self.q_raw = nn.Parameter(torch.tensor(q_raw))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, deg: Tensor) -> Tensor:
        p, q = torch.sigmoid(4 * self.p_raw), torch.sigmoid(4 * self.q_raw)
        s = (p + (1 - p) * deg) ** -0.5
        norm = s[edge_index[0]] * edge_weight * s[edge_index[1]]
        x = x @ self.weight
        return self.propagate(edge_index, x=x, norm=norm) + (q * s * s)[:, None] * x

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        return norm[:, None] * x_j


class PiNet(nn.Module):
    def __init__(self, arrays: Arrays) -> None:
        super().__init__()
        p, q = (arrays[name].tolist() for name in ("p_raw", "q_raw"))
        self.A0, self.A1, self.X0, self.X1 = (
            PQConv(arrays[f"W_{name}"], p[k], q[k]) for k, name in enumerate(("A0", "A1", "X0", "X1"))
        )
        self.W_D = nn.Parameter(torch.tensor(arrays["W_D"]))

    def forward(self, data: Data) -> Tensor:
        edges = data.edge_index, data.edge_attr, data.deg
        attention = self.A1(self.A0(data.x, *edges).relu(), *edges)
        features = self.X1(self.X0(data.x, *edges).relu(), *edges).relu()
        attention = softmax(attention, data.batch, num_nodes=data.num_graphs)
        dense_A, _ = to_dense_batch(attention, data.batch)
        dense_X, _ = to_dense_batch(features, data.batch)
        pooled = dense_A.transpose(1, 2) @ dense_X
        return pooled.flatten(1) @ self.W_D


def data_list(arrays: Arrays) -> list[Data]:
    """Return a Data for each graph."""
    ptr, indptr = arrays["ptr"], arrays["indptr"]
    graphs = []
    for g, (first, last) in enumerate(pairwise(ptr)):
        entries = slice(indptr[first], indptr[last])
        row = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        weight = arrays["weight"][entries]
        graphs.append(
            Data(
                x=torch.from_numpy(arrays["X"][first:last]),
                # Row i of A takes in the state of node j: a message from j to i.
                edge_index=torch.from_numpy(np.stack([arrays["indices"][entries] - first, row])),
                edge_attr=torch.from_numpy(weight),
                deg=torch.from_numpy(np.bincount(row, weight, last - first).astype(np.float32)),
                y=int(arrays["y"][g]),
            )
        )
    return graphs


class Peer:
    def __init__(self, arrays: Arrays, threads: int) -> None:
        torch.set_num_threads(threads)
        self.size = int(arrays["batch_size"])
        self.data, self.first = data_list(arrays), arrays["orders"][0, : self.size]
        self.arrays = arrays
        self.restart()

    def restart(self) -> None:
        self.model = PiNet(self.arrays).to(device())
        self.adam = torch.optim.Adam(self.model.parameters(), lr=float(self.arrays["lr"]))

    def loader(self, order: np.ndarray) -> Iterable[Data]:
        batches = DataLoader(self.data, batch_size=self.size, sampler=order.tolist())
        return batches if device() == "cpu" else (batch.to(device()) for batch in batches)

    def loss(self) -> float:
        with torch.no_grad():
            (batch,) = self.loader(self.first)
            return functional.cross_entropy(self.model(batch), batch.y).item()

    def epoch(self, order: np.ndarray) -> float:
        total = 0.0
        for batch in self.loader(order):
            self.adam.zero_grad()
            loss = functional.cross_entropy(self.model(batch), batch.y)
            loss.backward()
            self.adam.step()
            total += loss.item() * batch.num_graphs
        return total / len(order)


if __name__ == "__main__":
    serve(Peer, ["torch", "torch-geometric", "numpy"])
