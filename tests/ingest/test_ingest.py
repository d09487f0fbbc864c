"""Events from a real broker into their stage table, each exactly once (B1 to B9)."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest

from dwh_assets.engine.ingest import dead_letters, replay, seek
from dwh_assets.model.errors import ActRefused, LineageError
from tests.engine.project import Project
from tests.ingest.stream import DEAD, TABLE, V1, V2, Stream, event


def applied(stream: Stream, module: str = "", kafka: str = "", **events: str | None) -> Stream:
    stream.create().declare(module, kafka, **events)
    stream.project.apply()
    return stream


def sought(stream: Stream, to: str) -> dict[int, int]:
    """Where each partition goes on."""
    engine = stream.project.engine
    return seek(engine, engine.lineage.active(), stream.project.acts(), TABLE, to, "a test")[1]


def replayed(stream: Stream, *reasons: str) -> list[tuple[str, int]]:
    """The dead letters that are planned to be tried again."""
    engine = stream.project.engine
    found = replay(engine, engine.lineage.active(), stream.project.acts(), TABLE, "a test", reasons=reasons or None)
    return [(row["reason"], row["rows"]) for row in found]


def last_execution(project: Project) -> dict[str, int]:
    found = project.engine.database.fetch_one("select * from dwh.execution order by id desc limit 1")
    assert found is not None
    return {name: found[f"rows_{name}"] for name in ("read", "inserted", "discarded", "rejected")}


def test_every_event_is_there_once_with_a_rising_position(stream: Stream) -> None:
    applied(stream).send(event(n) for n in range(10))
    stream.project.load()
    stream.send(event(n) for n in (*range(5, 15), 14, 14))
    stream.project.load()
    assert stream.products() == list(range(15))
    assert last_execution(stream.project) == {"read": 12, "inserted": 5, "discarded": 7, "rejected": 0}
    first, second = stream.project.blocks(TABLE)
    assert first["next_pos"] < second["next_pos"]
    positions = stream.project.rows(TABLE, "pos, id")
    assert len(set(positions)) == 15
    assert {pos for pos, _ in positions} == {first["next_pos"], second["next_pos"]}
    assert stream.project.verify() == []


def test_the_first_of_two_deliveries_is_kept_and_a_restatement_gives_the_same_rows(stream: Stream) -> None:
    applied(stream).send([event(1, amount=1.5), event(1, amount=9), event(2)], partition=0)
    stream.project.load()
    stream.send([event(1, amount=7), event(3)], partition=1)
    stream.project.load()
    before = stream.project.rows(TABLE, "pos, id, product, amount")
    assert [(product, amount) for *_, product, amount in before] == [(1, 1.5), (2, None), (3, None)]
    stream.project.restate(TABLE, 1, 1)
    stream.project.restate(TABLE, 1, 2)
    assert stream.project.rows(TABLE, "pos, id, product, amount") == before
    assert stream.project.verify() == []


def test_an_event_that_cannot_be_loaded_is_a_dead_letter_with_its_bytes(stream: Stream) -> None:
    applied(stream)
    bad = [
        b"no json", event(1, version=7), {**event(2), "product": "x"}, {"version": 1, "project": "shop", "product": 3},
        event(4, ago=timedelta(days=30)), event(5, colour="red"), event(6), b"", event(7, ago=-timedelta(hours=5)),
        {**event(8), "project": None},
    ]  # fmt: skip
    stream.send(bad, partition=0)
    stream.project.load()
    assert stream.products() == [6]
    assert stream.dead() == [
        (0, 0, "malformed"), (0, 1, "unknown_version"), (0, 2, "malformed"), (0, 3, "malformed"), (0, 4, "too_old"),
        (0, 5, "unknown_field"), (0, 7, "empty"), (0, 8, "from_the_future"), (0, 9, "no_key"),
    ]  # fmt: skip
    letters = dead_letters(stream.project.engine, stream.project.engine.lineage.active(), TABLE)
    assert (letters[0]["value"], letters[0]["origin"]) == (b"no json", stream.name)
    assert last_execution(stream.project) == {"read": 10, "inserted": 1, "discarded": 0, "rejected": 9}
    (check,) = stream.project.blocks(TABLE)[0]["checks"]
    assert (check["name"], check["severity"], check["passed"], check["value"]) == ("dead_letters", "warn", False, 9)
    assert stream.project.verify() == []


def test_an_unknown_field_is_found_however_its_json_is_written(stream: Stream) -> None:
    """Plain JSON is not read for its names a second time; what is written otherwise must not slip through there."""
    applied(stream)
    plain = [json.dumps(event(product), separators=(",", ":"))[:-1] for product in range(10)]
    hidden = [
        '"more":1}',
        '"more" :1}',
        '"more"\t:1}',
        '"more"\n:1}',
        "'more':1}",
        '"more":null}',
        '"amount":null,"more":{"a":1}}',
    ]
    known = ["}", ' , "amount" : 2 }', ',"amount":null}']
    texts = [f"{text},{rest}" for text, rest in zip(plain, hidden, strict=False)]
    texts += [text + rest for text, rest in zip(plain[len(hidden) :], known, strict=True)]
    marked = {**event(10), "project": 'it\'s "shop":'}
    stream.send([*(text.encode() for text in texts), marked], partition=0)
    stream.project.load()
    assert stream.dead() == [(0, offset, "unknown_field") for offset in range(len(hidden))]
    assert stream.products() == [7, 8, 9, 10]


def test_a_new_version_adds_its_column_and_its_dead_letters_are_replayed(stream: Stream) -> None:
    applied(stream).send([event(1), event(2, version=2, colour="red"), event(3, version=2, colour="blue"), b"never"])
    stream.project.load()
    assert stream.products() == [1]
    stream.schemas = {1: V1, 2: V2}
    stream.declare()
    stream.project.apply()
    engine, acts = stream.project.engine, stream.project.acts()
    found = replay(engine, engine.lineage.active(), acts, TABLE, "version 2 is known now", reasons=["unknown_version"])
    assert [(row["reason"], row["rows"]) for row in found] == [("unknown_version", 2)]
    with pytest.raises(ActRefused, match="no such dead letters"):
        replay(engine, engine.lineage.active(), acts, TABLE, "again", reasons=["unknown_version"])
    stream.send([event(3, version=2), event(4, version=2, colour="green")])
    stream.project.load()
    assert stream.project.rows(TABLE, "product, colour") == [(1, None), (2, "red"), (3, "blue"), (4, "green")]
    assert [(row["reason"], row["rows"]) for row in engine.ingest.dead_letters()] == [("malformed", 1)]
    assert stream.project.verify() == []


def test_a_version_that_takes_a_field_away_or_changes_its_type_is_refused(stream: Stream) -> None:
    applied(stream)
    fields = V1["properties"]
    stream.schemas = {1: V1, 2: {**V1, "properties": {**fields, "amount": {"type": "string"}}}}
    stream.declare()
    with pytest.raises(LineageError, match="version 2 turns amount from double into string"):
        stream.project.apply()
    stream.schemas = {1: V1, 2: {**V1, "properties": {name: fields[name] for name in fields if name != "amount"}}}
    stream.declare()
    with pytest.raises(LineageError, match="version 2 takes amount away"):
        stream.project.apply()
    stream.schemas = {1: V1, 2: V2}
    stream.declare(evolution="none")
    with pytest.raises(LineageError, match="adds colour, and evolution is none"):
        stream.project.apply()


def test_a_changed_key_takes_effect_with_the_ids_of_the_window_made_anew(stream: Stream) -> None:
    applied(stream).send([event(1, amount=1), event(2, amount=2)])
    stream.project.load()
    stream.declare(key="[project, product, amount]")
    stream.project.apply()
    stream.send([event(1, amount=1), event(1, amount=5)])
    stream.project.load()
    assert stream.project.rows(TABLE, "product, amount") == [(1, 1.0), (1, 5.0), (2, 2.0)]
    assert stream.project.verify() == []


def test_rows_that_the_new_key_does_not_tell_apart_are_no_repetitions(stream: Stream) -> None:
    applied(stream).send([event(1, amount=1), event(2), event(3), event(4, amount=1)], partition=0)
    stream.project.load()
    stream.declare(key="[project, amount]")
    stream.project.apply()
    stream.send([event(5, amount=1), event(6, amount=2)], partition=0)
    stream.project.load()
    assert stream.products() == [1, 2, 3, 4, 6]
    assert stream.project.verify() == []


def test_an_id_that_has_left_the_window_is_no_longer_known(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dwh_assets.model.events.CLOCK_SKEW", timedelta())
    applied(stream, event_time=None, retention="1s", replay="0", dedup_age="2s").send([event(1)], partition=0)
    stream.project.load()
    engine, loaded = stream.project.engine, stream.project.blocks(TABLE)[0]["next_pos"]
    while engine.database.clock() < loaded + timedelta(seconds=3):
        time.sleep(0.1)
    stream.send([event(1), event(1), event(2)], partition=0)
    stream.project.load()
    assert stream.products() == [1, 1, 2]


def test_partitions_that_are_added_are_taken_in_from_their_first_event(stream: Stream) -> None:
    applied(stream).send([event(1), event(2)])
    stream.project.load()
    stream.add_partitions(4)
    stream.send([event(3), event(4)], partition=3)
    stream.project.load()
    assert stream.products() == [1, 2, 3, 4]


def test_offsets_that_the_broker_has_lost_are_named_and_passed_over_only_by_hand(stream: Stream) -> None:
    applied(stream).send([event(1), event(2)], partition=0)
    stream.project.load()
    stream.send([event(n) for n in range(3, 9)], partition=0)
    stream.delete_before({0: 5})
    stream.project.load()
    status = stream.project.status(TABLE)
    assert "partition 0: wanted from 2, the broker holds 5 to 8" in str(stream.problem())
    assert stream.products() == [1, 2]
    engine = stream.project.engine
    _, offsets = seek(engine, engine.lineage.active(), stream.project.acts(), TABLE, "earliest", "the broker lost them")
    assert offsets == {0: 5, 1: 0}
    stream.project.load()
    assert stream.products() == [1, 2, 6, 7, 8]
    assert [block["status"] for block in stream.project.blocks(TABLE)] == ["committed", "skipped", "committed"]
    assert stream.project.verify() == []
    assert status["verdict"] != "DUE"


def test_a_topic_that_was_created_anew_is_not_taken_for_the_old_one(stream: Stream) -> None:
    applied(stream).send([event(1), event(2)], partition=0)
    stream.project.load()
    stream.delete()
    stream.create_again()
    stream.send([event(n) for n in range(5, 9)], partition=0)
    stream.project.load()
    assert "was deleted and created anew" in str(stream.problem())
    assert stream.products() == [1, 2]
    assert sought(stream, "earliest") == {0: 0, 1: 0}
    stream.project.load()
    assert stream.problem() is None
    assert stream.products() == [1, 2, 5, 6, 7, 8]
    assert stream.project.verify() == []


def test_events_that_the_broker_loses_while_their_block_waits_are_named_and_those_of_other_partitions_are_not_lost(
    stream: Stream,
) -> None:
    applied(stream, "maxstep: 4\nstretch: 1\n").send([event(1), event(2)])
    stream.project.load()
    stream.send([event(n) for n in range(3, 11)])
    stream.project.tick()
    assert len(stream.project.blocks(TABLE)) == 3
    stream.delete_before({0: 3})
    stream.project.load()
    assert "partition 0: wanted from 1, the broker holds 3 to 5" in stream.project.topic(TABLE)["problem"]
    assert stream.products() == [1, 2]
    assert sought(stream, "0=4") == {0: 4, 1: 1}
    stream.project.load()
    assert stream.products() == [1, 2, 4, 6, 8, 9, 10]
    assert stream.project.verify() == []


def test_only_partitions_that_lost_events_go_on_elsewhere(stream: Stream) -> None:
    applied(stream, key=None).send([event(n) for n in range(1, 5)])
    stream.project.load()
    stream.send([event(5), event(7)], partition=0)
    stream.delete_before({0: 3})
    assert sought(stream, "earliest") == {0: 3, 1: 2}
    stream.project.load()
    assert stream.products() == [1, 2, 3, 4, 7]
    assert sought(stream, "reread") == {0: 3, 1: 0}
    stream.project.load()
    assert stream.products() == [1, 2, 2, 3, 4, 4, 7, 7]


def test_a_stream_begins_where_its_end_was_when_it_was_first_looked_at(stream: Stream) -> None:
    applied(stream, kafka="start: latest").send([event(1), event(2)])
    stream.project.load()
    stream.send([event(3), event(4)])
    stream.project.load()
    assert stream.products() == [3, 4]
    assert stream.project.engine.database.fetch("select status from broker.batches") == [{"status": "LOADED"}]
    assert stream.project.verify() == []


def test_a_stream_begins_at_an_instant(stream: Stream) -> None:
    hour_ago = stream.project.engine.database.clock() - timedelta(hours=1)
    applied(stream, kafka=f"start: '{hour_ago.isoformat()}'").send([event(1), event(2)], ago=timedelta(hours=2))
    stream.send([event(3), event(4)], partition=0)
    stream.project.load()
    assert stream.products() == [3, 4]
    stream.send([event(5)], partition=1)
    stream.project.load()
    assert stream.products() == [3, 4, 5]


def test_dead_letters_that_are_replayed_belong_to_the_block_that_loads_them(stream: Stream) -> None:
    applied(stream).send([event(1, version=2, colour="red"), event(2)], partition=1)
    stream.project.load()
    stream.schemas = {1: V1, 2: V2}
    stream.declare()
    stream.project.apply()
    assert replayed(stream) == [("unknown_version", 1)]
    stream.project.load()
    stream.send([event(3)], partition=1)
    stream.project.load()
    before = stream.project.rows(TABLE, "product, _block")
    stream.project.restate(TABLE, 1, 3)
    assert stream.project.rows(TABLE, "product, _block") == before
    for block in (3, 2, 1, 2):
        stream.project.restate(TABLE, block, block)
    assert stream.project.rows(TABLE, "product, _block") == before
    assert stream.project.verify() == []


def test_a_block_that_is_restated_leaves_its_replayed_letters_to_the_block_that_loaded_them(stream: Stream) -> None:
    applied(stream, key=None).send([event(1, version=2, colour="red"), event(2), b"never"], partition=0)
    stream.project.load()
    stream.schemas = {1: V1, 2: V2}
    stream.declare(key=None)
    stream.project.apply()
    replayed(stream)
    stream.project.load()
    assert replayed(stream) == [("malformed", 1)]
    stream.project.load()
    letters = stream.project.rows(DEAD, "_block, offset, reason")
    for first, last in ((1, 1), (2, 2), (1, 1), (1, 3), (3, 3)):
        stream.project.restate(TABLE, first, last)
        assert stream.products() == [1, 2]
        assert stream.project.rows(DEAD, "_block, offset, reason") == letters
    assert [row["rows"] for row in stream.project.engine.ingest.dead_letters()] == [1]
    assert stream.project.verify() == []


def test_a_replay_takes_nothing_away_from_a_worker_and_nothing_back_from_the_stream(stream: Stream) -> None:
    applied(stream, key=None).send([event(1), b"no json"], partition=0)
    stream.project.load()
    stream.send([event(2), event(3)], partition=0)
    stream.project.tick()
    engine = stream.project.engine
    claim = engine.claims.claim(TABLE)
    replayed(stream)
    assert engine.claims.renew(claim)
    planned, behind = stream.project.blocks(TABLE)[1:]
    assert behind["contents"]["end"] == planned["contents"]["end"] == {"0": 4, "1": 0}
    engine.claims.fail(claim, "a test", counts=False)
    stream.project.load()
    assert stream.products() == [1, 2, 3]
    assert stream.project.verify() == []


def test_a_backlog_is_cut_into_blocks_that_share_every_partition(stream: Stream) -> None:
    stream.create().declare(module="maxstep: 10\nstretch: 1\n")
    stream.project.apply()
    stream.send(event(n) for n in range(35))
    stream.project.load()
    blocks = stream.project.blocks(TABLE)
    assert sum(block["base_rows"] for block in blocks) == 35
    assert all(block["base_rows"] <= 12 for block in blocks)
    assert len({block["next_pos"] for block in blocks}) == len(blocks) >= 3
    assert stream.products() == list(range(35))


def test_a_rollback_takes_dead_letters_back_and_the_events_come_again(stream: Stream) -> None:
    applied(stream).send([event(1), b"no json"], partition=0)
    stream.project.load()
    stream.send([event(2), b"nor this"], partition=0)
    stream.project.load()
    first = stream.project.blocks(TABLE)[0]
    stream.project.reset(TABLE, first["next_pos"], first["next_id"])
    assert stream.products() == [1]
    assert [offset for _, offset, _ in stream.dead()] == [1]
    stream.project.load()
    assert stream.products() == [1, 2]
    assert [offset for _, offset, _ in stream.dead()] == [1, 3]
    assert stream.project.verify() == []


def test_the_views_speak_the_words_of_the_document(stream: Stream) -> None:
    applied(stream).send([event(1), event(1), event(2), b"no json"])
    stream.project.load()
    stream.send([event(3), event(4)], partition=1)
    stream.project.tick()
    database = stream.project.engine.database
    batches = database.fetch('select * from broker.batches order by "batchId"')
    assert [(row["status"], row["new_events"], row["known_events"], row["dead_letters"]) for row in batches] == [
        ("LOADED", 2, 1, 1),
        ("NEW", None, None, None),
    ]
    (new,) = database.fetch("select * from broker.new_events")
    assert (new["partition"], new["end_offset"] - new["first_offset"], new["events"], new["status"]) == (1, 2, 2, "NEW")
    replayed(stream)
    waiting = database.fetch('select partition, replayed, events from broker.new_events order by "batchId"')
    assert [tuple(row.values()) for row in waiting] == [(1, None, 2), (None, batches[0]["batchId"], 1)]
    (known,) = database.fetch("select * from broker.deduplication")
    assert (known["ids"], known["known_events"]) == (2, 1)
    assert known["expires_at"] - known["created_at"] > timedelta(days=8)


def test_a_batch_has_the_status_of_its_block(stream: Stream) -> None:
    applied(stream).send([event(1), event(2)])
    engine = stream.project.engine

    def statuses() -> list[str]:
        return [row["status"] for row in engine.database.fetch('select status from broker.batches order by "batchId"')]

    stream.project.tick()
    assert statuses() == ["NEW"]
    claim = engine.claims.claim(TABLE)
    assert statuses() == ["IN_PROCESS"]
    engine.claims.fail(claim, "a test", counts=True)
    assert statuses() == ["RETRY"]
    stream.project.acts().skip(TABLE, "a test")
    assert statuses() == ["SKIPPED"]
    stream.send([event(3), event(3), b"no json"], partition=0)
    stream.project.load()
    stream.send([event(3), event(4)], partition=0)
    stream.project.load()
    assert statuses() == ["SKIPPED", "LOADED", "LOADED"]
    stream.project.restate(TABLE, 2, 3)
    counted = engine.database.fetch('select new_events, known_events, dead_letters from broker.batches order by "batchId"')
    assert [tuple(row.values()) for row in counted[1:]] == [(1, None, 1), (1, None, 0)]
    stream.project.restate(TABLE, 2, 2)
    (_, second, _) = engine.database.fetch('select known_events from broker.batches order by "batchId"')
    assert second == {"known_events": 1}


def test_dead_letters_have_their_own_table_that_nobody_else_may_build(stream: Stream) -> None:
    stream.create().declare()
    stream.project.source("raw.a")
    stream.project.module(DEAD, "raw.a")
    with pytest.raises(LineageError, match=r"its dead letters go to .*, which is another table here"):
        stream.project.lineage()
