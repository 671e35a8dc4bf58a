"""The trials of a sweep for the readers of other tools: TensorBoard, Weights & Biases (offline), MLflow.

    inlier.export.tensorboard(client, "s-1", "runs")          # client: a Client or a Folder; then: tensorboard --logdir runs

From a shell: python -m inlier.export tensorboard --dir demo --sweep quickstart -o runs
"""
from inlier.export._mlflow import mlflow
from inlier.export._tensorboard import tensorboard
from inlier.export._wandb import wandb

__all__ = ["mlflow", "tensorboard", "wandb"]
