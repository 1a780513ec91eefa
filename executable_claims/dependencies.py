"""What the outcome of an executed page depends on besides its own cells: code, data, versions, the seed.

Nothing is imported to find out.  A page reaches what it imports, by name, and whatever the definition of a
name uses; a comment, a docstring or a function that it does not reach is no reason to execute it again.  What
a module does when it is imported, besides definitions, counts where anything of it is reached.

So the code of a book is a graph.  A node is a module and a name that it binds, or ``""`` for what the module
does besides; an edge leads from a definition to what it uses.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from executable_claims.configuration import Book
from executable_claims.ledger import read_ledger

ENGINE = __name__.partition(".")[0]
PLAIN = ("dataclass", "cache", "lru_cache", "wraps", "contextmanager")  # decorators that note nothing
MAGIC = re.compile(r"^[%!].*", re.M)
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
Node = tuple[str, str]


@dataclass(frozen=True)
class Module:
    """A module as text: for each name that it binds a digest of the code, and the dotted names used there.

    Under ``""`` stands what it does besides.  ``imports`` says of a name where it comes from: a module, and a
    name in it or nothing; ``runs`` are the modules that its import imports.
    """

    digests: Mapping[str, str]
    uses: Mapping[str, frozenset[tuple[str, ...]]]
    imports: Mapping[str, Node]
    runs: frozenset[str]
    texts: frozenset[str]


@dataclass(frozen=True)
class Reach:
    """What a piece of code reaches: names of modules of the book, and packages from elsewhere."""

    names: frozenset[Node]
    modules: Mapping[str, Module]
    outside: frozenset[str]
    texts: frozenset[str]


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Return the tree, changed in place, without its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree


def bindings(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds, or ``""`` if it does something else."""
    if isinstance(statement, DEFINITIONS):
        # A decorator of the module's own packages may note the definition somewhere.
        heads = [one.func if isinstance(one, ast.Call) else one for one in statement.decorator_list]
        plain = all(getattr(head, "id", getattr(head, "attr", "")) in PLAIN for head in heads)
        return [statement.name if plain else ""]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        named = [one for target in targets for one in getattr(target, "elts", [target])]
        return [one.id for one in named] if all(isinstance(one, ast.Name) for one in named) else [""]
    return [""]


def origins(tree: ast.AST, package: str) -> dict[str, Node]:
    """Where the imported names of a tree come from, those inside functions too."""
    found: dict[str, Node] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            found |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names}
    return found


def dotted(node: ast.AST) -> tuple[str, ...]:
    """The parts of ``a.b.c``; none of what is no name with attributes after it."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute) and (head := dotted(node.value)):
        return (*head, node.attr)
    return ()


def used(nodes: Iterable[ast.AST]) -> frozenset[tuple[str, ...]]:
    """The names that a piece of code uses, each with the attributes after it, and what it imports inside."""
    walked = [node for root in nodes for node in ast.walk(root)]
    inner = {id(node.value) for node in walked if isinstance(node, ast.Attribute)}
    found = {dotted(node) for node in walked if id(node) not in inner} - {()}
    inside = [alias for node in walked if isinstance(node, IMPORTS) for alias in node.names]
    return frozenset(found | {tuple((alias.asname or alias.name).split(".")) for alias in inside})


def texts_in(tree: ast.AST) -> frozenset[str]:
    """The texts of a tree: names of claims, experiments and records begin with the key of a paper."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(text for text in constants if isinstance(text, str))


def read_module(tree: ast.Module, package: str = "") -> Module:
    """Return what a tree binds, does and imports; ``package`` is what its relative imports start from."""
    bound: dict[str, list[ast.stmt]] = defaultdict(list, {"": []})
    runs: list[Node] = []
    for statement in tree.body:
        if isinstance(statement, IMPORTS):
            runs += origins(statement, package).values()
        else:
            for name in bindings(statement):
                bound[name].append(statement)
    return Module(
        {name: digest("\n".join(map(ast.dump, each))) for name, each in bound.items()},
        {name: used(each) for name, each in bound.items()},
        origins(tree, package),
        frozenset(name for module, inside in runs for name in (module, f"{module}.{inside}".rstrip("."))),
        texts_in(tree),
    )


@cache
def _parsed(path: Path, stamp: tuple[int, int], name: str) -> Module:
    """Parse a module; ``stamp`` is its time and size, so that an edited file is parsed again."""
    tree = without_docstrings(ast.parse(path.read_text(encoding="utf-8")))
    return read_module(tree, name if path.name == "__init__.py" else name.rpartition(".")[0])


