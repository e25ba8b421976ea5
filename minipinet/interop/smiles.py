"""SMILES: molecules as networkx graphs, by RDKit (``pip install 'minipinet[smiles]'``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minipinet._extras import library
from minipinet.errors import DataError, UsageError
from minipinet.interop.common import items_of
from minipinet.settings import truth

if TYPE_CHECKING:
    import networkx as nx

_INSTALL = "pip install 'minipinet[smiles]'"


def from_smiles(smiles: Iterable[str], *, hydrogens: bool = False) -> list[nx.Graph]:
    """Make networkx graphs of molecules; models and `dataset_from_networkx` take them from there.

    Atoms are nodes, numbered from 0 in the order of the text, with their symbol as ``"label"`` (``"C"``, ``"Cl"``;
    aromatic or not, charged or not, the symbol is the same) and their formal charge as ``"charge"``. Bonds are edges
    with their order as ``"bond"``: 1, 2, 3, or 1.5 where it is aromatic. Whether that is a weight is left to who reads
    the graphs: ``weight="bond"`` makes it one; without it every edge is 1, as in the benchmark sets of molecules.

    Parameters
    ----------
    smiles : iterable of str
        One molecule each, without a name behind it; parts that hang together by no bond (salts) stay one graph.
    hydrogens : bool
        True: hydrogen atoms are nodes too, as MUTAG's relatives with hydrogens have them. False: they are left out, as
        RDKit does it, but for those that are more than a number at another atom: isotopes (``[2H]``), those without
        another atom but hydrogen (``[H+]``, ``[H][H]``), and those at an atom that is not known (``*``).

    Returns
    -------
    list of networkx.Graph
        What the text says, and nothing stereochemical; the text itself is ``G.graph["smiles"]``.

    Raises
    ------
    UsageError
        Without RDKit, or if `smiles` is no sequence of strings, at least one.
    DataError
        If a text is no molecule, or more than one; names its place and what RDKit says.
    """
    Chem = library("rdkit.Chem", "from_smiles", _INSTALL)
    hydrogens = truth("hydrogens", hydrogens)
    silence = library("rdkit.rdBase", "from_smiles", _INSTALL).BlockLogs
    graphs = []
    for k, text in enumerate(items_of(smiles, "smiles", "strings")):
        if not isinstance(text, str):
            raise UsageError(f"smiles: expected strings, got {type(text).__name__} as entry {k}")
        with silence():
            graphs.append(_graph(Chem, text, k, hydrogens))
    return graphs


def _graph(Chem: Any, text: str, k: int, hydrogens: bool) -> nx.Graph:
    import networkx as nx

    if any(map(str.isspace, text)):  # RDKit would read the first word, and take the others for a name
        raise DataError(f"smiles: entry {k}: expected one molecule without white space, got {text!r:.80}")
    try:
        molecule = Chem.MolFromSmiles(text, sanitize=False)
    except UnicodeError:  # half a pair of surrogates, which is no text
        molecule = None
    if molecule is None:
        raise DataError(f"smiles: entry {k}: expected SMILES, got {text!r:.80}")
    if problems := Chem.DetectChemistryProblems(molecule):
        raise DataError(f"smiles: entry {k}: {text!r:.80} is no molecule: {problems[0].Message()}")
    Chem.SanitizeMol(molecule)
    # Hydrogens that the text writes out as atoms, as in [H]O, are left to `hydrogens` like all others.
    molecule = Chem.AddHs(molecule) if hydrogens else Chem.RemoveHs(molecule, _kept_hydrogens(Chem))
    G = nx.Graph(smiles=text)
    for atom in molecule.GetAtoms():
        G.add_node(atom.GetIdx(), label=atom.GetSymbol(), charge=atom.GetFormalCharge())
    for bond in molecule.GetBonds():
        G.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond=bond.GetBondTypeAsDouble())
    return G


def _kept_hydrogens(Chem: Any) -> Any:
    """Return which hydrogens stay: RDKit's choice, but none for what is stereochemical, which is not read."""
    kept = Chem.RemoveHsParameters()
    kept.removeDefiningBondStereo = True
    return kept
