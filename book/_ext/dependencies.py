"""What the outcome of an executed page depends on besides its own cells: modules, data, versions, the seed.

Nothing is imported to find out: imports are read in the source, also those inside functions.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABEL = re.compile(r"[a-z]+\d{4}-")  # how the names of a paper's claims, experiments and records begin
READERS = {  # the folder and the files of data, and the module that reads them
    ("book/claims", "*.yml"): "lib.claims.ledger",
    ("book/paper_values", "*.yml"): "paper_values",
    ("results/records", "**/*.json"): "lib.experiments.records",
    ("results", "drift.jsonl"): "drift",
    ("results", "benchmarks.json"): "",  # a page reads it by itself
}


@cache
def names_in(source: str, package: str = "") -> tuple[frozenset[str], frozenset[str]]:
    """The dotted names that Python code imports, and its texts that begin with a paper's key and a dash."""
    imports, texts = set(), set()
    for node in ast.walk(ast.parse(re.sub(r"^[%!].*", "", source, flags=re.M))):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            imports |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and LABEL.match(node.value):
            texts.add(node.value)
    return frozenset(imports), frozenset(texts)


def files_of(name: str, root: Path) -> Iterator[tuple[str, Path]]:
    """The modules that the import of a dotted name runs, packages first; none if it lies outside the book."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        for folder in (root, root / "book" / "_ext"):
            place = folder.joinpath(*parts[:length])
            found = [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
            yield from ((".".join(parts[:length]), path) for path in found[:1])


def modules(code: str, root: Path = ROOT) -> tuple[dict[str, Path], set[str]]:
    """Return the book's modules that ``code`` imports, directly or not, and the packages from elsewhere."""
    inside: dict[str, Path] = {}
    outside: set[str] = set()
    waiting = list(names_in(code)[0])
    while waiting:
        name = waiting.pop()
        files = dict(files_of(name, root))
        if not files:
            outside.add(name.partition(".")[0])
        for module, path in files.items():
            if module not in inside:
                inside[module] = path
                package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                waiting += names_in(path.read_text(encoding="utf-8"), package)[0]
    return inside, outside


def in_a_part(page: Path) -> bool:
    """Whether the page, relative to the book's root, is a chapter of a part, not a page on all papers."""
    return len(page.parts) > 2


def with_experiments(page: Path, code: str, root: Path = ROOT) -> str:
    """The code of a page, and imports of the experiments that it runs: those that a chapter names, or all."""
    imports, named = names_in(code)
    if not any(name.startswith("lib.experiments") for name in imports):
        return code
    run = [
        f"import lib.experiments.{path.stem}"
        for path in sorted((root / "lib" / "experiments").glob("[a-z]*.py"))
        if not in_a_part(page) or named & names_in(path.read_text(encoding="utf-8"))[1]
    ]
    return "\n".join([code, *run])


def data(page: Path, code: str, used: Collection[str], root: Path = ROOT) -> list[Path]:
    """The data that the modules ``used`` by a page read for it: in a chapter those files that it names."""
    named = names_in(code)[1]

    def shown(path: Path, folder: Path) -> bool:
        label = path.relative_to(folder).as_posix()
        return any(label.startswith(text) or text.startswith(f"{path.stem}-") for text in named)

    return [
        path
        for (folder, pattern), reader in READERS.items()
        for path in (root / folder).glob(pattern)
        if (reader in used and (not in_a_part(page) or shown(path, root / folder))) or path.name in code
    ]


def files(page: Path, code: str, root: Path = ROOT) -> list[Path]:
    """Return the files that decide what the ``code`` of a page computes; ``page`` is relative to ``root``."""
    used, _ = modules(with_experiments(page, code, root), root)
    return sorted({*used.values(), *data(page, code, used, root), root / "constraints.txt"})


def key(page: Path, code: str, root: Path = ROOT) -> str:
    """Return a digest of all that the outcome of a page depends on besides its own cells."""
    digest = hashlib.sha256(f"{platform.python_version()} {os.environ.get('BOOK_SEED', '0')}".encode())
    for path in files(page, code, root):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]
