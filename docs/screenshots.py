"""Pictures for the documentation: starts the demo in a scratch home, waits until it is loaded, looks at it, ends everything.

uv run python docs/screenshots.py                                            # needs chromium; as long as the demo takes to load
uv run python docs/screenshots.py --home .dwh --ui http://127.0.0.1:3000     # of a demo that runs already
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, ViewportSize, sync_playwright
from rich.console import Console
from rich.text import Text

from dwh_assets.config.machine import free_port

REPOSITORY = Path(__file__).parents[1]
IMAGES = Path(__file__).parent / "images"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
WIDTH, HEIGHT = 1400, 900
LARGE: ViewportSize = {"width": 1800, "height": 1400}  # room for a graph
LARGEST = 300_000  # bytes of a picture: pages must not become slow to open
START_SECONDS, LOAD_SECONDS, END_SECONDS = 240.0, 2400.0, 150.0
DAY = 86_400
TERMINALS = {"status": (("status",), 165), "why": (("why", "mart.customer_value"), 110)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--home", type=Path, help="home of a demo that runs already")
    arguments.add_argument("--ui", help="address of its Dagster")
    given = arguments.parse_args()
    if (given.home is None) != (given.ui is None):
        arguments.error("--home and --ui go together")
    if given.home is not None:
        take_all(given.home.absolute(), given.ui)
        return
    with demo() as (home, ui):
        take_all(home, ui)


def take_all(home: Path, ui: str) -> None:
    until(lambda: loaded(home), "the demo is loaded", LOAD_SECONDS)
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(60_000)
        make_room(page, ui)
        for name, show in PAGES.items():
            page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            show(page, ui)
            save(page, name)
        browser.close()
    for name, (words, width) in TERMINALS.items():
        terminal(home, name, words, width)


@contextmanager
def demo() -> Iterator[tuple[Path, str]]:
    """`dwh up` in a home of its own, on ports of its own; its processes and its files are gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="dwh-pictures-"))
    home.chmod(0o755)  # Postgres runs as a user of its own where this one is root
    port = free_port()
    own = {"DWH_UI_PORT": str(port), "DWH_METRICS_PORT": "0"}
    with (home / "up.txt").open("w") as output:
        process = subprocess.Popen(dwh(home, "up"), cwd=REPOSITORY, env=os.environ | own, stdout=output, stderr=output)
    try:
        until(lambda: started(process, home), "the demo has started", START_SECONDS)
        yield home, f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(END_SECONDS)
        finally:
            process.kill()
            subprocess.run(dwh(home, "down"), cwd=REPOSITORY, check=True)
            shutil.rmtree(home)


def dwh(home: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "dwh_assets.cli", "--home", str(home), "--project", str(REPOSITORY), *words]


def started(process: subprocess.Popen[bytes], home: Path) -> bool:
    told = (home / "up.txt").read_text()
    if process.poll() is not None:
        raise SystemExit(f"`dwh up` has ended with {process.returncode}:\n{told}")
    return re.search(r"Dagster +http", told) is not None


def loaded(home: Path) -> bool:
    """Every table has come to the last day, and the broken refund file is parked."""
    asked = subprocess.run(dwh(home, "status", "--json"), cwd=REPOSITORY, check=True, capture_output=True, text=True)
    topics: list[dict[str, Any]] = json.loads(asked.stdout)
    behind = [topic for topic in topics if not topic["parked"] and (topic["lag_seconds"] is None or topic["lag_seconds"] > DAY)]
    return bool(topics) and not behind and any(topic["parked"] for topic in topics)


def until(holds: Callable[[], bool], what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds:.0f} s, and it is still not so that {what}")
        time.sleep(1)


def make_room(page: Page, ui: str) -> None:
    """The browser remembers that its navigation was hidden."""
    page.goto(f"{ui}/overview")
    page.get_by_text("Hide navigation").first.click()


def graph(page: Page, ui: str) -> None:
    """A table and everything that it is built from, so near that each box says what is loaded and what its checks found."""
    page.set_viewport_size(LARGE)
    page.goto(f"{ui}/assets/mart/customer_value?view=lineage&lineageScope=upstream&lineageDepth=5")
    page.get_by_text("customer_changes").first.wait_for()
    until(lambda: near(page), "the boxes say more than their names", 60)


def near(page: Page) -> bool:
    """From afar Dagster draws names only."""
    if page.get_by_text("Checks").count() > 1:  # the first is the tab
        return True
    page.get_by_label("zoom_in").click()
    return False


def blocks(page: Page, ui: str) -> None:
    """The blocks of a table as partitions, one of them with its numbers."""
    page.goto(f"{ui}/assets/fact/page_views?view=partitions")
    page.get_by_text(re.compile(r"\d{8}-\d{6}")).first.click()
    page.get_by_role("cell", name="base_rows").first.wait_for()


def check(page: Page, ui: str) -> None:
    """Why the refund file was parked."""
    page.goto(f"{ui}/assets/quality/refunds?view=checks")
    page.get_by_text("not_null_order_id").first.click()
    page.get_by_text(re.compile(r"[1-9]\d* of \d+ rows have no order_id")).first.wait_for()


def sensor(page: Page, ui: str) -> None:
    """What a tick of a sensor says of each table that waits."""
    page.goto(f"{ui}/locations/__repository__@dwh/sensors/load_mart")
    ticks = page.get_by_role("button", name="0 runs requested").or_(page.get_by_role("link", name="0 runs requested"))
    ticks.first.wait_for()
    until(lambda: _opened(page, ticks), "a tick tells of a table that waits", 180)


def _opened(page: Page, ticks: Locator) -> bool:
    """The newest ticks, one by one, until one says more than that a run is under way."""
    for number in range(min(ticks.count(), 10)):
        ticks.nth(number).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Skip reason").first.wait_for()
        if re.search("WAIT_|REPEAT|BACKOFF", dialog.inner_text()):
            return True
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
    return False


PAGES: dict[str, Callable[[Page, str], None]] = {
    "graph": graph,
    "blocks": blocks,
    "check": check,
    "sensor": sensor,
}


def save(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    file = IMAGES / f"{name}.png"
    page.screenshot(path=file, animations="disabled")
    size = file.stat().st_size
    sys.stdout.write(f"{file.relative_to(REPOSITORY)}: {size} bytes\n")
    if size > LARGEST:
        raise SystemExit(f"{file} has {size} bytes, more than {LARGEST}")


def terminal(home: Path, name: str, words: tuple[str, ...], width: int) -> None:
    """What a command prints, as an SVG that loads nothing from anywhere."""
    colours = {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    asked = subprocess.run(
        dwh(home, *words), cwd=REPOSITORY, env=os.environ | colours, check=True, capture_output=True, text=True
    )
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(asked.stdout.rstrip()), soft_wrap=True)
    svg = console.export_svg(title=" ".join(("dwh", *words)), unique_id=f"dwh-{name}")
    file = IMAGES / f"{name}.svg"
    file.write_text(re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL), encoding="utf-8")
    sys.stdout.write(f"{file.relative_to(REPOSITORY)}: {file.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
