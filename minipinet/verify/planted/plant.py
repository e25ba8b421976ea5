"""A planted bug is data; planting it makes a copy of some modules in which one line reads otherwise."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import textwrap
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from types import CodeType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from minipinet.errors import UsageError

#: The modules that a copy is made of: the mathematics, and the pairs that a bug in it is checked through.
COPIED = tuple(
    f"minipinet.{name}"
    for name in (
        "matmul", "pool", "colours", "quotient", "propagation", "batch", "attention", "readout",
        "attention_readout", "params", "model", "optim", "verify.pairs",
    )
)  # fmt: skip


class Edit(NamedTuple):
    """One replacement."""

    function: str  #: name of the function in which the line stands
    line: str  #: the exact source line or lines, without the indentation they share
    bug: str  #: what stands there instead


class PlantedBug(NamedTuple):
    """A fault to plant: what stands where, what is put there, and why anybody would write it."""

    name: str
    kind: str
    module: str  #: full name of the module
    function: str
    line: str
    bug: str
    why: str
    also: tuple[Edit, ...] = ()  #: further edits in the module, where a backward follows its forward into the fault

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All replacements."""
        return Edit(self.function, self.line, self.bug), *self.also


class Place(NamedTuple):
    """Lines of a source, counted from 0: from `first` up to `last`, which is not among them."""

    first: int
    last: int


#: CPython 3.11 counts the depth of its parser for all threads together, and now and then refuses sound source.
_PARSING = threading.Lock()


def find_line(source: str, edit: Edit) -> Place:
    r"""Find the line or lines that an edit replaces.

    Parameters
    ----------
    source : str
        Of the whole module.
    edit : Edit

    Raises
    ------
    UsageError
        If the function or the line is not there exactly once.

    Examples
    --------
    >>> find_line("def double(x):\n    return 2 * x\n", Edit("double", "return 2 * x", "return x"))
    Place(first=1, last=2)
    """
    with _PARSING:
        tree = ast.parse(source)
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == edit.function
    ]
    if len(functions) != 1:
        raise UsageError(f"function: expected one {edit.function} in the source, found {len(functions)}")
    lines, wanted = source.splitlines(), _lines(edit.line)
    first, last = functions[0].lineno - 1, functions[0].end_lineno or 0
    size = len(wanted)
    found = [k for k in range(first, last - size + 1) if _lines("\n".join(lines[k : k + size])) == wanted]
    if len(found) != 1:
        raise UsageError(f"line: expected once in {edit.function}, found {len(found)} times: {edit.line!r}")
    return Place(found[0], found[0] + size)


def _lines(text: str) -> list[str]:
    return textwrap.dedent(text).strip("\n").splitlines()


def apply_edit(source: str, edit: Edit) -> str:
    r"""Return `source` with one edit made, indented as what it replaces; errors as in `find_line`.

    Examples
    --------
    >>> print(apply_edit("def double(x):\n    return 2 * x\n", Edit("double", "return 2 * x", "return x")))
    def double(x):
        return x
    <BLANKLINE>
    """
    first, last = find_line(source, edit)
    lines = source.splitlines()
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    return "\n".join([*lines[:first], *(indent + line for line in _lines(edit.bug)), *lines[last:]]) + "\n"


def with_bug(source: str, bug: PlantedBug) -> str:
    """Return the source of the bug's module with the bug in it.

    Raises
    ------
    UsageError
        If a line is not there exactly once; the message names the bug.
    """
    try:
        for edit in bug.edits:
            source = apply_edit(source, edit)
    except UsageError as reason:
        raise UsageError(f"planted bug {bug.name!r} in {bug.module}: {reason}") from reason
    return source


@cache
def package_sources() -> Mapping[str, str]:
    """Return the source of every module in `COPIED`, by full name."""
    sources = {}
    for name in COPIED:
        spec = importlib.util.find_spec(name)
        text = spec.loader.get_source(name) if spec and spec.loader else None  # type: ignore[attr-defined]
        assert text is not None, f"{name} has no source"
        sources[name] = text
    return MappingProxyType(sources)


def plant(bug: PlantedBug | None = None, sources: Mapping[str, str] | None = None) -> dict[str, ModuleType]:
    r"""Load a copy of some modules from source, with a bug in one of them.

    Parameters
    ----------
    bug : PlantedBug, optional
        None loads a sound copy.
    sources : mapping from module name to source, optional
        What to copy: the bug's module and all that should see the bug. By default `package_sources()`, so that a bug
        in any module of the mathematics reaches the whole network and every pair of `minipinet.verify.pairs`.

    Returns
    -------
    dict from module name to module
        Inside the copy a name imported from a copied module is the copy's; every other import is the ordinary one.

    Raises
    ------
    UsageError
        If the bug's module is not among the sources, or its line not there exactly once.

    Notes
    -----
    The copies stand in a table of their own, which their own ``__import__`` looks into: `sys.modules`, the real modules
    and the files are never touched, whatever is raised, in however many threads. About 10 ms for the whole package.

    Examples
    --------
    >>> bug = PlantedBug("half", "example", "layer", "double", "return 2 * x", "return x", "the factor forgotten")
    >>> sources = {"layer": "def double(x):\n    return 2 * x\n", "user": "from layer import double\n"}
    >>> plant(bug, sources)["user"].double(3), plant(None, sources)["user"].double(3)
    (3, 6)
    """
    sources = package_sources() if sources is None else sources
    if bug is not None and bug.module not in sources:
        raise UsageError(f"planted bug {bug.name!r}: expected a module out of {', '.join(sources)}, got {bug.module!r}")
    table: dict[str, ModuleType] = {}

    def load(name: str) -> ModuleType:
        if name not in table:
            source = sources[name]
            planted = with_bug(source, bug) if bug is not None and bug.module == name else source
            module = ModuleType(name)
            module.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_copy}
            table[name] = module
            exec(_compile(planted, name), module.__dict__)
        return table[name]

    def import_copy(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name in sources and fromlist:
            return load(name)
        if level or name in sources or any(f"{name}.{part}" in sources for part in fromlist or ()):
            raise ImportError(
                f"{name or '.'}: a copy follows imports of the form 'from package.module import name' only"
            )
        return __import__(name, globals, locals, fromlist, level)

    for name in sources:
        load(name)
    return table


#: What the files of a copy are called in tracebacks.
COPY_OF = "<copy of "


@cache
def _compile(source: str, name: str) -> CodeType:
    with _PARSING:
        return compile(source, f"{COPY_OF}{name}>", "exec", dont_inherit=True)


def statements(source: str, function: str) -> Iterator[tuple[Place, str]]:
    r"""Yield where each statement of a function stands, docstring aside, and its text; of a compound one its header.

    Examples
    --------
    >>> [text for _, text in statements("def f(x):\n    if x:\n        x = 1\n    return x\n", "f")]
    ['if x:', 'x = 1', 'return x']
    """
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            documented = ast.get_docstring(node) is not None
            for statement in _nested(node.body[documented:]):
                body = getattr(statement, "body", None)
                last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
                while body and lines[last - 1].lstrip().startswith("#"):
                    last -= 1  # a comment above the body
                text = "\n".join(lines[statement.lineno - 1 : last])
                yield Place(statement.lineno - 1, last), textwrap.dedent(text).strip()


def _nested(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for part in ("body", "orelse", "handlers", "finalbody"):
            yield from _nested(getattr(statement, part, []))
