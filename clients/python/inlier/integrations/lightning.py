"""Reports a training by Lightning.

    callback = InlierCallback(checkpoint_every=500)
    trainer = Trainer(max_steps=…, callbacks=[callback], enable_checkpointing=False)
    trainer.fit(module, ckpt_path=callback.resume_from())

Numbers that the module logs (self.log) and inlier-program.yaml declares are points of curves; their last values are results, with those of
trainer.validate and trainer.test after it. The callback saves checkpoints, at a stop too, and the trained one, which is the product.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inlier import trial
from inlier.integrations._logs import Logs

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback  # type: ignore[assignment,unused-ignore]
    except ImportError as error:
        raise ImportError(f"inlier.integrations.lightning needs Lightning ({error}): pip install lightning") from None


class InlierCallback(Callback):  # type: ignore[misc,unused-ignore]
    """`names`: {"val_loss": "validation_loss"} where a measurement has another name. `checkpoint_every`: steps between checkpoints; 0: at a stop alone."""

    def __init__(self, names: Mapping[str, str] | None = None, checkpoint_every: int = 0) -> None:
        self.logs, self.checkpoint_every, self.saved_step = Logs(names), checkpoint_every, -1

    @staticmethod
    def resume_from() -> str | None:
        """For `trainer.fit(ckpt_path=…)`."""
        found = trial.resume_from()
        return str(found) if found else None

    def on_fit_start(self, trainer: Any, module: Any) -> None:
        trial.should_stop()  # From now on SIGTERM is a question.

    def on_train_batch_end(self, trainer: Any, module: Any, *more: Any) -> None:
        step, last = trainer.global_step, trainer.estimated_stepping_batches
        trial.progress(step, last if last > 0 and last != float("inf") else None)
        if step != self.saved_step and step % trainer.log_every_n_steps == 0:
            self._report(trainer)
        stop = trainer.strategy.reduce_boolean_decision(trial.should_stop(), all=False)
        if stop or (self.checkpoint_every and step % self.checkpoint_every == 0):
            self._save(trainer)
        trainer.should_stop = trainer.should_stop or stop

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if not trainer.sanity_checking:
            self._report(trainer)

    def on_test_end(self, trainer: Any, module: Any) -> None:
        self._report(trainer)

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        """Lightning ends a training by an exception when SIGTERM came between two batches."""
        if trial.should_stop() and isinstance(exception, SystemExit):
            self._save(trainer)

    def on_fit_end(self, trainer: Any, module: Any) -> None:
        if not trial.should_stop():
            trial.result(self.logs.seen, step=trainer.global_step)
            self._save(trainer, final=True)

    def _report(self, trainer: Any) -> None:
        chosen = self.logs.choose(trainer.callback_metrics)
        if trainer.training or trainer.state.fn == "fit":
            trial.log(chosen, step=trainer.global_step)
        else:
            trial.result(chosen, step=trainer.global_step)

    def _save(self, trainer: Any, final: bool = False) -> None:
        step = trainer.global_step
        if step == self.saved_step and not final:
            return
        self.saved_step = step
        file = trial.output_dir() / ("final.ckpt" if final else f"step-{step}.ckpt")
        trainer.save_checkpoint(file)  # By all processes; the first one writes.
        trial.checkpoint(file, step, final)
