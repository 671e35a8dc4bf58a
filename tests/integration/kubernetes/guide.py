"""deploy/kubernetes, its guide, and kustomizations over them, for the tests."""
import os
import re
import subprocess

import guide_page
import harness

DEPLOY = harness.ROOT / "deploy/kubernetes"
COMPONENTS = ("gpu", "monitoring", "autoscale")
PAGE = guide_page.read_page((harness.ROOT / "docs/guides/kubernetes.md").read_text(encoding="utf-8"))
TEXT = "".join(block.text for block in PAGE.blocks)


def write_overlay(folder, components, further=""):
    """A kustomization next to a link to deploy/, as in the guide; its folder."""
    if not (folder / "deploy").exists():
        (folder / "deploy").symlink_to(harness.ROOT / "deploy")
    cluster = folder / f"cluster-{len(list(folder.iterdir()))}"
    cluster.mkdir()
    (cluster / "kustomization.yaml").write_text("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: inlier\nresources: [../deploy/kubernetes]\n"
                                                f"components: [{', '.join(f'../deploy/kubernetes/{name}' for name in components)}]\n{further}")
    return cluster


def follow(folder):
    """The guide's commands and files that need no cluster, in `folder`."""
    (folder / "deploy").symlink_to(harness.ROOT / "deploy")
    (folder / "dashboard").symlink_to(harness.ROOT / "dashboard")
    for block in PAGE.blocks:
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)
        elif block.language == "sh" and not block.not_run:
            subprocess.run(["bash", "-e", "-c", block.text], cwd=folder, check=True, capture_output=True, text=True, timeout=120,
                           env={**os.environ, "PATH": f"{harness.BIN}:{os.environ['PATH']}"})


def secrets_of(folder):
    """The files of each Secret, as the guide's commands make them."""
    return {name: {key: folder / path for key, path in re.findall(r"--from-file=([^=\s]+)=(\S+)", rest)}
            for name, rest in re.findall(r"create secret generic (\S+) (--from-file.*)", TEXT)}
