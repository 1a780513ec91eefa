"""What the outcome of an executed page depends on besides its own cells: code, data, versions, the seed.

Nothing is imported to find out.  A page reaches the modules that it imports, and what these import; of each
it reaches the definitions whose names occur, as names or as texts, in code that is reached.  A comment, a
docstring or a function that nobody names is no reason to execute it again.  What a module does when it is
imported, besides definitions, counts wherever it is reached; so does a class with a base, which may note it.
"""

from __future__ import annotations

import ast
import hashlib
import platform
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import metadata
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path

from executable_claims.claims.configuration import Book
from executable_claims.claims.ledger import read_ledger
from executable_claims.run.chapters import code_cells, trees

ENGINE = __name__.partition(".")[0]
PLAIN = ("dataclass", "cache", "lru_cache", "wraps", "contextmanager")  # decorators that note nothing
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Piece:
    """A definition: its code, the names and the texts that occur in it, and what it imports."""

    code: Sequence[ast.AST]
    words: frozenset[str]
    texts: frozenset[str]
    imports: frozenset[str]

    @cached_property
    def digest(self) -> str:
        """A digest of the code."""
        return digest("\n".join(map(ast.dump, self.code)))


Module = Mapping[str, Piece]  # its definitions by their names, and under "" what it does besides


@dataclass(frozen=True)
class Reach:
    """What a piece of code reaches: names of modules of the book, and packages from elsewhere."""

    names: frozenset[tuple[str, str]]
    modules: Mapping[str, Module]
    outside: frozenset[str]
    texts: frozenset[str]

    @property
    def digests(self) -> dict[str, str]:
        """By name a digest of each definition that is reached, and of what else the modules do."""
        nodes = sorted({*self.names, *((module, "") for module in self.modules)})
        return {f"{module} {name}": self.modules[module][name].digest for module, name in nodes}


def code_of(text: str) -> ast.Module:
    """Return what a module says besides comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree


def bindings(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds, or ``""`` if it does something else."""
    if isinstance(statement, IMPORTS):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, DEFINITIONS):
        return [statement.name if is_noted_nowhere(statement) else ""]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        parts = [part for target in targets for part in getattr(target, "elts", [target])]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        return names if len(names) == len(parts) else [""]
    return [""]


def is_noted_nowhere(definition: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a definition does nothing when it is executed: a decorator or a base may note it somewhere."""
    decorators = [getattr(part, "func", part) for part in definition.decorator_list]
    plain = all(getattr(part, "id", getattr(part, "attr", "")) in PLAIN for part in decorators)
    bases = [*getattr(definition, "bases", ()), *getattr(definition, "keywords", ())]
    return plain and not bases and not definition.name.startswith("__")


def imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """The modules that a statement imports, with their packages; what it names may be one, too."""
    home = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    if isinstance(node, ast.ImportFrom) and node.level:
        home = resolve_name("." * node.level + home, package)
    for alias in node.names:
        yield from accumulate(f"{home}.{alias.name}".strip(".").split("."), "{}.{}".format)


def piece(statements: Sequence[ast.AST], package: str = "") -> Piece:
    """Return what statements are made of; ``package`` is what their relative imports start from."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    loads = [node for node in nodes if isinstance(node, IMPORTS)]
    words = {getattr(node, "id", getattr(node, "attr", "")) for node in nodes}
    # What is imported at the top of a module counts where it is used.
    words |= {alias.name for node in loads for alias in node.names if alias.asname or node not in statements}
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str)}
    words |= {text for text in texts if text.isidentifier()}
    imports = {name for node in loads for name in imported(node, package)}
    return Piece(statements, frozenset(words), frozenset(texts), frozenset(imports))


@cache
def _read(path: Path, _changed: int, package: str) -> Module:
    tree = code_of(path.read_text(encoding="utf-8"))
    bound: dict[str, list[ast.stmt]] = defaultdict(list, {"": []})
    for statement in tree.body:
        for name in bindings(statement):
            bound[name].append(statement)
    module = {name: piece(statements, package) for name, statements in bound.items()}
    runs = piece([statement for statement in tree.body if isinstance(statement, IMPORTS)], package).imports
    return module | {"": replace(module[""], imports=module[""].imports | runs)}


def homes(book: Book, beside: Path | None = None) -> list[Path]:
    """The folders that a book's modules are imported from; a page imports those ``beside`` it, too."""
    return [*(book.root / folder for folder in book.modules), *([beside] if beside else [])]


def find_file(name: str, book: Book, beside: Path | None = None) -> Path | None:
    """Return the file of the book's module of that dotted name, ``None`` for one from elsewhere."""
    places = [folder.joinpath(*name.split(".")) for folder in homes(book, beside)]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next(filter(Path.is_file, files), None)


def find_module(name: str, book: Book, beside: Path | None = None) -> Module | None:
    """Return the book's module of that dotted name, ``None`` for one from elsewhere."""
    if (file := find_file(name, book, beside)) is None:
        return None
    package = name if file.stem == "__init__" else name.rpartition(".")[0]
    return _read(file, file.stat().st_mtime_ns, package)


