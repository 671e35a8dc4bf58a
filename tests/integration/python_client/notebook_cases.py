"""Runs a notebook in this environment's kernel, in the current folder; then looks at what it showed."""
import pathlib
import sys

import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()

shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
assert not [output for output in shown if output.output_type == "error"], shown
assert any("image/png" in output.get("data", {}) for output in shown), "no figure is shown"
tables = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
assert any("vanilla" in table and "±" in table for table in tables), "no table is shown"
assert any("\\toprule" in output.get("text", "") for output in shown), "no LaTeX is printed"
pdf = pathlib.Path("methods.pdf").read_bytes()
assert pdf.startswith(b"%PDF") and len(pdf) > 5_000, len(pdf)
