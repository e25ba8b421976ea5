"""The data sets known by name, and what the content of the checked ones must be."""

from __future__ import annotations

import difflib
import re

from minipinet.errors import UsageError

#: The digest (see ``Dataset.digest``) of each set that this project was measured with, loaded with default options.
DIGESTS = {
    "ENZYMES": "a1fb45abd9f53c6d357d75d17a383de6169fa023ecfa9eb17eba12761153a58d",
    "IMDB-BINARY": "3ac39ef97732201dfccbefd5bceaba4042732166dce1b6afbe9167cad4b7f47a",
    "MUTAG": "0d655cf12110a2e94d0a015a03039733ebf2fc3e5cda83e8067c2bb104642148",
    "NCI1": "4231cb7a4791699519bdb2014eb0c676b1ecfe7c5d483f95253984c6a2e1dc4a",
    "NCI109": "a071f7e0f7a6bbcdf0ac610fcdd2878eb881a4c40ca91f1d19b3740ad6180185",
    "PROTEINS": "6ddb0945e6cfbfb210ef7aa6a99f33f71d079df23a3a330fe8a71e6da41b7fc5",
    "PTC_FM": "7e7c4eeee95632d4d6047e614d8442c99fdea4f8874eb77214ef9fd6d2afcaa2",
    "PTC_FR": "cc40499ac608031aaa0860c5d77d00509a4b48c9374485981a1aa8f83276f80a",
    "PTC_MM": "c2314c6e5b7cf21f1fd031affd8f6774cafa4fe14fb204fb31fe7a94975027b5",
    "PTC_MR": "47f484d2ea41f501e4d46de13046f3e0fa68f1171da7eaa2b8a27237ad44e5ff",
}

#: Further classification sets of the collection, fetched without a check of their content.
_UNCHECKED = [
    "AIDS",
    "BZR",
    "BZR_MD",
    "COIL-DEL",
    "COIL-RAG",
    "COLLAB",
    "COX2",
    "COX2_MD",
    "Cuneiform",
    "DD",
    "DHFR",
    "DHFR_MD",
    "ER_MD",
    "FIRSTMM_DB",
    "FRANKENSTEIN",
    "Fingerprint",
    "IMDB-MULTI",
    "KKI",
    "Letter-high",
    "Letter-low",
    "Letter-med",
    "MSRC_21",
    "MSRC_21C",
    "MSRC_9",
    "Mutagenicity",
    "OHSU",
    "PROTEINS_full",
    "Peking_1",
    "REDDIT-BINARY",
    "REDDIT-MULTI-12K",
    "REDDIT-MULTI-5K",
    "SYNTHETIC",
    "SYNTHETICnew",
    "Synthie",
]


def available() -> list[str]:
    """Return the names that :func:`load_dataset` knows, sorted; a folder or zip of any other set can be read too.

    Examples
    --------
    >>> "PTC_MR" in available()
    True
    """
    return sorted([*DIGESTS, *_UNCHECKED], key=str.lower)


def normalise(name: str) -> str:
    """Return what is compared when names are: ``"ptc-mr"`` and ``"PTC_MR"`` are one name.

    Examples
    --------
    >>> normalise("NCI-1")
    'nci1'
    """
    return re.sub(r"[-_ ]", "", name).casefold()


def find_name(name: str, choices: list[str]) -> str | None:
    """Return the one of `choices` that `name` spells, or None."""
    return next((choice for choice in choices if normalise(choice) == normalise(name)), None)


def unknown_name(name: str, choices: list[str], where: str) -> UsageError:
    """Return the error for a name that is none of `choices`: up to three near ones, and in a note all of them."""
    if normalise(name) == "ptc":
        return UsageError(
            "PTC is four data sets: PTC_FM, PTC_FR, PTC_MM and PTC_MR (female and male mice and rats); name one "
            "of them (a PTC figure in a paper is often the mean over the four)"
        )
    spelled = {normalise(choice): choice for choice in choices}
    longer = [short for short in spelled if short.startswith(normalise(name))]
    near = [spelled[short] for short in (longer or difflib.get_close_matches(normalise(name), spelled))[:3]]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    error = UsageError(f"data set {name!r}: not {where}{hint}")
    error.add_note(f"There are: {', '.join(choices) or 'none'}")
    return error
