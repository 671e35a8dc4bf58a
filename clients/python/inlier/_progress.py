"""A bar for watch(): the share of the work that is done, trials, failures, time left."""
from __future__ import annotations

from typing import Any

from inlier.errors import InlierError
from inlier.models import Update


class Bar:
    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise InlierError("progress=True needs tqdm: pip install 'inlier[progress]'") from None
        self._bar: Any = tqdm(total=100, bar_format="{percentage:3.0f}%|{bar}| {desc}")

    def show(self, update: Update) -> None:
        status = update.status
        done = f"{status.succeeded + status.diverged} of {status.trials} trials"
        failed = f", {status.failed} failed" if status.failed else ""
        left = f", {update.seconds_left:.0f} s left" if update.seconds_left is not None and status.active else ""
        self._bar.n = round(100 * update.work_done, 1)
        self._bar.set_description_str(f"{status.name}: {done}{failed}{left}")

    def close(self) -> None:
        self._bar.close()
