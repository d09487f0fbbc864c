"""One declaration of security, in the words of both clients: librdkafka, which asks for offsets, and Java's, which reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dwh_assets.model.errors import SourceError
from dwh_assets.model.events import KafkaTopic, Security

_LOGIN = {"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule", "SCRAM-SHA-512": "scram.ScramLoginModule"}


@dataclass(frozen=True)
class ClientSettings:
    """Settings of the two clients, with the secrets in them: never logged, never stored."""

    probe: dict[str, str]
    reader: dict[str, str]


def client_settings(
    source: str, topic: KafkaTopic, brokers: str, project: Path, environment: Mapping[str, str] = os.environ
) -> ClientSettings:
    security = topic.security
    common = {**topic.options, "bootstrap.servers": brokers, "security.protocol": security.protocol}
    probe, reader = dict(common), dict(common)
    if security.mechanism is not None:
        user = _secret(source, security.username_env, environment)
        password = _secret(source, security.password_env, environment)
        probe |= {"sasl.mechanism": security.mechanism, "sasl.username": user, "sasl.password": password}
        login = f"org.apache.kafka.common.security.{_LOGIN[security.mechanism]} required"
        jaas = f'{login} username="{_quoted(user)}" password="{_quoted(password)}";'
        reader |= {"sasl.mechanism": security.mechanism, "sasl.jaas.config": jaas}
    if security.protocol.endswith("SSL"):
        _add_files(source, security, project, probe, reader)
    return ClientSettings(probe, {f"kafka.{name}": value for name, value in reader.items()})


def _add_files(source: str, security: Security, project: Path, probe: dict[str, str], reader: dict[str, str]) -> None:
    if security.ca_file is not None:
        authorities = _file(source, project, security.ca_file)
        probe["ssl.ca.location"] = str(authorities)
        reader |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authorities.read_text()}
    if security.certificate_file is not None and security.key_file is not None:
        certificate, key = (_file(source, project, name) for name in (security.certificate_file, security.key_file))
        probe |= {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)}
        reader |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": certificate.read_text(),
            "ssl.keystore.key": key.read_text(),
        }


def _secret(source: str, variable: str | None, environment: Mapping[str, str]) -> str:
    value = environment.get(variable or "", "")
    if not value:
        raise SourceError(f"source {source}: the environment variable {variable} is not set. Nothing was read.")
    return value


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _file(source: str, project: Path, name: str) -> Path:
    path = project / name
    if not path.is_file():
        raise SourceError(f"source {source}: there is no file {name} in the project. Nothing was read.")
    return path
