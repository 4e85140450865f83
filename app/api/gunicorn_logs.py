"""gunicorn's own lines, through the same pipe as ours."""

from typing import Any

from gunicorn.glogging import Logger

from app.logs import configure_logs, log_crashes
from app.settings import settings_or_exit


class OurLogger(Logger):  # type: ignore[misc]
    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        configure_logs(settings_or_exit().log_level)
        log_crashes()
        self.error_log.handlers = []
        self.error_log.propagate = True
