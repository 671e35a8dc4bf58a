#!/usr/bin/env python3
"""Submits a sweep and follows it to the end with stock grpcio and server reflection: no generated code, nothing of inlier's.

    pip install grpcio grpcio-reflection
    python submit_and_watch.py .inlier sweep.json

.inlier is the state folder of `inlier up`, which has the address (endpoint.json) and the token (token). For another coordinator give
HOST:PORT, and its token in INLIER_TOKEN: the example uses no TLS, so only where the network is trusted. sweep.json is a SweepSpec as JSON; `inlier check sweeps/smoke.yaml --json` prints one under "sweep".
"""
import json
import os
import pathlib
import sys
import uuid

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "inlier.v1.SweepService"


class Client:
    """Calls methods of a service that the server describes itself."""

    def __init__(self, address, token):
        self.metadata = [("authorization", f"Bearer {token}")] if token else []
        self.channel = grpc.insecure_channel(address)
        self.pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        self.service = self.pool.FindServiceByName(SERVICE)

    def call(self, method, **fields):
        """One answer for a unary method, an iterator of answers for a streaming one."""
        descriptor = self.service.methods_by_name[method]
        request_class = message_factory.GetMessageClass(descriptor.input_type)
        response_class = message_factory.GetMessageClass(descriptor.output_type)
        make = self.channel.unary_stream if descriptor.server_streaming else self.channel.unary_unary
        stub = make(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response_class.FromString,
        )
        return stub(json_format.ParseDict(fields, request_class(), descriptor_pool=self.pool), metadata=self.metadata)


def address_and_token(place):
    """Of a state folder, or of HOST:PORT with the environment's token."""
    folder = pathlib.Path(place)
    if not folder.is_dir():
        return place, os.environ.get("INLIER_TOKEN", "")
    address = json.loads((folder / "endpoint.json").read_text(encoding="utf-8"))["grpc"]
    token = folder / "token"  # Missing where the coordinator asks for none.
    return address, token.read_text(encoding="utf-8").strip() if token.exists() else ""


def main():
    place, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as file:
        sweep = json.load(file)
    client = Client(*address_and_token(place))
    answer = client.call("SubmitSweep", request_id=str(uuid.uuid4()), sweep=sweep)
    print(f"submitted {answer.sweep_id}: {answer.trials} trials, {answer.trials_known} with known results")
    status = None
    for update in client.call("WatchSweep", sweep=answer.sweep_id):
        status = update.status
        print(f"{100 * update.work_done:5.1f} %  {status.trials.succeeded} of {answer.trials} succeeded", flush=True)
    rows = client.call("Query", sql=f"SELECT count(*) FROM results WHERE sweep_id = '{answer.sweep_id}'")
    print(f"rows in results: {rows.rows[0].values[0].integer}")
    return 0 if status.trials.succeeded == answer.trials else 1


if __name__ == "__main__":
    sys.exit(main())
