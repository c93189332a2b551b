"""An engine of a benchmark: two services over gRPC, in a separate process."""

import sys
from concurrent import futures
from typing import Any


def serve(monitor: Any, log: Any) -> None:
    """Print their addresses with a comma between, then serve until stdin closes."""
    import grpc
    from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2_grpc

    addresses, servers = [], []
    for add, servicer in (
        (resource_pb2_grpc.add_ResourceMonitorServicer_to_server, monitor),
        (engine_pb2_grpc.add_EngineServicer_to_server, log),
    ):
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
        add(servicer, server)
        addresses.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        server.start()
        servers.append(server)
    print(",".join(addresses), flush=True)
    sys.stdin.read()
    for server in servers:
        server.stop(grace=None)
