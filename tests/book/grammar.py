"""What a machine can see of the grammar of a chapter's code (CONTRIBUTING.md, "Its code").

`breaches` says what breaks it, in words that name the place.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from nbformat import NotebookNode

from executable_claims.run.chapters import CHECK_TAG, tree_of

CELL, FUNCTION, VISIBLE = 30, 15, 0.25
EXPERIMENT = 40  # lines of a function of the small print; that it is typed, mypy sees
FOLDED = {"hide-input", "remove-cell", "remove-input", "hide-cell"}
DEFINED = ast.FunctionDef | ast.ClassDef
OF_A_CHECK = {"verify", "verify_recorded", "verify_all", "Variant", "Clause"}


def breaches(cells: list[NotebookNode]) -> Iterator[str]:
    """Say what in the cells of a chapter breaks the grammar; the first one, of imports, is left out."""
    trees = [tree_of(cell) for cell in cells]
    for number, (cell, tree) in enumerate(zip(cells, trees, strict=True), 1):
        if number > 1:
            yield from (f"cell {number}: {breach}" for breach in of_cell(cell, tree))
    names = Counter(name for tree in trees for name in set(bound(tree)))
    yield from (f"{name} stands for {count} things" for name, count in names.items() if count > 1)
    share = visible_share(cells[1:])
    # Where nothing is defined, the page shows which tables its cards are of.
    defines = any(isinstance(node, DEFINED) for tree in trees for node in tree.body)
    if share == 0 or (defines and share < VISIBLE):
        yield f"{share:.0%} of the code is visible, of {VISIBLE:.0%}"


def of_module(text: str) -> Iterator[str]:
    """Say what breaks the grammar in a module of the small print's experiments."""
    tree = ast.parse(text)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if (lines := length(function)) > EXPERIMENT:
            yield f"{function.name} has {lines} lines, of {EXPERIMENT}"
        # What stands within a function is read with it.
        if function in tree.body and not ast.get_docstring(function):
            yield f"{function.name} has no docstring"


def of_cell(cell: NotebookNode, tree: ast.Module) -> Iterator[str]:
    """Say what breaks the grammar within a cell."""
    if (lines := len(code(cell))) > CELL:
        yield f"{lines} lines, of {CELL}"
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if (lines := length(function)) > FUNCTION:
            yield f"{function.name} has {lines} lines, of {FUNCTION}"
    if checks(cell, tree):
        if others := sorted(set(called(tree)) - OF_A_CHECK):
            yield f"a check that calls {', '.join(others)}"
        yield from (f"a check that computes {ast.unparse(node)}" for node in computed(tree))
    yield from (f"{', '.join(lists)} are parallel lists" for lists in parallel(tree))


def checks(cell: NotebookNode, tree: ast.Module) -> bool:
    """Whether a cell decides claims."""
    return CHECK_TAG in cell.metadata.get("tags", []) and bool({"verify", "verify_all"} & set(called(tree)))


def code(cell: NotebookNode) -> list[str]:
    """The lines of a cell that are not empty; options of a figure are its caption, no code."""
    return [line for line in cell.source.splitlines() if line.strip()]


def length(function: ast.FunctionDef) -> int:
    """The lines of a function from its name on, without what documents it and those of functions in it."""
    inner = [
        node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function
    ]
    covered = {line for node in inner for line in range(node.lineno, node.end_lineno + 1)}
    if ast.get_docstring(function):
        covered |= set(range(function.body[0].lineno, function.body[0].end_lineno + 1))
    return len(set(range(function.lineno, function.end_lineno + 1)) - covered)


def called(tree: ast.AST) -> list[str]:
    """The last names of all that is called."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [getattr(call, "attr", None) or getattr(call, "id", "a value") for call in calls]


def computed(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what is computed, but for texts that are put together and numbers that are written out."""
    for node in ast.walk(tree):
        written = isinstance(node, ast.BinOp) and {type(node.left), type(node.right)} == {ast.Constant}
        if isinstance(node, ast.BinOp) and not (written or textual(node)):
            yield node
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.Compare | ast.Subscript):
            yield node


def textual(node: ast.expr) -> bool:
    """Whether an expression is a text."""
    if isinstance(node, ast.BinOp):
        return textual(node.left) or textual(node.right)
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def parallel(tree: ast.Module) -> Iterator[list[str]]:
    """Yield the lists that one loop makes longer together."""
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For)):
        longer = {
            ast.unparse(node.func.value)
            for node in ast.walk(loop)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("append", "extend")
        }
        longer |= {
            ast.unparse(node.target)
            for node in ast.walk(loop)
            if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List | ast.ListComp)
        }
        if len(longer) > 1:
            yield sorted(longer)


def bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a cell gives to things; those of a figure's canvas belong to every figure."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else []
        names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        yield from (name for name in names if not drawn(node))


def drawn(node: ast.Assign) -> bool:
    """Whether a statement makes the canvas of a figure."""
    return bool({"panels", "subplots", "single"} & set(called(node)))


def visible_share(cells: list[NotebookNode]) -> float:
    """The part of the lines of code that a page shows unfolded."""
    lines = [(len(code(cell)), not FOLDED & set(cell.metadata.get("tags", []))) for cell in cells]
    return sum(count for count, shown in lines if shown) / max(1, sum(count for count, _ in lines))
