"""Train on MUTAG and label molecules that are written as SMILES; needs RDKit: pip install 'minipinet[sklearn,smiles]'.

    python scripts/examples/new_molecules.py "O=[N+]([O-])c1ccc2ccccc2c1" CCO

MUTAG's graphs have atoms without hydrogen, of types 0 to 6. They get their symbols here, so that the molecules, which
have symbols, fit. An atom that MUTAG does not have, such as sulphur, counts as none, and a notice names it. The answers
show how it is done: 188 nitro compounds tell nothing of other chemistry, whatever probability comes out.
"""

from __future__ import annotations

import sys

from minipinet import PiNetClassifier
from minipinet.datasets import load_dataset
from minipinet.errors import MinipinetError
from minipinet.interop.networkx import to_networkx
from minipinet.interop.smiles import from_smiles

SYMBOLS = ["C", "N", "O", "F", "I", "Cl", "Br"]
EXAMPLES = ["O=[N+]([O-])c1cc2ccc3cccc4ccc(c1)c2c34", "O=[N+]([O-])c1ccc(O)cc1", "c1ccc2sccc2c1"]


def main(smiles: list[str]) -> None:
    molecules = from_smiles(smiles)  # before training, as a text may be no molecule
    data = load_dataset("MUTAG")
    graphs = to_networkx(data)
    for G in graphs:
        for _, node in G.nodes(data=True):
            node["label"] = SYMBOLS[node["label"]]
    clf = PiNetClassifier(node_label="label", epochs=100, random_state=0)
    clf.fit(graphs, ["mutagenic" if label == 1 else "not" for label in data.labels])
    for text, row in zip(smiles, clf.predict_proba(molecules), strict=True):
        print(f"{text}: {clf.classes_[row.argmax()]} ({row.max():.2f})")


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or EXAMPLES)
    except MinipinetError as error:
        print(f"new_molecules.py: {error}", file=sys.stderr)
        sys.exit(2)
