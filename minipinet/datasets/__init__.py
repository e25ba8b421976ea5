"""Data sets: the TU format from files or the network, graphs in memory, the paper's isomorphism test."""

from minipinet.datasets.catalogue import available
from minipinet.datasets.dataset import Dataset, dataset_from_graphs, index_classes, refit_encoder
from minipinet.datasets.download import cache_dir
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.from_networkx import dataset_from_networkx
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.datasets.load import load_dataset, load_graphs

__all__ = [
    "Dataset",
    "FeatureEncoder",
    "available",
    "cache_dir",
    "dataset_from_graphs",
    "dataset_from_networkx",
    "fit_encoder",
    "index_classes",
    "isomorphism_dataset",
    "load_dataset",
    "load_graphs",
    "refit_encoder",
]
