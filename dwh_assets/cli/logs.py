"""The log of the dwh command: home/logs/dwh.log, rotated, as text or JSON. The terminal stays clean."""

from __future__ import annotations

import json
import logging
import tempfile
import time
import traceback
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from dwh_assets.config.settings import Settings

SIZE = 10 * 1024 * 1024
KEPT = 5
NAME = "dwh.log"


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "text": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    converter = time.gmtime

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)-7s %(threadName)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")


def log_to_file(settings: Settings) -> None:
    """Send all logging to the file of this home; a second call changes nothing, another home takes its place."""
    file = settings.home / "logs" / NAME
    root = logging.getLogger()
    mine = [handler for handler in root.handlers if isinstance(handler, RotatingFileHandler)]
    if any(Path(handler.baseFilename) == file for handler in mine):
        return
    for handler in mine:
        root.removeHandler(handler)
        handler.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(file, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8", delay=True)
    handler.setFormatter(JsonLines() if settings.log_format == "json" else TextLines())
    root.addHandler(handler)
    root.setLevel(logging.WARNING)  # of other people's libraries, only what went wrong
    logging.getLogger("dwh_assets").setLevel(settings.log_level)


def keep_traceback(error: BaseException, home: Path | None) -> Path:
    """Write the traceback of an unexpected error where it can be found again; returns the file."""
    text = "".join(traceback.format_exception(error))
    name = f"error-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.txt"
    for folder in (home / "logs" if home else None, Path(tempfile.gettempdir())):
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
                return folder / name
        except OSError:
            continue  # a home that cannot be written is often the very error
    return Path()
