"""``python -m executable_claims init FOLDER``: a book of one chapter, which passes its tests and builds."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
NEXT = """A book of executable claims is in {folder}.

  cd {folder}
  pytest                             # run the chapter, compare its verdicts with what is recorded
  pytest --record book               # record them anew, after a change
  jupyter-book build . -W            # the site, in _build/html (pip install 'jupyter-book<2')

Its chapter is book/first_part/chapter.md, its ledger book/claims/paper2024.yml: make them yours."""


def init(folder: Path) -> str:
    """Write a book into a folder, which must be empty or new, and return what to do next.

    Raises ``ValueError`` for a folder that holds something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"folder is {str(folder)!r}, which is not empty, allowed: a new or an empty one")
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(TEMPLATES, folder, dirs_exist_ok=True, ignore=ignored)
    (folder / "gitignore").rename(folder / ".gitignore")
    return NEXT.format(folder=folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Begin a book."""
    parser = ArgumentParser(prog="executable_claims", description="Claims that cells decide.")
    commands = parser.add_subparsers(required=True)
    beginning = commands.add_parser("init", help="write a book of one chapter, which passes and builds")
    beginning.add_argument("folder", type=Path, help="a new or an empty folder")
    try:
        print(init(parser.parse_args(arguments).folder))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
