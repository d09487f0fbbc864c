"""Settings of alerts: who is told, how, and when not."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode

from dwh_assets.config.lineage_fields import DailyWindow, PositiveDuration, Timezone


def _web(url: SecretStr) -> SecretStr:
    """The URL itself is the secret: whoever knows it may post. So no message shows it."""
    if url.get_secret_value() and not _is_web(url.get_secret_value()):
        raise ValueError("is not a web address; write https://host/path")
    return url


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its text would show the address
        return False


WebUrl = Annotated[SecretStr, AfterValidator(_web)]
Quiet = Annotated[DailyWindow | None, NoDecode]
Repeat = Annotated[PositiveDuration | None, NoDecode]


class AlertSettings(BaseSettings):
    """Each target has its address, its quiet hours and its interval of repeats; the log is always told."""

    alert_timezone: Timezone = Field("UTC", description="IANA zone of all quiet hours")
    alert_webhook: WebUrl | None = Field(None, description="address that alerts are posted to as JSON")
    alert_webhook_quiet: Quiet = Field(None, description="HH:MM-HH:MM in which nothing is sent; it is sent when they end")
    alert_webhook_repeat: Repeat = Field(None, description="an alert that is open this long after it was sent is sent again")
    alert_slack: WebUrl | None = Field(None, description="address of a Slack incoming webhook")
    alert_slack_quiet: Quiet = Field(None, description="as for the webhook")
    alert_slack_repeat: Repeat = Field(None, description="as for the webhook")
    alert_smtp_host: str | None = Field(None, description="mail server that takes alerts")
    alert_smtp_port: int = Field(25, ge=1, le=65535, description="its port")
    alert_smtp_from: str | None = Field(None, description="address that alerts come from")
    alert_smtp_to: str | None = Field(None, description="addresses that alerts go to, separated by commas")
    alert_smtp_starttls: bool = Field(False, description="encrypt before anything is said")
    alert_smtp_user: str | None = Field(None, description="name to log in with, where the server wants one")
    alert_smtp_password: SecretStr | None = Field(None, description="its password")
    alert_smtp_quiet: Quiet = Field(None, description="as for the webhook")
    alert_smtp_repeat: Repeat = Field(None, description="as for the webhook")

    @model_validator(mode="after")
    def mail_is_whole(self) -> AlertSettings:
        if self.alert_smtp_host and not (self.alert_smtp_from and self.alert_smtp_to):
            raise ValueError("DWH_ALERT_SMTP_HOST needs DWH_ALERT_SMTP_FROM and DWH_ALERT_SMTP_TO too")
        if self.alert_smtp_user and not self.alert_smtp_password:
            raise ValueError("DWH_ALERT_SMTP_USER needs DWH_ALERT_SMTP_PASSWORD too")
        return self
