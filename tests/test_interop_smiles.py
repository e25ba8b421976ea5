"""Molecules from SMILES, by RDKit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minipinet.datasets import dataset_from_networkx
from minipinet.errors import DataError, Notice, UsageError
from minipinet.interop.smiles import from_smiles
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.small_doors import hide


@pytest.fixture
def rdkit() -> Any:
    return pytest.importorskip("rdkit", reason="rdkit is in minipinet[smiles]")


@pytest.mark.usefixtures("rdkit")
def test_atoms_are_nodes_and_bonds_edges() -> None:
    (G,) = from_smiles(["C=CC#N"])
    assert dict(G.nodes(data="label")) == {0: "C", 1: "C", 2: "C", 3: "N"}
    assert list(G.edges(data="bond")) == [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 3.0)]
    assert G.graph == {"smiles": "C=CC#N"}


@pytest.mark.usefixtures("rdkit")
def test_rings_charges_salts_and_hydrogens() -> None:
    benzene, salt, water, hydrogen, cis, nothing = from_smiles(
        ["c1ccccc1", "[Na+].[Cl-]", "[H]O[H]", "[H][H]", "C/C=C\\C", ""]
    )
    assert set(nx_values(benzene, "bond")) == {1.5}
    assert [salt.nodes[i]["charge"] for i in salt] == [1, -1]
    assert (len(salt), salt.number_of_edges(), len(cis)) == (2, 0, 4)
    assert [water.nodes[i]["label"] for i in water] == ["O"]
    assert len(hydrogen) == 2  # a molecule of nothing else keeps them
    assert len(nothing) == 0
    (methane,) = from_smiles(["C"], hydrogens=True)
    assert [methane.nodes[i]["label"] for i in methane] == ["C", "H", "H", "H", "H"]


@pytest.mark.usefixtures("rdkit")
@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("[H]C([H])([H])O[H]", "CO"),
        ("[CH3:1][H:2]", "C"),
        ("[H]/C=C/Cl", "CCCl"),  # the same molecule as C=CCl, of which nothing stereochemical is read
        ("[2H]C([3H])O", "HCHO"),
        ("[2H]O[2H]", "HOH"),
        ("[H][H]", "HH"),
        ("[H+]", "H"),
        ("[Na+].[H-]", "NaH"),
        ("[H]*", "H*"),
    ],
)
def test_hydrogens_that_are_more_than_a_number_stay(capfd: pytest.CaptureFixture[str], text: str, atoms: str) -> None:
    (G,) = from_smiles([text])
    assert "".join(G.nodes[i]["label"] for i in G) == atoms
    assert capfd.readouterr() == ("", "")


def nx_values(G: Any, name: str) -> list[Any]:
    return [value for _, _, value in G.edges(data=name)]


@pytest.mark.usefixtures("rdkit")
def test_from_smiles_to_a_model_and_its_answer() -> None:
    graphs = from_smiles(["CCO", "CCN", "CCCO", "CCCN", "CO", "CN"])
    data = dataset_from_networkx(graphs, ["alcohol", "amine"] * 3, node_label="label")
    assert data.encoder.vocabularies == (("C", "N", "O"),)
    model = train_pinet(data, Settings(epochs=100, hidden=32, out=16, lr=0.01)).model
    assert model.predict(from_smiles(["CCCCO", "CCCCN"])).tolist() == ["alcohol", "amine"]
    with pytest.warns(Notice, match="1 node has an unknown node label: 'S'"):
        model.predict(from_smiles(["CCS"]))
    # The order in which a molecule is written does not matter.
    one, other = model.logits(from_smiles(["CC(C)O", "OC(C)C"]), bitwise=True)
    assert one.tobytes() == other.tobytes()


@pytest.mark.usefixtures("rdkit")
def test_bonds_are_weights_when_they_are_asked_for() -> None:
    graphs = from_smiles(["C=C", "c1ccccc1"])
    plain = dataset_from_networkx(graphs, [0, 1], node_label="label")
    bonds = dataset_from_networkx(graphs, [0, 1], node_label="label", weight="bond")
    assert set(plain.graphs.A.data.tolist()) == {1.0}
    np.testing.assert_array_equal(bonds[0].A.toarray(), [[0, 2], [2, 0]])
    assert set(bonds[1].A.data.tolist()) == {1.5}


@pytest.mark.usefixtures("rdkit")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C1CC", "smiles: entry 1: expected SMILES, got 'C1CC'"),
        ("hello", "smiles: entry 1: expected SMILES, got 'hello'"),
        ("\ud800", r"smiles: entry 1: expected SMILES, got '\ud800'"),
        ("C(C)(C)(C)(C)C", "smiles: entry 1: 'C(C)(C)(C)(C)C' is no molecule: Explicit valence for atom # 0 C"),
        ("CCO CCN", "smiles: entry 1: expected one molecule without white space, got 'CCO CCN'"),
        ("CCO\nCCN", "smiles: entry 1: expected one molecule without white space, got 'CCO\\nCCN'"),
        ("CCO ethanol", "smiles: entry 1: expected one molecule without white space, got 'CCO ethanol'"),
        (" CCO", "smiles: entry 1: expected one molecule without white space, got ' CCO'"),
        ("CCO\t", "smiles: entry 1: expected one molecule without white space, got 'CCO\\t'"),
        (" ", "smiles: entry 1: expected one molecule without white space, got ' '"),
        ("c1cccc1", "smiles: entry 1: 'c1cccc1' is no molecule: Can't kekulize mol"),
    ],
)
def test_texts_that_are_no_molecules(capfd: pytest.CaptureFixture[str], text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        from_smiles(["C", text])
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")  # RDKit says nothing beside it


@pytest.mark.usefixtures("rdkit")
@pytest.mark.parametrize(
    ("smiles", "options", "message"),
    [
        ("CCO", {}, "smiles: expected a sequence of strings, got str"),
        (5, {}, "smiles: expected a sequence of strings, got int"),
        ([], {}, "smiles: expected at least one graph, got none"),
        (["C", None], {}, "smiles: expected strings, got NoneType as entry 1"),
        (["C"], {"hydrogens": 1}, "hydrogens: expected True or False, got 1"),
    ],
)
def test_arguments_that_are_none(smiles: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_smiles(smiles, **options)


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "rdkit", "rdkit.Chem")
    with pytest.raises(UsageError, match=r"from_smiles needs rdkit.Chem: pip install 'minipinet\[smiles\]'"):
        from_smiles(["C"])
