"""The part of `kustomize build` that deploy/kubernetes uses; any other field of a kustomization is refused by name.

Where PATH has a kubectl, kubernetes_test.py compares the result with that of `kubectl kustomize`.
"""
import copy
import hashlib
import json
import pathlib

import yaml

FIELDS = {"apiVersion", "kind", "namespace", "resources", "components", "configMapGenerator", "images", "patches"}


class ManifestError(Exception):
    """What is wrong with a file, with its name and what to write instead."""


class _Loader(yaml.SafeLoader):
    """A key that occurs twice in a mapping is an error."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} occurs twice", node.start_mark)
        return super().construct_mapping(node, deep)


def read(file):
    try:
        return [document for document in yaml.load_all(file.read_text(encoding="utf-8"), _Loader) if document is not None]
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}; the kustomization that names it is wrong, or it was not added") from None
    except yaml.YAMLError as error:
        raise ManifestError(f"{file}: {error}") from None


def build(folder):
    """The documents of a folder with a kustomization.yaml, in no order that matters."""
    return _build(pathlib.Path(folder), [])


def _build(folder, documents):
    file = folder / "kustomization.yaml"
    (kustomization,) = read(file)
    unknown = set(kustomization) - FIELDS
    if unknown:
        raise ManifestError(f"{file}: {', '.join(sorted(unknown))}: not among the fields that this test builds: {', '.join(sorted(FIELDS))}")
    for name in kustomization.get("resources", []):
        place = folder / name
        if place.is_dir():
            documents += _build(place, [])
        else:
            documents += [_with_place(document, place) for document in read(place)]
    for name in kustomization.get("components", []):
        documents = _build(folder / name, documents)
    for generator in kustomization.get("configMapGenerator", []):
        documents.append(_config_map(generator, folder))
        _refer(documents, generator["name"], documents[-1]["metadata"]["name"])
    for patch in kustomization.get("patches", []):
        _patch(documents, patch, file)
    for image in kustomization.get("images", []):
        _set_image(documents, image, file)
    if "namespace" in kustomization:
        for document in documents:
            document["metadata"]["namespace"] = kustomization["namespace"]
    return documents


def _with_place(document, place):
    if not isinstance(document, dict) or not all(isinstance(document.get(key), str) for key in ("apiVersion", "kind")) or \
            not isinstance(document.get("metadata"), dict) or not document["metadata"].get("name"):
        raise ManifestError(f"{place}: a document is no resource: it needs apiVersion, kind and metadata.name")
    return document


def _config_map(generator, folder):
    unknown = set(generator) - {"name", "files"}
    if unknown:
        raise ManifestError(f"{folder}/kustomization.yaml: configMapGenerator: {', '.join(sorted(unknown))}: only name and files are built here")
    data = {pathlib.Path(name).name: (folder / name).read_text(encoding="utf-8") for name in generator["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{generator['name']}-{_hash(data)}"}, "data": data}


def _hash(data):
    """Kustomize's suffix of a name: ten digits of the SHA-256 of the content as Go writes JSON, some replaced by consonants. The name is left out of it."""
    text = json.dumps({"data": data, "kind": "ConfigMap", "name": ""}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(str.maketrans("013ae", "ghkmt"))


def _refer(value, old, new):
    """Volumes with the ConfigMap of the name `old` have `new`."""
    if isinstance(value, list):
        for of in value:
            _refer(of, old, new)
    elif isinstance(value, dict):
        for key, of in value.items():
            if key == "configMap" and of.get("name") == old:
                of["name"] = new
            _refer(of, old, new)


def _patch(documents, patch, file):
    unknown = set(patch) - {"target", "patch"} | set(patch.get("target", {})) - {"kind", "name"}
    if unknown or "target" not in patch:
        raise ManifestError(f"{file}: patches: only target (kind, name) and patch (a list of JSON patches) are built here")
    meant = [document for document in documents if document["kind"] == patch["target"]["kind"] and document["metadata"]["name"] == patch["target"]["name"]]
    if not meant:
        raise ManifestError(f"{file}: patches: there is no {patch['target']['kind']} {patch['target']['name']}")
    for operation in yaml.load(patch["patch"], _Loader):
        for document in meant:
            _apply(document, operation, file)


def _apply(document, operation, file):
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    place = document
    try:
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        key = int(last) if isinstance(place, list) and last != "-" else last
        if operation["op"] == "add":
            value = copy.deepcopy(operation["value"])
            place.insert(len(place) if key == "-" else key, value) if isinstance(place, list) else place.__setitem__(key, value)
        elif operation["op"] in ("replace", "remove"):
            place[key]  # It is there.
            place.__setitem__(key, copy.deepcopy(operation["value"])) if operation["op"] == "replace" else place.__delitem__(key)
        else:
            raise ManifestError(f"{file}: patches: {operation['op']}: only add, replace and remove are built here")
    except (KeyError, IndexError, ValueError, TypeError):
        raise ManifestError(f"{file}: patches: {document['kind']} {document['metadata']['name']} has no {operation['path']}") from None


def _set_image(documents, image, file):
    unknown = set(image) - {"name", "newName", "newTag"}
    if unknown:
        raise ManifestError(f"{file}: images: {', '.join(sorted(unknown))}: only name, newName and newTag are built here")
    meant = [container for document in documents for container in containers(document) if container["image"].split(":")[0] == image["name"]]
    if not meant:
        raise ManifestError(f"{file}: images: no container has the image {image['name']}")
    for container in meant:
        name, _, tag = container["image"].partition(":")
        tag = image.get("newTag", tag)
        container["image"] = image.get("newName", name) + (f":{tag}" if tag else "")


def pod_of(document):
    """The template of a workload's pods; None for another kind."""
    return document.get("spec", {}).get("template") if document["kind"] in ("Deployment", "StatefulSet") else None


def containers(document):
    pod = pod_of(document)
    return pod["spec"]["containers"] if pod else []
