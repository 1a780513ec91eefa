"""No public name of lib or of the experiments is without a user: a chapter, page, benchmark or other code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import jupytext

from experiments.registry import EXPERIMENTS

ROOT = Path(__file__).parents[1]
PACKAGES = ("lib", "experiments")
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
        path.read_text(encoding="utf-8")
    )
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}


def definitions(module: str) -> dict[str, ast.stmt]:
    """The functions, classes and constants that a module defines."""
    found: dict[str, ast.stmt] = {}
    for node in MODULES[module].body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def imported(tree: ast.AST) -> dict[str, str]:
    """What the names of a file stand for, by their dotted names in lib and the experiments."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname}
    return found


def named(tree: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """The dotted names of the packages that code names, itself or as attributes of modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            if first in names:
                yield ".".join([names[first], *rest])


def code_of(page: Path) -> ast.Module:
    cells = jupytext.read(page, fmt="md:myst").cells
    return ast.parse("\n".join(cell.source for cell in cells if cell.cell_type == "code"))


def users() -> Iterator[str]:
    pages = [path for path in (ROOT / "book").rglob("*.md") if "_build" not in path.parts]
    scripts = [*(ROOT / "book" / "_site").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    yield from (place.replace(":", ".") for place in EXPERIMENTS.values())  # the command finds them
    outside = [*map(code_of, pages), *(ast.parse(path.read_text(encoding="utf-8")) for path in scripts)]
    for tree in outside:
        yield from named(tree, imported(tree))
    for module, tree in MODULES.items():
        own = definitions(module)
        names = {name: f"{module}.{name}" for name in own} | imported(tree)
        for node in tree.body:
            itself = {f"{module}.{name}" for name, defined in own.items() if defined is node}
            yield from set(named(node, names)) - itself


def test_every_public_name_has_a_user():
    used, packages = set(users()), {module.rpartition(".")[0] for module in MODULES}
    # What a package passes on may be used under its name.
    for package in packages & set(MODULES):
        used |= {full for name, full in imported(MODULES[package]).items() if f"{package}.{name}" in used}
    public = [f"{module}.{name}" for module in MODULES for name in definitions(module) if name[0] != "_"]
    alone = [full for full in public if full not in used]
    assert not alone, f"nothing outside the tests uses {', '.join(alone)}: they leave, or stand in a chapter"
