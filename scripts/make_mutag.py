"""Make the MUTAG that comes with the package, and the text beside it, out of the copy in the package grakel.

    python scripts/make_mutag.py

Writes minipinet/datasets/data/MUTAG.zip and MUTAG.txt; the same bytes on every machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from minipinet._files import write_whole
from minipinet.datasets import load_dataset
from minipinet.datasets.catalogue import DIGESTS

DATA = Path(__file__).resolve().parent.parent / "minipinet" / "datasets" / "data"
# One wheel whatever machine this runs on; it is only unzipped, never installed.
WHEEL = ["grakel==0.1.11", "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64"]
MEMBERS = "grakel/tests/data/MUTAG/"
LICENCE = "grakel-0.1.11.dist-info/licenses/LICENSE"

TEXT = """MUTAG: 188 nitro compounds, in two classes by their mutagenic effect on a bacterium.
Nodes are atoms (0 C, 1 N, 2 O, 3 F, 4 I, 5 Cl, 6 Br), edges are bonds (0 aromatic, 1 single, 2 double, 3 triple).

Source
------
MUTAG.zip holds, unchanged, the files that the package GraKeL 0.1.11 ships in grakel/tests/data/MUTAG, which are those
of the collection of benchmark data sets now called TUDataset. scripts/make_mutag.py makes MUTAG.zip and this text.

Citation
--------
Debnath, A. K., Lopez de Compadre, R. L., Debnath, G., Shusterman, A. J., Hansch, C.: Structure-activity relationship of
  mutagenic aromatic and heteroaromatic nitro compounds. Correlation with molecular orbital energies and hydrophobicity.
  Journal of Medicinal Chemistry 34(2), 786-797 (1991).
Kriege, N., Mutzel, P.: Subgraph matching kernels for attributed graphs. Proceedings of the 29th International
  Conference on Machine Learning (2012).
Morris, C., Kriege, N. M., Bause, F., Kersting, K., Mutzel, P., Neumann, M.: TUDataset: A collection of benchmark
  datasets for learning with graphs. ICML 2020 Workshop on Graph Representation Learning and Beyond (2020).

Licence
-------
The files state none for the data. GraKeL, whose copy this is, is distributed under the following licence.

"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        subprocess.run([*pip, *WHEEL], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            names = sorted(name for name in wheel.namelist() if name.startswith(MEMBERS) and not name.endswith("/"))
            contents = {name.removeprefix(MEMBERS): wheel.read(name) for name in names}
            licence = wheel.read(LICENCE).decode().strip()
        packed = Path(folder) / "MUTAG.zip"
        # Stored, not compressed: what a compressor writes differs between its versions.
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for name, content in contents.items():
                member = zipfile.ZipInfo(f"MUTAG/{name}", date_time=(1980, 1, 1, 0, 0, 0))
                member.create_system = 3  # as written on Unix, also on Windows
                archive.writestr(member, content)
        digest = load_dataset(packed).digest
        if digest != DIGESTS["MUTAG"]:
            sys.exit(f"grakel's MUTAG is not the known one: digest {digest}, expected {DIGESTS['MUTAG']}")
        DATA.mkdir(exist_ok=True)
        write_whole(DATA / "MUTAG.zip", packed.read_bytes())
        write_whole(DATA / "MUTAG.txt", (TEXT + licence + "\n").encode())
    print(f"{DATA}: MUTAG.zip and MUTAG.txt written, digest {digest}")


if __name__ == "__main__":
    main()
