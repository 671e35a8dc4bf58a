from __future__ import annotations

import os
import pathlib
import time
from typing import Any

from inlier._results import Results
from inlier.errors import InlierError
from inlier.export._runs import Run, new_folder, runs_of


def tensorboard(source: Results, sweep: str, out: os.PathLike[str] | str, *, sites: bool = False) -> list[pathlib.Path]:
    """Writes an event file for each trial below `out`, and returns their folders: curves as scalars, the results as `final/<measurement>`, the
    hyper-parameters for the HParams page. TensorBoard keeps scalars as 32-bit floats. `sites`: also the curves of single modules.

    `source` is a Client or a Folder. Needs `pip install 'inlier[tensorboard]'`.
    """
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.hparams import metadata
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise InlierError(f"exporting to TensorBoard needs its package ({error}): pip install 'inlier[tensorboard]'") from None

    def parameters(run: Run, start: float) -> Any:
        session = SessionStartInfo(start_time_secs=start, group_name=run.trial)
        for name, value in run.parameters.items():
            if isinstance(value, (int, float)):
                session.hparams[name].number_value = value
            else:
                session.hparams[name].string_value = str(value)
        plugin = metadata.create_summary_metadata(HParamsPluginData(session_start_info=session))
        return Summary.Value(tag=metadata.SESSION_START_INFO_TAG, metadata=plugin)

    def write(run: Run) -> pathlib.Path:
        folder = new_folder(pathlib.Path(out) / run.sweep_file_name / run.file_name)
        writer = EventFileWriter(str(folder))

        def scalar(tag: str, value: float, step: int, at: float) -> None:
            writer.add_event(Event(wall_time=at, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])))

        start = min((point.at for point in run.points), default=time.time())
        writer.add_event(Event(wall_time=start, summary=Summary(value=[parameters(run, start)])))
        at, step = start, 0
        for point in run.points:
            at, step = max(at, point.at), max(step, point.step)
            scalar(point.tag, point.value, point.step, point.at)
        for name, value in run.finals.items():
            scalar(f"final/{name}", value, step, at)
        writer.close()
        return folder

    return [write(run) for run in runs_of(source, sweep, sites)]
