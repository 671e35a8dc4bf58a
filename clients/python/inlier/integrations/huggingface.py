"""Reports a training by transformers' Trainer.

    arguments = TrainingArguments(output_dir=trial.output_dir(), ...)
    trainer = Trainer(..., args=arguments, callbacks=[InlierCallback()])
    trainer.train(resume_from_checkpoint=InlierCallback.resume_from())

Numbers that the Trainer logs and inlier-program.yaml declares (loss, eval_loss, …) are points of curves; their last values at the end of the training
and those of an evaluation after it are results. Checkpoints of the Trainer are reported, the trained model is saved and reported as the product.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inlier import trial
from inlier.integrations._logs import Logs

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError(f"inlier.integrations.huggingface needs transformers with torch ({error}): pip install 'transformers[torch]'") from None


class InlierCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """`names`: {"eval_loss": "validation_loss"} where a measurement has another name. `save_model`: at the end, for the evaluation."""

    def __init__(self, names: Mapping[str, str] | None = None, save_model: bool = True) -> None:
        self.logs, self.save_model, self.trained = Logs(names), save_model, True

    @staticmethod
    def resume_from() -> str | None:
        """For `trainer.train(resume_from_checkpoint=…)`: the Trainer takes no path objects."""
        found = trial.resume_from()
        return str(found) if found else None

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.trained = False
        trial.should_stop()  # From now on SIGTERM is a question.

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        trial.progress(state.global_step, state.max_steps)
        if trial.all_should_stop():
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        chosen = self.logs.choose(logs or {})
        if chosen and self.trained:
            trial.result(chosen, step=state.global_step)
        elif chosen:
            trial.log(chosen, step=state.global_step)

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.is_world_process_zero:
            trial.checkpoint(f"{args.output_dir}/checkpoint-{state.global_step}", state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **more: Any) -> None:
        self.trained = True
        if trial.should_stop():
            return
        trial.result(self.logs.seen, step=state.global_step)
        if self.save_model and state.is_world_process_zero:
            folder = trial.output_dir() / "model"
            getattr(model, "module", model).save_pretrained(folder)
            if processing_class is not None:
                processing_class.save_pretrained(folder)
            trial.checkpoint(folder, state.global_step, final=True)
