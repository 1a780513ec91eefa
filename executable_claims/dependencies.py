"""What the outcome of an executed page depends on besides its own cells: code, data, versions, the seed.

Nothing is imported to find out.  A page reaches what it imports, by name, and whatever the definition of a
name uses; a comment, a docstring or a function that it does not reach is no reason to execute it again.  What
a module does when it is imported, besides definitions, counts where anything of it is reached.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from executable_claims.configuration import Book
from executable_claims.ledger import read_ledger

PLAIN = ("dataclass", "cache", "lru_cache", "wraps", "contextmanager")  # decorators that note nothing
MAGIC = re.compile(r"^[%!].*", re.M)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """A module as text: for each name that it binds a digest of the code, and the dotted names used there.

    ``done`` is what the module does besides, under the same two heads.  ``imports`` says of a name where it
    comes from: a module, and a name in it or nothing; ``runs`` are the modules that its import imports.
    """

    name: str
    digests: Mapping[str, str]
    uses: Mapping[str, frozenset[tuple[str, ...]]]
    done: str
    done_uses: frozenset[tuple[str, ...]]
    imports: Mapping[str, tuple[str, str]]
    runs: frozenset[str]
    texts: frozenset[str]


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Return the tree, changed in place, without its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree


def bindings(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds, if that is all that it does."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not registering(
        statement
    ):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        named = [one for target in targets for one in getattr(target, "elts", [target])]
        return [one.id for one in named] if all(isinstance(one, ast.Name) for one in named) else []
    return []


def registering(definition: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator of the module's own packages may note the definition somewhere."""
    heads = [one.func if isinstance(one, ast.Call) else one for one in definition.decorator_list]
    return any(getattr(head, "id", getattr(head, "attr", "")) not in PLAIN for head in heads)


