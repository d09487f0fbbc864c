"""A broker with one more listener, that lets in who knows a password."""

from __future__ import annotations

from pathlib import Path

from dwh_assets.config.machine import free_port
from dwh_assets.sources.kafka.server import KafkaServer

USER, PASSWORD = "canary", 'c4narybird"\\;'  # with what a configuration of Java has to quote
SECURITY = "security: {protocol: SASL_PLAINTEXT, mechanism: PLAIN, username_env: KAFKA_USER, password_env: KAFKA_PASSWORD}"


class SecuredKafka(KafkaServer):
    def secured(self) -> str:
        """host:port of the listener that asks for a password."""
        self.start()
        return f"127.0.0.1:{self._secured_port()}"

    def _secured_port(self) -> int:
        kept = self._folder / "secured_port"
        if not kept.exists():
            kept.write_text(str(free_port()))
        return int(kept.read_text())

    def _write_settings(self, port: int) -> Path:
        path = super()._write_settings(port)
        lines = dict(line.split("=", 1) for line in path.read_text().splitlines())
        for name in ("listeners", "advertised.listeners"):
            lines[name] += f",SECURED://127.0.0.1:{self._secured_port()}"
        known = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{known}";'
        lines |= {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT",
            "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secured.plain.sasl.jaas.config": login.replace("\\", "\\\\"),  # a file of properties has escapes, too
        }
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return path
