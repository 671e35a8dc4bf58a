#!/usr/bin/env python3
"""No function of a production header is there for tests alone: some production file that includes the header uses it.

A use is the name, more often than the file declares it, outside comments and texts; of a name in small letters, which variables have too, only `name(`.
So a function passes wrongly where a file that includes its header uses another one of that name. Universal Ctags lists the functions.
"""
import collections
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCTION = ("base", "spec", "rpc", "s3", "notify", "fleet", "results", "coordinator", "worker", "cli", "core", "dashboard")
ALLOWED = {
    # Called by other libraries.
    "base/strong_id.h AbslHashValue": "by absl's tables",
    "coordinator/services/call_stream.h OnDone": "by gRPC",
    "coordinator/services/call_stream.h OnReadDone": "by gRPC",
    "coordinator/services/call_stream.h OnWriteDone": "by gRPC",
    "core/nn/attention/clipped_softmax_function.h backward": "by LibTorch",
    "core/nn/attention/clipped_softmax_function.h forward": "by LibTorch",
    "core/nn/attention/null_key_softmax_function.h backward": "by LibTorch",
    "core/nn/attention/null_key_softmax_function.h forward": "by LibTorch",
    # By these, tests see or set what they compare with a reference, and nothing else shows.
    "base/data/checked_files.h bytes_read": "a file that is known is not read again",
    "coordinator/queries/query_process.h pid": "the process is killed",
    "coordinator/services/byte_shares.h all": "what is open goes back to nothing",
    "coordinator/state/request_log.h last": "a start gives the state before it",
    "coordinator/state/resources.h memory_used_mib": "the invariants add it up",
    "coordinator/state/usage_meter.h gpu_thousandths": "the invariants add it up",
    "coordinator/store/database.h version": "migrations, step by step",
    "core/hugging_face/weights.h OpenHuggingFaceModel": "hub_tool is compared with transformers",
    "core/io/safetensors.h LoadSafetensors": "golden cases and bench/train read whole files",
    "core/optim/rotation.h OfVector": "golden rotations of a whole tensor",
    "core/quant/gptq.h count": "padding is not counted",
    "core/quant/linear/linear_quantization.h QuantizedWeight": "golden weights",
    "core/quant/post_training_quantization.h QuantizedWeight": "golden weights",
    "core/quant/post_training_quantization.h SetActivationRange": "golden ranges",
    "core/quant/range_estimator.h chosen_index": "golden choices",
    "core/quant/range_estimator.h loss": "golden losses",
    "core/synthetic/bigram_chain.h Probability": "what is drawn has these shares",
    "core/synthetic/bigram_chain.h Share": "what is drawn has these shares",
}


def production():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.cc", "*.cu", "*.cuh"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if name.split("/")[0] in PRODUCTION and "/declarations/" not in name and (ROOT / name).is_file()]


def functions(root, names):
    """Name -> its declarations and definitions, without operators, constructors and lambdas."""
    command = ["ctags", "--output-format=json", "--languages=C++", "--langmap=C++:+.cu.cuh", "--kinds-C++=fp", "--fields=+nsZ", "-f", "-", "-L", "-"]
    out = subprocess.run(command, cwd=root, input="\n".join(names), check=True, capture_output=True, text=True).stdout
    found = collections.defaultdict(set)
    for tag in map(json.loads, out.splitlines()):
        name, scope = tag["name"], tag.get("scope", "").split("::")[-1]
        if name != scope and not name.startswith(("~", "operator", "__anon")):
            found[name].add((tag["path"], tag["line"]))
    return found


def includers(texts):
    """File -> the files that include it, directly or not, and itself."""
    direct = collections.defaultdict(list)
    for name, text in texts.items():
        for included in re.findall(r'#include "([^"]+)"', text):
            direct[included].append(name)
    reached = {}
    for name in texts:
        reached[name], waiting = {name}, [name]
        while waiting:
            fresh = [user for user in direct[waiting.pop()] if user not in reached[name]]
            reached[name].update(fresh)
            waiting += fresh
    return reached


def unused(root, names):
    """"header name" of every function that no file uses -> its line. A base class calls what overrides."""
    texts = {name: (root / name).read_text() for name in names}
    words, calls = {}, {}
    for name, text in texts.items():
        code = re.sub(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', "", re.sub(r"(?<!:)//[^\n]*", "", text), flags=re.S)
        words[name] = collections.Counter(re.findall(r"[A-Za-z_]\w*", code))
        calls[name] = collections.Counter(re.findall(r"([A-Za-z_]\w*)\s*\(", code))
    users, wrong = includers(texts), {}
    for name, places in functions(root, names).items():
        uses = words if name[0].isupper() else calls
        for header, line in sorted(places):
            declared = re.split("[{;]", "\n".join(texts[header].splitlines()[line - 1:line + 3]))[0]
            if not header.endswith((".h", ".cuh")) or re.search(r"\b(override|virtual)\b", declared):
                continue
            used = sum(uses[user][name] for user in users[header])
            if used <= sum(path in users[header] for path, _ in places):
                wrong[f"{header} {name}"] = line
    return wrong


class UnusedTest(unittest.TestCase):
    maxDiff = None

    def test_production_uses_every_function(self):
        found = unused(ROOT, production())
        wrong = [f"{name.replace(' ', f':{line}: ')}: no production file uses it; delete it, or move it to the tests"
                 for name, line in found.items() if name not in ALLOWED]
        self.assertEqual([], wrong)
        self.assertEqual([], sorted(set(ALLOWED) - set(found)), "used now, or gone; take them out of ALLOWED")

    def test_a_planted_function_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.h").write_text("int Used();\nint Planted();\nclass A : B {\n public:\n  A();\n  int size() const { return size_; }\n"
                                      "  void OnDone() override;\n  int size_;\n};\n")
            (root / "a.cc").write_text('#include "a.h"\n// Planted() is called by a test.\nint Used() { return 1; }\nint Planted() { return Used(); }\n'
                                       'const char* text = "Planted()";\nint size = 2;\n')
            (root / "b.cc").write_text("int Planted();\nint other = Planted() + size();\n")  # Functions of that name elsewhere.
            self.assertEqual({"a.h Planted": 2, "a.h size": 6}, unused(root, ["a.cc", "a.h", "b.cc"]))


if __name__ == "__main__":
    unittest.main()
