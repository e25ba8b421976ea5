"""The paper's experiments: cells that can be run anywhere, and the store of their results."""