def find_module(name: str, book: Book) -> Module | None:
    """Return the book's module of that dotted name, ``None`` for one from elsewhere."""
    for folder in book.modules:
        place = book.root.joinpath(folder, *name.split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                stat = path.stat()
                return _parsed(path, (stat.st_mtime_ns, stat.st_size), name)
    return None


@dataclass(frozen=True)
class Graph:
    """The code of a book; ``find`` looks a module up by its dotted name."""

    find: Callable[[str], Module | None]

    def ends(self, module: str, *path: str) -> Iterator[Node]:
        """Where a path of names leads to from a module: to a module in it, a name, or all of it."""
        yield module, ""
        if (found := self.find(module)) is None:
            return
        if not path:
            yield from ((module, name) for name in found.digests)
        elif path[0] in found.digests:
            yield module, path[0]
        elif self.find(f"{module}.{path[0]}"):
            yield from self.ends(f"{module}.{path[0]}", *path[1:])
        elif path[0] in found.imports:
            yield from self.ends(*filter(None, found.imports[path[0]]), *path[1:])

    def edges(self, node: Node) -> Iterator[Node]:
        """What a definition uses, and what the import of a module imports, its packages first."""
        module, name = node
        if (found := self.find(module)) is None:
            return
        yield module, ""
        if not name:
            yield from ((other, "") for other in (module.rpartition(".")[0], *found.runs) if other)
        for path in found.uses[name]:
            if path[0] in found.digests:
                yield module, path[0]
            yield from self.imported(found, path)

    def imported(self, module: Module, path: tuple[str, ...]) -> Iterator[Node]:
        """Where a path of names that stands in a module leads to in other modules."""
        for length in range(1, len(path) + 1):
            if origin := module.imports.get(".".join(path[:length])):
                yield from self.ends(*filter(None, origin), *path[length:])

    def closure(self, nodes: Iterable[Node]) -> frozenset[Node]:
        """All nodes that can be come to from these."""
        found, waiting = set(), [*nodes]
        while waiting:
            if (node := waiting.pop()) not in found:
                found.add(node)
                waiting += self.edges(node)
        return frozenset(found)


def reach(code: str, book: Book, whole: bool = False) -> Reach:
    """Return what the code of a page reaches in the book's modules.

    Of the modules that are loaded by name it reaches those that it names, or all if it is ``whole``.
    """
    page = read_module(ast.parse(MAGIC.sub("", code)))
    keys = tuple(f"{paper.key}-" for paper in read_ledger(book.folder("ledger")))
    texts = frozenset(text for text in page.texts if text.startswith(keys))
    graph = Graph(cache(lambda name: find_module(name, book)))
    named = [origin for origin in page.imports.values() if origin[1] or graph.find(origin[0]) is None]
    starts = {node for origin in named for node in graph.ends(*filter(None, origin))}
    starts |= {node for paths in page.uses.values() for path in paths for node in graph.imported(page, path)}
    nodes = graph.closure(starts)
    for path in sorted(book.root.glob(book.by_name)) if book.by_name else ():
        name = path.relative_to(book.root).with_suffix("").as_posix().replace("/", ".")
        loaded = graph.find(name) if (name.rpartition(".")[0], "") in nodes else None
        if loaded and (whole or loaded.texts & texts):
            nodes |= graph.closure(graph.ends(name))
    modules = {module: found for module, _ in nodes if (found := graph.find(module))}
    return Reach(
        frozenset(node for node in nodes if node[1]),
        modules,
        frozenset(module.partition(".")[0] for module, _ in nodes if module not in modules),
        texts,
    )


def concerns(path: Path, text: str) -> bool:
    """Whether a text begins the name of a file or of its folder, or names something in the file."""
    return path.stem.startswith(text) or path.parent.name.startswith(text) or text.startswith(f"{path.stem}-")


def data(code: str, found: Reach, book: Book, whole: bool = False) -> list[Path]:
    """The files that the modules reached by a page read for it: those it names, for a ``whole`` page all."""
    return [
        path
        for reader, patterns in book.data.items()
        for pattern in patterns
        for path in sorted(book.root.glob(pattern))
        if path.name in code
        or (reader in found.modules and (whole or any(concerns(path, text) for text in found.texts)))
    ]


def dependencies(page: Path, code: str, book: Book) -> dict[str, str]:
    """Return by name a digest of all that the outcome of a page depends on besides its own cells.

    A page that lies at the top of the book's pages, in no part, is taken to depend on the whole ledger.
    """
    whole = page.parent == book.folder("pages")
    found = reach(code, book, whole)
    texts = tuple(found.texts)
    claims = [claim for paper in read_ledger(book.folder("ledger")) for claim in paper.claims]
    files = [*data(code, found, book, whole), book.folder("lock")]
    nodes = sorted({*found.names, *((module, "") for module in found.modules)})
    return {
        "python": platform.python_version(),
        "seed": str(book.shift),
        **{f"{module} {name}": found.modules[module].digests[name] for module, name in nodes},
        **{claim.id: repr(claim) for claim in claims if whole or claim.id.startswith(texts)},
        **{path.relative_to(book.root).as_posix(): contents(path) for path in files},
    }


def key(page: Path, code: str, book: Book) -> str:
    """Return a digest of all that the outcome of a page depends on besides its own cells."""
    return digest(repr(dependencies(page, code, book)))[:16]


def contents(path: Path) -> str:
    """A digest of a file; of one that is not there it says so."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
