"""Prints the tests nearest to what was changed since the last commit.

Next to a module stand the tests that mirror it, next to a page its own cells, next to a ledger none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from executable_claims.configuration import Book, find_book


def changed(root: Path) -> list[Path]:
    """The files that differ from the last commit, and those that git does not know."""
    git = ["git", "-C", str(root)]
    listed = [[*git, "diff", "--name-only", "HEAD"], [*git, "ls-files", "--others", "--exclude-standard"]]
    lines = [
        subprocess.run(one, capture_output=True, text=True, check=True).stdout.splitlines() for one in listed
    ]
    return [Path(line) for each in lines for line in each]


def tests_of(path: Path, book: Book) -> list[Path]:
    """The tests nearest to a file, given and returned relative to the book's root."""
    if path.suffix == ".md" and path.is_relative_to(book.pages):
        return [path]
    if path.suffix != ".py":
        return []
    if path.name.startswith("test_"):
        return [path]
    name = f"test_{path.stem}.py"
    inner = Path(*path.parts[1:-1])
    return [
        path.parent / "tests" / name,
        Path("tests") / inner / name,
        Path("tests") / path.parent.name / name,
    ]


def main() -> None:
    """Print the tests, one a line."""
    book = find_book()
    near = {
        test for path in changed(book.root) for test in tests_of(path, book) if (book.root / test).is_file()
    }
    print(*sorted(near), sep="\n")


if __name__ == "__main__":
    main()
