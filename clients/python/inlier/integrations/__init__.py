"""Callbacks that report a training by another package: huggingface, lightning. Each imports its package when it is imported itself."""