def origins(tree: ast.AST, package: str) -> dict[str, tuple[str, str]]:
    """Where the imported names of a tree come from, those inside functions too."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name] = (alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            found |= {alias.asname or alias.name: (origin, alias.name) for alias in node.names}
    return found


def used(nodes: Iterable[ast.AST]) -> frozenset[tuple[str, ...]]:
    """The names that a piece of code uses, with the attributes after them: ``a.b.c`` as a tuple."""
    walked = [node for root in nodes for node in ast.walk(root)]
    inner = {id(node.value) for node in walked if isinstance(node, ast.Attribute)}
    found = set()
    for node in walked:
        if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner:
            parts: list[str] = []
            while isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            if isinstance(node, ast.Name):
                found.add((node.id, *reversed(parts)))
        elif isinstance(node, ast.Import | ast.ImportFrom):  # inside a function
            found |= {tuple((alias.asname or alias.name).split(".")) for alias in node.names}
    return frozenset(found)


def digest_of(statements: Iterable[ast.stmt]) -> str:
    return hashlib.sha256("\n".join(map(ast.dump, statements)).encode()).hexdigest()


@cache
def _parsed(path: Path, stamp: tuple[int, int], name: str) -> Module:
    """Parse a module; ``stamp`` is its time and size, so that an edited file is parsed again."""
    tree = without_docstrings(ast.parse(path.read_text(encoding="utf-8")))
    bound: dict[str, list[ast.stmt]] = defaultdict(list)
    done = []
    for statement in tree.body:
        names = bindings(statement)
        for one in names:
            bound[one].append(statement)
        if not names and not isinstance(statement, ast.Import | ast.ImportFrom):
            done.append(statement)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return Module(
        name,
        {one: digest_of(statements) for one, statements in bound.items()},
        {one: used(statements) for one, statements in bound.items()},
        digest_of(done),
        used(done),
        origins(tree, package),
        frozenset(
            origin
            for statement in tree.body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for module, inside in origins(statement, package).values()
            for origin in (module, f"{module}.{inside}".rstrip("."))
        ),
        frozenset(texts_in(tree)),
    )


def find_module(name: str, book: Book) -> Module | None:
    """Return the book's module of that dotted name, ``None`` for one from elsewhere."""
    for folder in book.modules:
        place = book.root.joinpath(folder, *name.split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                stat = path.stat()
                return _parsed(path, (stat.st_mtime_ns, stat.st_size), name)
    return None


@dataclass
class Reach:
    """What a piece of code reaches: names of modules of the book, and packages from elsewhere."""

    book: Book
    texts: frozenset[str]
    names: set[tuple[str, str]] = field(default_factory=set)
    modules: dict[str, Module] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    known: dict[str, Module | None] = field(default_factory=dict)

    def find(self, name: str) -> Module | None:
        """Return the module of that name, looked for once."""
        if name not in self.known:
            self.known[name] = find_module(name, self.book)
        return self.known[name]

    def follow(
        self,
        uses: Iterable[tuple[str, ...]],
        imports: Mapping[str, tuple[str, str]],
        home: Module | None = None,
    ) -> None:
        """Add what the names lead to, where ``home`` is the module that they stand in."""
        for path in uses:
            if home is not None:
                self.take(home, path[0])
            for length in range(1, len(path) + 1):
                if origin := imports.get(".".join(path[:length])):
                    self.add(*filter(None, origin), *path[length:])

    def add(self, module: str, *path: str) -> None:
        """Add what a path of names leads to from a module: a module in it, a name, or all of it."""
        found = self.find(module)
        if found is None:
            self.outside.add(module.partition(".")[0])
            return
        self.enter(module, found)
        if not path:
            for name in found.digests:
                self.take(found, name)
        elif path[0] in found.digests:
            self.take(found, path[0])
        elif self.find(f"{module}.{path[0]}"):
            self.add(f"{module}.{path[0]}", *path[1:])
        elif path[0] in found.imports:
            self.add(*filter(None, found.imports[path[0]]), *path[1:])

    def enter(self, name: str, module: Module) -> None:
        """Add what importing a module does, its packages first."""
        if name in self.modules:
            return
        package = name.rpartition(".")[0]
        if package and (found := self.find(package)):
            self.enter(package, found)
        self.modules[name] = module
        self.follow(module.done_uses, module.imports, module)
        for other in module.runs:
            if found := self.find(other):
                self.enter(other, found)
            else:
                self.outside.add(other.partition(".")[0])

    def take(self, module: Module, name: str) -> None:
        """Add one name of a module and what its definition uses."""
        if name in module.digests and (module.name, name) not in self.names:
            self.names.add((module.name, name))
            self.follow(module.uses[name], module.imports, module)


def reach(code: str, book: Book, whole: bool = False) -> Reach:
    """Return what the code of a page reaches in the book's modules.

    Of the modules that are loaded by name it reaches those that it names, or all if it is ``whole``.
    """
    tree = ast.parse(MAGIC.sub("", code))
    keys = tuple(f"{paper.key}-" for paper in read_ledger(book.folder("ledger")))
    texts = frozenset(text for text in texts_in(tree) if text.startswith(keys))
    found, imports = Reach(book, texts), origins(tree, "")
    for module, inside in imports.values():
        if inside or found.find(module) is None:
            found.add(*filter(None, (module, inside)))
    found.follow(
        used([one for one in tree.body if not isinstance(one, ast.Import | ast.ImportFrom)]), imports
    )
    for path in sorted(book.root.glob(book.by_name)) if book.by_name else ():
        name = path.relative_to(book.root).with_suffix("").as_posix().replace("/", ".")
        loaded = found.find(name) if name.rpartition(".")[0] in found.modules else None
        if loaded and (whole or loaded.texts & found.texts):
            found.add(name)
    return found


def texts_in(tree: ast.AST) -> set[str]:
    """The texts of a tree: names of claims, experiments and records begin with the key of a paper."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in constants if isinstance(text, str)}


def concerns(path: Path, text: str) -> bool:
    """Whether a text begins the name of a file or of its folder, or names something in the file."""
    return path.stem.startswith(text) or path.parent.name.startswith(text) or text.startswith(f"{path.stem}-")


def data(code: str, found: Reach, whole: bool = False) -> list[Path]:
    """The files that the modules reached by a page read for it: those it names, for a ``whole`` page all."""
    return [
        path
        for reader, patterns in found.book.data.items()
        for pattern in patterns
        for path in sorted(found.book.root.glob(pattern))
        if path.name in code
        or (reader in found.modules and (whole or any(concerns(path, text) for text in found.texts)))
    ]


def key(page: Path, code: str, book: Book) -> str:
    """Return a digest of all that the outcome of a page depends on besides its own cells.

    A page that lies at the top of the book's pages, in no part, is taken to depend on the whole ledger.
    """
    whole = page.parent == book.folder("pages")
    found = reach(code, book, whole)
    texts = tuple(found.texts)
    claims = [claim for paper in read_ledger(book.folder("ledger")) for claim in paper.claims]
    files = [*data(code, found, whole), book.folder("lock")]
    parts = [
        f"{platform.python_version()} {book.shift}",
        *(f"{module} {name} {found.modules[module].digests[name]}" for module, name in sorted(found.names)),
        *(f"{name} {module.done}" for name, module in sorted(found.modules.items())),
        *(repr(claim) for claim in claims if whole or claim.id.startswith(texts)),
        *(f"{path.relative_to(book.root).as_posix()} {contents(path)}" for path in files),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def contents(path: Path) -> str:
    """A digest of a file; of one that is not there it says so."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
