"""A Chromium to open the site in; ``python -m tests.site.browser`` gets one where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OWN = ("-m", "playwright", "install", "--no-shell", "chromium")
MISSING = "there is no Chromium; to have one: .venv/bin/python -m playwright install chromium"


def find_browser() -> str | None:
    """Return the path of a Chromium, the system's or else Playwright's own; ``None`` if there is none."""
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return next(filter(None, map(shutil.which, (*NAMES, own))), None)


def get_browser() -> str | None:
    """Install a Chromium, Debian's where we may, else Playwright's own; return its path, or ``None``."""
    commands = [[sys.executable, *OWN]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        apt = ["apt-get", "install", "-qq", "--no-install-recommends", "chromium"]
        commands = [["apt-get", "update", "-qq"], apt, [*commands[0], "--with-deps"]]
    for command in commands:
        print("No Chromium yet:", *command, flush=True)
        subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False)
        if path := find_browser():
            return path
    return None


if __name__ == "__main__":
    path = find_browser() or get_browser()
    print(f"The site is opened in {path}." if path else f"The tests of the site are left out: {MISSING}.")
