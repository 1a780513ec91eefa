"""Prints the tests nearest to what was changed since the last commit.

Next to a module stand the tests that mirror it, next to a page its own cells, next to a ledger none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from executable_claims.configuration import Book, find_book


def changed(root: Path) -> list[Path]:
    """The files that differ from the last commit, and those that git does not know."""
    status = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    lines = subprocess.run(status, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(line[3:]) for line in lines]


def tests_of(path: Path, book: Book) -> list[Path]:
    """The tests nearest to a file, given and returned relative to the book's root."""
    if path.name.startswith("test_") or (path.suffix == ".md" and path.is_relative_to(book.pages)):
        return [path]
    if path.suffix != ".py":
        return []
    name = f"test_{path.stem}.py"
    inner = Path("tests", *path.parts[1:-1])
    return [path.parent / "tests" / name, inner / name, Path("tests", path.parent.name, name)]


def main() -> None:
    """Print the tests, one a line."""
    book = find_book()
    near = {test for path in changed(book.root) for test in tests_of(path, book)}
    print(*sorted(test for test in near if (book.root / test).is_file()), sep="\n")


if __name__ == "__main__":
    main()
