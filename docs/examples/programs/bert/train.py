"""Trains the BERT of model.py by transformers' Trainer."""
import dataclasses

from inlier.integrations.huggingface import InlierCallback, trial  # inlier 1
from model import VALIDATION, Majorities, new_model
from transformers import Trainer, TrainingArguments, set_seed


@dataclasses.dataclass
class Parameters:
    gamma: float = 0.0
    layers: int = 2
    hidden_size: int = 64
    lr: float = 2e-3
    steps: int = 200
    seed: int = 1


def main():
    p = trial.parameters(Parameters)  # inlier 2
    set_seed(p.seed)
    arguments = TrainingArguments(
        output_dir=trial.output_dir(),  # inlier 3
        max_steps=p.steps, learning_rate=p.lr, per_device_train_batch_size=32, per_device_eval_batch_size=128, warmup_steps=30, seed=p.seed,
        logging_steps=25, eval_strategy="steps", eval_steps=100, save_steps=100, report_to="none", disable_tqdm=True)
    trainer = Trainer(model=new_model(p), args=arguments, train_dataset=Majorities(32 * p.steps, p.seed), eval_dataset=VALIDATION,
                      callbacks=[InlierCallback()])  # inlier 4
    trainer.train(resume_from_checkpoint=InlierCallback.resume_from())  # inlier 5


if __name__ == "__main__":
    main()
