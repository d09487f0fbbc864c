"""Dagster as people meet it: the real processes, a real browser, real clicks, and what they survive."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from dagster import AssetKey, DagsterRunStatus
from playwright.sync_api import Locator, Page, sync_playwright

from dwh_assets.orchestration.names import module_key, table_keys
from dwh_assets.warehouse.server import SparkServer
from tests.engine.project import rows
from tests.faults.nursery import eventually
from tests.orchestration import shop
from tests.orchestration.stack import Stack, listening, opened_project, read_only, running_stack

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
FIRST = "20260301-000001"
GRAPH = "{ assetNodes { assetKey { path } dependencyKeys { path } } }"
PLACE = 'repositoryLocationName: "dwh", repositoryName: "__repository__"'
MUTATIONS = {  # what the pages of a table, a run, a sensor and a code location can do
    "terminateRun": '(runId: "none")',
    "deletePipelineRun": '(runId: "none")',
    "reloadRepositoryLocation": '(repositoryLocationName: "dwh")',
    "startSensor": f'(sensorSelector: {{ {PLACE}, sensorName: "load_hand" }})',
    "addDynamicPartition": f"""(repositorySelector: {{ {PLACE} }}, partitionsDefName: "hand.days", partitionKey: "{FIRST}x")""",
    "wipeAssets": '(assetPartitionRanges: [{ assetKey: { path: ["hand", "days"] } }])',
    "reportRunlessAssetEvents": """(eventParams:
        { eventType: ASSET_MATERIALIZATION, assetKey: { path: ["hand", "days"] } })""",
}
SUCCESS, FAILURE, CANCELED = DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED


@pytest.fixture(scope="module")
def stack(module_url: str, spark_server: SparkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """All processes, once; the sensor of the area `hand` is off, so that nothing races with the person who clicks."""
    folder = tmp_path_factory.mktemp("stack")
    with listening() as web, opened_project(folder, module_url, spark_server.start()) as project:
        shop.build(project)
        with running_stack(project, web) as stack:
            stack.stop_sensor("load_hand")
            shop.fill_for_people(project)
            yield stack


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser.new_page(viewport={"width": 1500, "height": 950})
        browser.close()


@pytest.fixture
def page(tab: Page, stack: Stack) -> Page:
    """The graph of all assets, freshly opened."""
    tab.set_default_timeout(30_000)
    tab.set_viewport_size({"width": 1500, "height": 950})
    tab.goto(f"{stack.url}/asset-groups")
    return tab


def seen(found: Locator, what: str, seconds: float = 60) -> None:
    """Wait until the page shows it."""
    found.first.wait_for(timeout=seconds * 1000)
    assert found.first.is_visible(), what


def until(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    eventually(lambda: holds() or None, what, seconds)


def loaded(stack: Stack, table: str, count: int, seconds: float = 60) -> None:
    """Readers see exactly the rows 0 to `count`."""
    exact = [(n, f"k{n % 3}", n) for n in range(count)]
    until(lambda: len(stack.project.rows(table)) >= count, f"{count} rows of {table}", seconds)
    assert stack.project.rows(table) == exact


def test_the_graph_shows_every_table_and_every_edge_of_the_lineage(stack: Stack, page: Page) -> None:
    lineage = stack.project.engine.lineage.active()
    sources = {AssetKey(source.name.split(".")): set[AssetKey]() for source in lineage.sources}
    built = {module_key(m): {key for table in m.inputs for key in table_keys(lineage, table)} for m in lineage.modules}
    nodes = stack.ask(GRAPH)["assetNodes"]
    assert {key(node["assetKey"]): {key(dep) for dep in node["dependencyKeys"]} for node in nodes} == sources | built
    assert built[AssetKey(["wide", "sums"])] == {
        AssetKey(["wide", "events", "web"]),
        AssetKey(["wide", "events", "shop"]),
        AssetKey(["wide", "parts"]),
        AssetKey(["src", "rates"]),
    }
    page.set_viewport_size({"width": 2000, "height": 4600})  # what is out of sight is not drawn
    seen(page.get_by_text("sources"), "the groups")
    page.mouse.click(1200, 4000)
    until(lambda: _expanded(page), "all groups expanded")
    wanted = Counter(key.path[-1] for key in sources | built)
    until(lambda: not wanted - _drawn(page), f"a node for every asset: {wanted - _drawn(page)} missing")


def key(found: dict[str, list[str]]) -> AssetKey:
    return AssetKey(found["path"])


def _expanded(page: Page) -> bool:
    if "expanded" not in page.url:
        page.keyboard.press("Alt+e")
    return "expanded" in page.url


def _drawn(page: Page) -> Counter[str]:
    names = page.locator("[data-tooltip]").evaluate_all("nodes => nodes.map(node => node.dataset.tooltip)")
    return Counter(names)


def choose(page: Page, stack: Stack, table: str, typed: str, chosen: str) -> None:
    """The dialog of a table, with the partitions chosen that are found by typing."""
    page.goto(f"{stack.url}/assets/{table.replace('.', '/')}?view=partitions")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_role("dialog").get_by_text("Select a partition or create one").click()
    page.keyboard.type(typed)
    page.get_by_role("menuitem", name=chosen).click()
    page.keyboard.press("Escape")


def test_a_planned_block_is_loaded_by_clicking(stack: Stack, page: Page) -> None:
    assert stack.plan("hand.clicked") == [FIRST]
    page.goto(f"{stack.url}/assets/hand/clicked?view=partitions")
    seen(page.get_by_text("Missing (1)"), "the block is planned")
    choose(page, stack, "hand.clicked", FIRST, FIRST)
    page.get_by_role("button", name="Launch 1 run").click()
    loaded(stack, "hand.clicked", 5)
    (run,) = stack.runs("hand.clicked")
    assert stack.ended(run.run_id) == SUCCESS
    page.goto(f"{stack.url}/assets/hand/clicked?view=partitions&partition={FIRST}")
    seen(page.get_by_text("Materialized (1)"), "the block is shown as loaded")
    seen(page.get_by_role("cell", name="base_rows"), "its numbers")
    assert page.get_by_text("Unsynced").count() == 0


def test_a_day_is_backfilled_by_typing_it_and_becomes_one_run_and_one_restatement(stack: Stack, page: Page) -> None:
    before = stack.project.rows("hand.days")
    assert stack.plan("hand.days") == [FIRST, "20260301-000002", "20260302-000003", "20260302-000004"]
    choose(page, stack, "hand.days", "20260301", "Select all (2)")
    seen(page.get_by_text("Backfills all partitions in a single run"), "one run for all")
    page.get_by_role("button", name="Launch backfill").click()
    seen(page.get_by_text("Created backfill"), "the backfill is taken")
    until(lambda: len(stack.runs("hand.days")) == 1, "the run of the backfill")  # its daemon looks every 30 s
    (run,) = stack.runs("hand.days")
    assert stack.ended(run.run_id) == SUCCESS, stack.log(run.run_id)
    assert stack.project.restatements("hand.days") == [(1, 2, "committed")]
    assert {FIRST, "20260301-000002"} <= stack.materialized("hand.days")
    assert stack.project.rows("hand.days") == before


def test_a_failing_check_is_on_the_page_and_its_alert_arrives_once(stack: Stack, page: Page) -> None:
    until(lambda: bool(_alerts(stack, "check_failed")), "the alert")
    page.goto(f"{stack.url}/assets/auto/bad?view=checks")
    page.get_by_text("expect_small").first.click()
    seen(page.get_by_text("3 of 5 rows meet 'v < 3', at least 100.00% is wanted"), "the reason")
    seen(page.get_by_text("Failed", exact=True), "the result")
    rounds = _rounds(stack)
    until(lambda: bool(_rounds(stack) - rounds), "another round of alerts")
    (alert,) = [alert for body in stack.web.bodies for alert in body["alerts"] if alert["topic"] == "auto.bad"]
    assert (alert["kind"], alert["severity"]) == ("check_failed", "error")
    assert stack.project.rows("auto.bad") == []


def _rounds(stack: Stack) -> set[str]:
    return {tick["id"] for tick in stack.sensor("watch")["ticks"] if tick["status"] in ("SKIPPED", "SUCCESS")}


def _alerts(stack: Stack, kind: str) -> list[dict[str, str]]:
    return [alert for body in stack.web.bodies for alert in body["alerts"] if alert["kind"] == kind]


def test_the_page_of_a_sensor_names_the_slow_dependency(stack: Stack, page: Page) -> None:
    wanted = re.compile(r"auto\.waits: WAIT_DEP, waits for src\.slow, complete up to 2026-03-01 00:00:02")
    until(lambda: any(wanted.search(tick["skipReason"] or "") for tick in stack.sensor("load_auto")["ticks"]), "the reason")
    page.goto(f"{stack.url}/locations/__repository__@dwh/sensors/load_auto")
    page.get_by_role("button", name="0 runs requested").or_(page.get_by_role("link", name="0 runs requested")).first.click()
    seen(page.get_by_role("dialog").get_by_text(wanted), "the reason")


def test_a_block_out_of_order_and_an_unknown_one_are_refused_with_the_reason(stack: Stack) -> None:
    *_, second, third, fourth = stack.plan("hand.order")
    run = stack.launch("hand.order", fourth)
    assert stack.ended(run) == FAILURE
    assert f"blocks are loaded in order, and {second} comes before or between those that were asked for" in stack.log(run)
    unknown = stack.launch("hand.order", "20260301-000099")
    assert stack.ended(unknown) == FAILURE
    assert "20260301-000099" in stack.log(unknown)
    assert len(stack.project.rows("hand.order")) == 5
    run = stack.launch("hand.order", second, fourth)
    assert stack.ended(run) == SUCCESS, stack.log(run)
    loaded(stack, "hand.order", 20)
    assert {second, third, fourth} <= stack.materialized("hand.order")


def test_two_people_who_launch_the_same_block_load_it_once(stack: Stack) -> None:
    assert stack.plan("hand.twice") == [FIRST]
    with ThreadPoolExecutor(2) as people:
        runs = list(people.map(lambda _: stack.launch("hand.twice", FIRST), range(2)))
    ends = [stack.ended(run) for run in runs]
    assert SUCCESS in ends, [stack.log(run) for run in runs]
    for run, end in zip(runs, ends, strict=True):
        assert end == SUCCESS or "hand.twice" in stack.log(run)
    loaded(stack, "hand.twice", 5)
    assert stack.materialized("hand.twice") == {FIRST}


def test_a_cancelled_run_ends_at_once_and_its_block_is_loaded_later(stack: Stack) -> None:
    assert stack.plan("hand.busy") == [FIRST]
    stack.gate.shut("busy")
    run = stack.launch("hand.busy", FIRST)
    eventually(stack.gate.arrived, "Spark is busy")
    stack.cancel(run)
    stack.gate.open()
    assert stack.ended(run) == CANCELED, stack.log(run)
    assert stack.project.rows("hand.busy") == []
    again = stack.launch("hand.busy", FIRST)
    assert stack.ended(again) == SUCCESS, stack.log(again)
    loaded(stack, "hand.busy", 5)


def test_reloading_the_code_in_the_middle_of_a_run_does_not_disturb_it(stack: Stack) -> None:
    assert stack.plan("hand.reload") == [FIRST]
    stack.gate.shut()
    run = stack.launch("hand.reload", FIRST)
    eventually(stack.gate.arrived, "the run is in the middle")
    stack.reload()
    stack.gate.open()
    assert stack.ended(run) == SUCCESS, stack.log(run)
    loaded(stack, "hand.reload", 5)


def test_loading_goes_on_after_the_daemon_was_killed(stack: Stack) -> None:
    child = stack.child("daemon")
    before = child.popen.pid
    os.kill(before, signal.SIGKILL)
    stack.project.append("src.later", rows(0, 5))
    until(lambda: child.popen.pid != before, "the supervisor starts another")
    loaded(stack, "auto.later", 5, seconds=120)


def test_who_may_only_look_sees_everything_and_changes_nothing(stack: Stack, tmp_path: Path) -> None:
    before = len(stack.instance.get_runs())
    with read_only(stack, tmp_path) as viewer:
        assert viewer.ask(GRAPH) == stack.ask(GRAPH)
        with pytest.raises(AssertionError, match="UnauthorizedError"):
            viewer.launch("hand.days", FIRST)
        for mutation, arguments in MUTATIONS.items():
            ((_, answer),) = viewer.ask(f"mutation {{ {mutation}{arguments} {{ __typename }} }}").items()
            assert answer["__typename"] == "UnauthorizedError", mutation
    assert len(stack.instance.get_runs()) == before
    assert stack.sensor("load_auto")["status"] == "RUNNING"


def test_without_a_daemon_what_a_person_launches_is_carried_out(stack: Stack) -> None:
    assert stack.plan("hand.alone") == [FIRST]
    with paused(stack.child("daemon").popen.pid):
        run = stack.launch("hand.alone", FIRST)
        assert stack.ended(run) == SUCCESS, stack.log(run)
    loaded(stack, "hand.alone", 5)


class paused:  # noqa: N801 - reads as a sentence
    """A process that does nothing for a while; were it killed, the supervisor would start it again."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)

    def __enter__(self) -> None:
        self._process.suspend()

    def __exit__(self, *error: object) -> None:
        self._process.resume()


