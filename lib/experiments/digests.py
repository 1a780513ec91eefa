"""Which code a result depends on, found without running it, and digests of that code.

A module depends on all modules that it imports anywhere in its text and on what those import in turn, as far
as they lie in the folders given.  A package that is only passed through, as ``a`` in ``from a.b import f``,
does not count: importing has no side effects here.  Comments, docstrings and empty lines are not part of a
digest: to explain code better does not make a result stale.
"""

from __future__ import annotations

import ast
import hashlib
import io
import sys
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# It names experiments and computes nothing: no result depends on it.
CARRIER = "lib.experiments.registry"


def digest_of_source(source: str) -> str:
    """Return a digest, 16 hexadecimal digits, of the Python code in ``source``.

    Comments, docstrings and empty lines do not count.  Raises ``ValueError`` if ``source`` is no Python code.

    Example:

    >>> digest_of_source("x = 1  # one") == digest_of_source("x = 1") != digest_of_source("x = 2")
    True
    """
    try:
        text = source.replace("\r\n", "\n").replace("\r", "\n")
        lines = [list(line) for line in text.split("\n")]
        for (first, begin), (last, end) in _silent_parts(text):
            for row in range(first - 1, last):
                start = begin if row == first - 1 else 0
                stop = end if row == last - 1 else len(lines[row])
                lines[row][start:stop] = " " * (stop - start)
    except (SyntaxError, tokenize.TokenError, AttributeError) as error:
        raise ValueError(f"source is no Python code: {error}") from None
    kept = [line for row in lines if (line := "".join(row).rstrip())]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:16]


def _silent_parts(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The comments and docstrings: line (from 1) and column (from 0) of their beginning and end."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        row, column = token.start
        begins = (row, len(token.line[:column].encode()))  # ast counts bytes, tokenize characters
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins in docstrings):
            yield token.start, token.end


def module_file(module: str, folders: Sequence[Path] = (ROOT,)) -> Path | None:
    """Return the file of a module by its dotted name, searched in ``folders``; ``None`` if it is in none.

    Raises ``ValueError`` for what is no dotted name.

    Example:

    >>> module_file("lib.experiments.digests").name, module_file("lib").name, module_file("numpy")
    ('digests.py', '__init__.py', None)
    """
    if not isinstance(module, str) or not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"module is {module!r}, allowed: a dotted name")
    for folder in folders:
        place = Path(folder).joinpath(*module.split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


def dependencies(module: str, folders: Sequence[Path] = (ROOT,)) -> dict[str, Path]:
    """Return all modules in ``folders`` that ``module`` depends on, itself first, with their files.

    The registry of experiments is left out, and what is imported only there.  Raises ``ValueError`` if the
    module is in none of the folders.

    Example:

    >>> list(dependencies("lib.checks"))
    ['lib.checks']
    """
    if module_file(module, folders) is None:
        raise ValueError(f"module {module!r} is in none of {', '.join(map(str, folders))}")
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = module_file(name, folders)
        if path is None or name in found or name == CARRIER:
            continue
        found[name] = path
        waiting += _imports(name, path, folders)
    return found


def _imports(module: str, path: Path, folders: Sequence[Path]) -> Iterator[str]:
    """The modules that a module imports; some may lie elsewhere."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            origin = above[: len(above) - node.level + 1] if node.level else []
            origin += [node.module] if node.module else []
            for alias in node.names:
                inner = ".".join([*origin, alias.name])
                is_module = alias.name != "*" and module_file(inner, folders) is not None
                yield inner if is_module else ".".join(origin)


def code_digests(module: str, folders: Sequence[Path] = (ROOT,)) -> dict[str, str]:
    """Return the digest of each module that ``module`` depends on, by name in alphabetical order.

    Raises ``ValueError`` if the module is in none of the folders.

    Example:

    >>> sorted(code_digests("lib.training.losses"))
    ['lib.training.losses']
    """
    found = dependencies(module, folders)
    return {name: digest_of_source(found[name].read_text(encoding="utf-8")) for name in sorted(found)}


def folders_of(module: str) -> tuple[Path, ...]:
    """Return the folder that an imported module's dotted name starts from, and the book's own.

    Raises ``ValueError`` for a module without a file, such as that of an interactive session.

    Example:

    >>> folders_of("lib.experiments.digests") == (ROOT,)
    True
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or module == "__main__":
        raise ValueError(f"module {module!r} has no file that others can import; put the function into one")
    path = Path(file).resolve()
    depth = len(module.split(".")) + (path.name == "__init__.py")
    return tuple(dict.fromkeys((path.parents[depth - 1], ROOT)))


@cache
def digests_at_first_use(module: str) -> dict[str, str]:
    """Return the digests of what an imported module depends on, as they were when this process first asked.

    A process goes on with the code that it has once imported, whatever becomes of the files.  Raises
    ``ValueError`` for a module without a file.

    Example:

    >>> import lib.training.losses
    >>> digests_at_first_use("lib.training.losses") == code_digests("lib.training.losses")
    True
    """
    return code_digests(module, folders_of(module))