def is_foreign(statement: ast.Import | ast.ImportFrom, book: Book, page: Path) -> bool:
    """Whether a page imports nothing of the book by a statement."""
    return not any(find_module(name, book, page.parent) for name in imported(statement, ""))


def loaded_by_name(book: Book, texts: frozenset[str], whole: bool) -> dict[str, Module]:
    """The modules that are loaded by the names in them: those that hold one of the texts, or all."""
    paths = sorted(book.root.glob(book.by_name)) if book.by_name else ()
    names = (".".join(path.relative_to(book.root).with_suffix("").parts) for path in paths)
    known = {name: module for name in names if (module := find_module(name, book))}
    return {
        name: module
        for name, module in known.items()
        if whole or any(texts & piece.texts for piece in module.values())
    }


def is_whole(page: Path, book: Book) -> bool:
    """Whether a page, at the top and in no part, is about the whole ledger and all that is on record."""
    return page.parent == book.folder("pages")


def reach(path: Path, book: Book) -> Reach:
    """Return what the code of a page reaches in the book's modules.

    Of the modules that are loaded by name it reaches those that it names, or all if it is about the whole.
    """
    page = piece([ast.Module([statement for tree in trees(path) for statement in tree.body], [])])
    keys = tuple(f"{paper.key}-" for paper in read_ledger(book.folder("ledger")))
    texts = frozenset(text for text in page.texts if text.startswith(keys))
    by_name = loaded_by_name(book, texts, is_whole(path, book))
    return replace(follow(page, book, path.parent, by_name), texts=texts)


def follow(code: Piece, book: Book, beside: Path, by_name: Mapping[str, Module]) -> Reach:
    """Return what code in a folder reaches in the book's modules, some of which are loaded by their names."""
    own = {path.stem for folder in homes(book, beside) for path in folder.glob("*")}
    modules: dict[str, Module] = {}
    reached: dict[tuple[str, str], Piece] = {}
    imports, words, outside = set[str](), set[str](), set[str]()
    new = [code]
    while new:
        words = words.union(*(piece.words for piece in new))
        asked = set[str]().union(*(piece.imports for piece in new)) - imports
        imports |= asked
        for name in asked:
            top = name.partition(".")[0]
            if top in own and (module := find_module(name, book, beside)):
                modules[name] = module
            else:
                outside.add(top)
        modules |= {name: module for name, module in by_name.items() if name.rpartition(".")[0] in modules}
        before, reached = reached, pieces(modules, words, by_name)
        new = [piece for place, piece in reached.items() if place not in before]
    names = frozenset((module, name) for module, name in reached if name)
    return Reach(names, modules, frozenset(outside), frozenset())


def pieces(
    modules: Mapping[str, Module], words: Collection[str], whole: Collection[str]
) -> dict[tuple[str, str], Piece]:
    """Return the pieces of modules that words name, of whole ones all, and what modules do besides."""
    return {
        (module, name): piece
        for module, inside in modules.items()
        for name, piece in inside.items()
        if not name or name in words or module in whole
    }


def concerns(path: Path, text: str) -> bool:
    """Whether a text begins the name of a file or of its folder, or names something in the file."""
    return path.stem.startswith(text) or path.parent.name.startswith(text) or text.startswith(f"{path.stem}-")


def data(page: Path, reached: Reach, book: Book) -> list[Path]:
    """The files that the modules reached by a page read for it: those it names, or all for the whole."""
    code, whole = page.read_text(encoding="utf-8"), is_whole(page, book)
    return [
        path
        for reader, patterns in book.data.items()
        for pattern in patterns
        for path in sorted(book.root.glob(pattern))
        if path.name in code
        or (reader in reached.modules and (whole or any(concerns(path, text) for text in reached.texts)))
    ]


def content(path: Path) -> str | bytes:
    """What is read of a file: all of it, or of a page its code."""
    return "\n".join(cell.source for cell in code_cells(path)) if path.suffix == ".md" else path.read_bytes()


distributions = cache(metadata.packages_distributions)
version = cache(metadata.version)


def dependencies(page: Path, book: Book) -> dict[str, str]:
    """Return by name a digest of all that the outcome of a page depends on besides its own cells."""
    reached, whole = reach(page, book), is_whole(page, book)
    texts = tuple(reached.texts)
    claims = [claim for paper in read_ledger(book.folder("ledger")) for claim in paper.claims]
    files = [*data(page, reached, book), *book.root.glob(book.lock)]
    packages = sorted({name for module in reached.outside for name in distributions().get(module, ())})
    return {
        "python": platform.python_version(),
        "seed": str(book.shift),
        **{f"package {name}": version(name) for name in packages},
        **reached.digests,
        **{claim.id: repr(claim) for claim in claims if whole or claim.id.startswith(texts)},
        **{path.relative_to(book.root).as_posix(): digest(content(path)) for path in files},
    }


def key(page: Path, book: Book) -> str:
    """Return a digest of all that the outcome of a page depends on besides its own cells."""
    return digest(repr(dependencies(page, book)))[:16]


def digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
