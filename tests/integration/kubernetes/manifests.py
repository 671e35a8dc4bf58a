"""What is wrong with built manifests: against the published schemas (schemas.json), and by rules of our own, which a schema cannot have."""
import json
import pathlib
import re

import jsonschema
import yaml

from kubernetes import kustomize

SCHEMAS = json.loads(pathlib.Path(__file__).with_name("schemas.json").read_text(encoding="utf-8"))
# Kubernetes' quantities: the published schema takes any text.
_QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?")


def title(document):
    return f"{document['kind']} {document['metadata']['name']}"


def problems(documents):
    """One line a problem: the document, the place in it, what is wrong, and the remedy where there is one."""
    found = []
    for document in documents:
        found += [f"{title(document)}: {line}" for line in [*_against_schema(document), *_quantities(document, ()), *_empty(document, ())]]
    return found + (_between(documents) if not found else [])


def _against_schema(document):
    kind = f"{document['apiVersion']} {document['kind']}"
    if kind not in SCHEMAS["kinds"]:
        yield f"there is no schema of {kind}: add it to tests/integration/kubernetes/make_schemas, or correct apiVersion and kind"
        return
    validator = jsonschema.Draft202012Validator({**SCHEMAS["kinds"][kind], "$defs": SCHEMAS["$defs"]})
    for error in validator.iter_errors(document):
        while error.context:  # The alternative that comes closest.
            error = max(error.context, key=lambda of: (len(of.absolute_path), of.validator != "type"))
        yield f"{_place(error.absolute_path)}: {error.message}"


def _place(path):
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "the document"


def _quantities(value, path):
    if isinstance(value, list):
        for number, of in enumerate(value):
            yield from _quantities(of, (*path, number))
    elif isinstance(value, dict):
        for key, of in value.items():
            inside = (*path, key)
            if "resources" in path and path[-1] in ("requests", "limits") or key == "sizeLimit":
                if not _QUANTITY.fullmatch(str(of)):
                    yield f"{_place(inside)}: {of!r} is no quantity; write a number with or without a unit: 2, 500m, 16Gi"
            else:
                yield from _quantities(of, inside)


def _empty(value, path):
    if value is None:
        yield f"{_place(path)}: it has no value; write one, or remove the key"
    for key, of in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _empty(of, (*path, key))


def config_of(documents, name):
    """The configuration of a daemon in its generated ConfigMap: the file's name and its text."""
    (found,) = [document["data"] for document in documents if document["kind"] == "ConfigMap" and document["metadata"]["name"].startswith(f"{name}-")]
    (item,) = found.items()
    return item


def _between(documents):
    """Our own rules: what one field names must exist in another."""
    found = []
    maps = {document["metadata"]["name"] for document in documents if document["kind"] == "ConfigMap"}
    workloads = [document for document in documents if kustomize.pod_of(document)]
    ports = {}
    for workload in workloads:
        pod = kustomize.pod_of(workload)
        spec, labels = pod["spec"], pod["metadata"]["labels"]
        if not _selects(workload["spec"]["selector"], labels):
            found.append(f"{title(workload)}: spec.selector does not select the labels of its own pods")
        volumes = {volume["name"] for volume in [*spec["volumes"], *({"name": claim["metadata"]["name"]} for claim in workload["spec"].get("volumeClaimTemplates", []))]}
        for container in spec["containers"]:
            own = {port["name"]: port["containerPort"] for port in container["ports"]}
            ports.setdefault(workload["metadata"]["name"], {}).update(own)
            for mount in container["volumeMounts"]:
                if mount["name"] not in volumes:
                    found.append(f"{title(workload)}: the mount {mount['mountPath']} names the volume {mount['name']}, which is not there")
            for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                if container[kind]["httpGet"]["port"] not in own:
                    found.append(f"{title(workload)}: {kind}: the container has no port {container[kind]['httpGet']['port']}")
        for name in re.findall(r"'configMap': \{'name': '([^']+)'", str(spec)):
            if name not in maps:
                found.append(f"{title(workload)}: there is no ConfigMap {name}")
    numbers = {number for own in ports.values() for number in own.values()}
    labels = [kustomize.pod_of(workload)["metadata"]["labels"] for workload in workloads]
    for document in documents:
        spec = document.get("spec", {})
        selector = {"NetworkPolicy": spec.get("podSelector"), "PodDisruptionBudget": spec.get("selector"), "PodMonitor": spec.get("selector"),
                    "Service": {"matchLabels": spec.get("selector")}}.get(document["kind"])
        if selector and not any(_selects(selector, of) for of in labels):
            found.append(f"{title(document)}: it selects no pod of these manifests")
        if document["kind"] == "NetworkPolicy":
            named = {port["port"] for rule in [*spec.get("ingress", []), *spec.get("egress", [])] for port in rule["ports"]} - {53}
            found += [f"{title(document)}: no container has the port {port}" for port in sorted(named - numbers)]
        if document["kind"] == "ScaledObject" and spec["scaleTargetRef"]["name"] not in ports:
            found.append(f"{title(document)}: there is no Deployment {spec['scaleTargetRef']['name']}")
    return found


def _selects(selector, labels):
    return selector["matchLabels"].items() <= labels.items()


def one(documents, kind, name):
    (found,) = [document for document in documents if document["kind"] == kind and document["metadata"]["name"] == name]
    return found


def worker_numbers(documents):
    """Numbers of the worker that are in several files and must agree, each with its place."""
    config = yaml.safe_load(config_of(documents, "inlier-worker")[1])
    spec = kustomize.pod_of(one(documents, "Deployment", "inlier-worker"))["spec"]
    return config, spec["containers"][0]["resources"], spec["terminationGracePeriodSeconds"]
