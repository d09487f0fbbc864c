"""Names of topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwh_assets.model.topic import TopicName

WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(WORDS, WORDS, st.none() | WORDS, st.none() | st.from_regex(r"[a-z0-9_]{1,5}", fullmatch=True))
def test_a_topic_reads_back_as_it_was_written(db: str, table: str, tag: str | None, shard: str | None) -> None:
    topic = TopicName(f"{db}.{table}", tag, shard)
    assert TopicName.parse(str(topic)) == topic
    assert TopicName.parse(topic.module) == TopicName(topic.table, tag)


@pytest.mark.parametrize("text", ["", "sales", "a.b.c", "Fact.sales", "a.b#", "a.b:", "a.b:x#y", "a.b c", "a.b;drop", "a.b\n"])
def test_what_is_not_a_topic_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=r"write db\.table"):
        TopicName.parse(text)
