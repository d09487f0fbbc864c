"""Brokers that ask who we are: the same declaration for both clients, and a password that is right, wrong or missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwh_assets.model.errors import SourceError
from dwh_assets.model.events import KafkaTopic, Security
from dwh_assets.sources.kafka.broker import Broker
from dwh_assets.sources.kafka.security import ClientSettings, client_settings
from tests.engine.project import Project
from tests.ingest.secured import PASSWORD, SECURITY, USER, SecuredKafka
from tests.ingest.stream import Stream, event

LOGIN = {"U": "me", "P": 'a"b\\c'}


def settings(security: Security, folder: Path = Path(), options: dict[str, str] | None = None) -> ClientSettings:
    topic = KafkaTopic("orders", security=security, options=options or {})
    return client_settings("broker.orders", topic, "one:1,two:2", folder, LOGIN)


def test_without_security_both_clients_get_the_brokers_and_the_further_options() -> None:
    found = settings(Security(), options={"client.rack": "a"})
    plain = {"client.rack": "a", "bootstrap.servers": "one:1,two:2", "security.protocol": "PLAINTEXT"}
    assert found.probe == plain
    assert found.reader == {f"kafka.{name}": value for name, value in plain.items()}


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ],
)
def test_a_password_is_quoted_for_java_and_given_to_the_other_client_as_it_is(mechanism: str, module: str) -> None:
    found = settings(Security("SASL_SSL", mechanism, "U", "P"))  # type: ignore[arg-type]
    assert (found.probe["sasl.mechanism"], found.probe["sasl.username"], found.probe["sasl.password"]) == (
        mechanism,
        "me",
        LOGIN["P"],
    )
    login = f"org.apache.kafka.common.security.{module} required"
    assert found.reader["kafka.sasl.jaas.config"] == rf'{login} username="me" password="a\"b\\c";'
    assert (found.reader["kafka.sasl.mechanism"], found.reader["kafka.security.protocol"]) == (mechanism, "SASL_SSL")


def test_certificates_are_files_for_one_client_and_text_for_the_other(tmp_path: Path) -> None:
    for name in ("ca", "own", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-- {name} --")
    found = settings(Security("SSL", ca_file="ca.pem", certificate_file="own.pem", key_file="key.pem"), tmp_path)
    named = {"ssl.ca.location": "ca", "ssl.certificate.location": "own", "ssl.key.location": "key"}
    assert {name: found.probe[name] for name in named} == {name: str(tmp_path / f"{file}.pem") for name, file in named.items()}
    text = {"truststore.certificates": "ca", "keystore.certificate.chain": "own", "keystore.key": "key"}
    assert {name: found.reader[f"kafka.ssl.{name}"] for name in text} == {name: f"-- {file} --" for name, file in text.items()}
    assert found.reader["kafka.ssl.truststore.type"] == found.reader["kafka.ssl.keystore.type"] == "PEM"


def test_a_certificate_that_is_not_there_and_a_password_that_is_not_set_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"there is no file ca\.pem in the project"):
        settings(Security("SSL", ca_file="ca.pem"), tmp_path)
    with pytest.raises(SourceError, match="the environment variable MISSING is not set"):
        settings(Security("SASL_PLAINTEXT", "PLAIN", "U", "MISSING"))


def test_both_clients_are_let_in_with_the_password_and_a_wrong_one_is_refused(
    kafka: SecuredKafka, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_USER", USER)
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    stream = Stream(kafka.start(), project).create()
    stream.send([event(1), event(2)])
    stream.brokers = kafka.secured()
    stream.declare(kafka=SECURITY)
    project.apply()
    project.load()
    assert stream.products() == [1, 2]
    probe = {"bootstrap.servers": stream.brokers, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    wrong = Broker("broker.events", stream.name, probe | {"sasl.username": USER, "sasl.password": "wrong"})
    with pytest.raises(SourceError, match="the broker refuses us"):
        wrong.held()