@pytest.mark.exhaustive
def test_the_block_of_a_killed_worker_is_loaded_by_a_later_run(stack: Stack) -> None:
    stack.gate.shut()
    stack.project.append("src.killed", rows(0, 5))
    worker = eventually(stack.gate.arrived, "a worker is in the middle of a block")
    (run,) = stack.runs("auto.killed")
    os.kill(worker, signal.SIGKILL)
    stack.gate.open()
    assert stack.ended(run.run_id, seconds=120) == FAILURE, stack.log(run.run_id)
    assert "is gone; what it had not committed is loaded again by the next run" in stack.log(run.run_id)
    loaded(stack, "auto.killed", 5, seconds=120)


@pytest.mark.exhaustive
def test_a_changed_lineage_is_shown_after_a_reload_and_loaded_by_its_sensor(stack: Stack, page: Page) -> None:
    stack.project.source("src.new")
    stack.project.append("src.new", rows(0, 5))
    stack.project.module("auto.new", "src.new")
    stack.project.apply()
    stack.reload()
    assert AssetKey(["auto", "new"]) in {key(node["assetKey"]) for node in stack.ask(GRAPH)["assetNodes"]}
    page.goto(f"{stack.url}/assets/auto/new?view=overview")
    seen(page.get_by_text("auto.new, loaded block by block from src.new"), "its page")
    loaded(stack, "auto.new", 5, seconds=120)


def test_in_the_end_the_ledger_and_the_tables_agree(stack: Stack) -> None:
    until(lambda: not [run for run in stack.instance.get_runs() if not run.is_finished], "all runs have ended")
    assert stack.project.verify() == []
