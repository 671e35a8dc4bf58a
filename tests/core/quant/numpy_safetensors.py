"""Files of safetensors with float tensors, to exchange with the programs of these tests."""
import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        dtype = next(key for key, value in TYPES.items() if value == array.dtype)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(content[8 + size + begin : 8 + size + end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors
