"""``softground open RUN``: a window on a run, in a browser on this machine."""

import json
import sys
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from ..experiments.place import Device
from ..model import Model
from ..runs import RunFolder
from ..task import Task
from ..window import serve
from .loading import OfRun, model_of, task_of


@dataclass(frozen=True, kw_only=True)
class Command(OfRun):
    """Show a run in a browser, live or finished, and read images that you draw or drop.

    Only this machine can open the page, and only at the printed address. Ctrl-C ends it.
    """

    port: int = 0
    """The port to listen on; 0 takes any free port."""
    browser: bool = True
    """Open the page in a browser."""
    device: Device = "cpu"
    """Device to compute on."""

    def run(self) -> None:
        folder = self.folder
        folder.read_config()  # refuses a folder of another version
        with TemporaryDirectory() as private, suppress(KeyboardInterrupt):
            serve(folder, lambda: self._model(folder), self.port, partial(self._ready, Path(private)))

    def _model(self, folder: RunFolder) -> Model:
        """The run's network, if possible with a rule that computes answers: a saved scan may only check them."""
        model = model_of(folder, self.previous, self.device)
        if isinstance(model.task, Task) and model.space.categorical:
            some = torch.zeros(1, model.space.sites, dtype=torch.long)
            if model.task.computed(some) is None:
                model.task = task_of(folder) or model.task
        return model

    def _ready(self, private: Path, address: str) -> None:
        print(json.dumps({"address": address}) if self.json else f"Window: {address}   (Ctrl-C ends it)")
        sys.stdout.flush()
        if self.browser:
            page = private / "window.html"  # a browser's arguments can be read by all users, this folder by one
            page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">')
            webbrowser.open(page.as_uri())
