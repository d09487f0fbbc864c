"""Each protection is switched off once: the same scenario that is clean with it must then show a violation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dwh_assets
from dwh_assets.model.failpoints import PROTECTIONS
from tests.faults import scenarios as faults
from tests.faults.scenarios import Scenario
from tests.faults.world import Farm

# Rule, the switch of what makes it true, a scenario that needs it.
TEETH: list[tuple[str, str, Scenario]] = [
    ("R1", "stored_range", faults.more_rows_come_before_an_open_block_is_repeated),
    ("R2", "token", faults.a_newer_holder_stages_while_the_older_one_wakes),
    ("R3", "position", faults.the_rightful_holder_commits_its_block_twice),
    ("R4", "own_branch", faults.two_topics_stage_to_one_table_at_once),
    ("R5", "staging", faults.a_rollback_breaks_off_before_its_commit),
    ("R6", "clock", faults.a_holder_has_a_clock_that_is_a_day_behind),
    ("R13", "pointer", faults.another_topic_publishes_to_the_same_table_before_this_one),
    ("R14", "staging", faults.a_worker_dies_with_its_rows_staged),
    ("R15", "snapshot", faults.late_rows_come_between_the_claim_and_the_write),
    ("R16", "watermark", faults.a_block_of_the_dimension_ends_between_equal_positions),
    ("R17", "generation", faults.an_input_is_restated_while_a_step_runs),
    ("R18", "lock", faults.another_worker_wants_the_topic_while_its_holder_works),
    ("R18", "lock", faults.two_planners_cut_the_same_topic),
    ("R19", "stale", faults.facts_are_restated_after_something_was_built_upon_them),
]
CASES = [pytest.param(switch, scenario, id=f"{rule}-{scenario.__name__}") for rule, switch, scenario in TEETH]


@pytest.mark.parametrize(("protection", "scenario"), CASES)
def test_a_fault_is_seen_when_its_protection_is_off_and_only_then(farm: Farm, protection: str, scenario: Scenario) -> None:
    with farm.world() as world:
        assert scenario(world, "") == []
    with farm.world() as world:
        assert scenario(world, protection) != []


def test_every_protection_is_used_in_the_product() -> None:
    sources = Path(dwh_assets.__file__).parent.rglob("*.py")
    used = {name for file in sources for name in re.findall(r'\bprotected\("([a-z_.]+)"\)', file.read_text())}
    assert used == set(PROTECTIONS)
