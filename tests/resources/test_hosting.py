"""The components as other languages get them: a plugin process, its schema, and Construct over gRPC."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import grpc
import pulumi
import pytest
import yaml
from google.protobuf import empty_pb2, struct_pb2
from google.protobuf.json_format import MessageToDict
from pulumi.provider.server import ComponentInitError
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
    status_pb2,
)

from gpuyard.resources import Platform, hosting
from gpuyard.resources.hosting import COMPONENTS, ComponentHost
from gpuyard_testing.checks import ResourceChecks
from gpuyard_testing.graph import Graph
from gpuyard_testing.monitor import Answers, StrictMonitor
from kit.waiting import SHORTER

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
LOCAL = yaml.safe_load((ROOT / "stacks/Pulumi.local.yaml").read_text(encoding="utf-8"))["config"][
    "gpuyard:platform"
]
OUTPUT_VALUE = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
SIGNATURE = "4dabf18193072939515e22adb298388d"

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]


class Engine(engine_pb2_grpc.EngineServicer):
    """Keeps what the plugin logs."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def Log(self, request, context):  # noqa: N802  the protocol's name
        if request.severity != engine_pb2.DEBUG:
            self.messages.append(request.message)
        return empty_pb2.Empty()

    def GetRootResource(self, request, context):  # noqa: N802  the protocol's name
        return engine_pb2.GetRootResourceResponse(urn="")


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """The strict mock monitor behind gRPC."""

    def __init__(self, strict: StrictMonitor) -> None:
        self.strict = strict

    def SupportsFeature(self, request, context):  # noqa: N802  the protocol's name
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id != "transforms")

    def GetDeploymentInfo(self, request, context):  # noqa: N802  the protocol's name
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "an engine need not have it")

    def RegisterResource(self, request, context):  # noqa: N802  the protocol's name
        return self.strict.RegisterResource(request)

    def RegisterResourceOutputs(self, request, context):  # noqa: N802  the protocol's name
        return self.strict.RegisterResourceOutputs(request)


@dataclass
class Plugin:
    """A running plugin, with an engine and a monitor made for it."""

    stub: provider_pb2_grpc.ResourceProviderStub
    engine: Engine
    monitor: Monitor
    monitor_address: str

    @property
    def graph(self) -> Graph:
        return self.monitor.strict.graph

    def construct(
        self, component: str, inputs: dict[str, object], *, name: str = "yard", **request: object
    ) -> provider_pb2.ConstructResponse:
        self.monitor.strict = strict_monitor()
        properties = struct_pb2.Struct()
        properties.update(inputs)
        return self.stub.Construct(
            provider_pb2.ConstructRequest(
                project="project",
                stack="stack",
                monitorEndpoint=self.monitor_address,
                type=f"gpuyard:index:{component}",
                name=name,
                parallel=4,
                inputs=properties,
                config={"kubernetes:context": "lab"},
                accepts_output_values=True,
                **request,
            ),
            timeout=SHORTER,
        )


def strict_monitor() -> StrictMonitor:
    answers = Answers(
        project="project", stack="stack", unknown_outputs=False, outputs=lambda _: None, calls={}
    )
    return StrictMonitor(answers, ResourceChecks())


@pytest.fixture(scope="module")
def plugin() -> Iterator[Plugin]:
    engine, monitor = Engine(), Monitor(strict_monitor())
    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    process = subprocess.Popen(
        [sys.executable, "__main__.py", address],
        cwd=ROOT / "components",
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    channel = grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}")
    try:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        yield Plugin(stub, engine, monitor, address)
    finally:
        channel.close()
        process.terminate()
        process.communicate(timeout=SHORTER)
        server.stop(None).wait()


def property_errors(error: grpc.RpcError) -> dict[str, str]:
    """What the engine shows: the error of each input by its path."""
    metadata = dict(error.trailing_metadata())
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    found = errors_pb2.InputPropertiesError()
    assert status.details[0].Unpack(found)
    return {one.property_path: one.reason for one in found.errors}


def plain(struct: struct_pb2.Struct) -> object:
    """Properties without the wrapping of outputs."""

    def unwrap(value: object) -> object:
        if isinstance(value, dict):
            if value.get(SIGNATURE) == OUTPUT_VALUE:
                return unwrap(value["value"])
            return {key: unwrap(one) for key, one in value.items()}
        return [unwrap(one) for one in value] if isinstance(value, list) else value

    return unwrap(MessageToDict(struct))


def in_camel_case() -> dict[str, object]:
    """The local platform as a program in another language writes it."""
    text = json.dumps(LOCAL)
    for snake, camel in {
        "gpus_per_node": "gpusPerNode",
        "per_pod": "perPod",
        "memory_gib": "memoryGib",
        "budget_usd_per_month": "budgetUsdPerMonth",
        "fair_sharing": "fairSharing",
        "max_usd_per_hour": "maxUsdPerHour",
    }.items():
        text = text.replace(f'"{snake}"', f'"{camel}"')
    return json.loads(text)


def test_the_schema_is_the_golden_one(plugin, golden):
    answer = plugin.stub.GetSchema(provider_pb2.GetSchemaRequest(version=0))
    schema = json.loads(answer.schema)
    golden(GOLDEN / "schema.json", json.dumps(schema, indent=2) + "\n")


def test_the_plugin_says_the_version_that_the_package_has(plugin):
    assert plugin.stub.GetPluginInfo(empty_pb2.Empty()).version == version("gpuyard")


def test_every_component_and_every_input_is_described():
    schema = json.loads(ComponentHost().schema)
    bare = [
        f"{name}.{field}"
        for kind in ("resources", "types")
        for name, definition in schema[kind].items()
        for part in ("inputProperties", "properties")
        for field, one in definition.get(part, {}).items()
        if not one.get("description") or not definition.get("description")
    ]
    assert bare == []


def test_defaulted_fields_are_optional_in_the_schema():
    types = json.loads(ComponentHost().schema)["types"]
    assert types["gpuyard:index:PoolSpec"]["required"] == ["machine", "name", "nodes"]
    assert types["gpuyard:index:TeamSpec"]["required"] == ["name"]


def test_a_constructed_platform_registers_what_it_registers_in_python(plugin, pulumi_mocks):
    response = plugin.construct("Platform", {"platform": in_camel_case()})
    here = pulumi_mocks.run(lambda: Platform("yard", {"platform": LOCAL}))
    assert response.urn == plugin.graph.one("gpuyard:index:Platform").urn
    assert not plugin.graph.violations
    assert {(one.urn, one.parent) for one in plugin.graph} == set(here.shape())
    for one in here:
        hosted = plugin.graph.one(one.type, one.name)
        assert hosted.inputs == one.inputs, one.label
        assert set(hosted.dependencies) == set(one.dependencies), one.label
        assert hosted.registered_outputs == one.registered_outputs, one.label


def test_a_constructed_platform_answers_with_its_outputs(plugin):
    response = plugin.construct("Platform", {"platform": in_camel_case()})
    state = plain(response.state)
    assert state["bill"] == {
        "minimumUsdPerHour": pytest.approx(246.7192),
        "expectedUsdPerHour": pytest.approx(246.7192),
        "maximumUsdPerHour": pytest.approx(246.7192),
        "unknown": [],
        "simulated": True,
    }
    assert state["pools"]["train"]["resources"] == {"nvidia.com/gpu": 8}
    assert state["teams"]["vision"]["namespaces"] == ["vision"]
    assert state["notes"] == []
    assert len(state["digest"]) == 12


@pytest.mark.parametrize(
    ("component", "more", "output"),
    [
        ("GpuNodePool", {"pool": "train"}, ("nodes", [f"train-00{n}" for n in range(4)])),
        ("Queueing", {}, ("flavors", {"train": "train", "serve": "serve", "dev": "dev"})),
        ("Team", {"team": "vision"}, ("localQueue", "default")),
    ],
)
def test_each_component_can_be_constructed_alone(plugin, component, more, output):
    response = plugin.construct(component, {"platform": in_camel_case(), **more})
    key, value = output
    assert plain(response.state)[key] == value
    assert [one.type for one in plugin.graph if not one.custom] == [f"gpuyard:index:{component}"]


def test_a_refused_platform_registers_nothing_and_names_every_input_at_fault(plugin):
    platform = in_camel_case()
    platform["pools"][0] |= {"nodes": "9..1", "speed": 3}
    platform["teams"][0]["weight"] = 0
    platform["pools"][1]["sharing"] = {"mig": {"1g.5gb": 9}}
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": platform})
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith("the platform local is rejected")
    assert "Traceback" not in caught.value.details()
    errors = property_errors(caught.value)
    assert errors["pools[0].nodes"] == (
        "the range runs backwards\n  given: '9..1'\n"
        "  allowed: a number of nodes, or LOW..HIGH such as 0..16\n  fix: write 1..9"
    )
    assert set(errors) >= {"pools[0].nodes", "pools[0].speed", "teams[0].weight"}
    assert any(path.startswith("pools[1].sharing") for path in errors)
    assert len(plugin.graph) == 0


def test_missing_fields_are_reported_all_at_once(plugin):
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": {"pools": [{"nodes": 1}]}})
    errors = property_errors(caught.value)
    assert {"name", "cloud", "kubernetes", "pools[0].name", "pools[0].machine"} <= set(errors)


def test_fields_of_the_schema_are_named_as_the_other_language_names_them(plugin):
    platform = in_camel_case()
    platform["shapes"][0]["gpusPerNode"] = 99
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": platform})
    assert all("_" not in path for path in property_errors(caught.value))


def test_a_warning_is_not_reported_as_a_problem_of_a_rejected_platform(plugin):
    platform = {
        "name": "lab",
        "cloud": "none",
        "kubernetes": "1.36",
        "queueing": {"install": False},
        "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 4}],
        "teams": [{"name": "vision", "guarantee": {"train": 999}}],
    }
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": platform})
    assert property_errors(caught.value) == {
        "teams[0].guarantee.train": (
            "train has 32 nvidia.com/gpu with all 4 nodes (8 a node)\n"
            "  given: 999 nvidia.com/gpu\n"
            "  allowed: 32 nvidia.com/gpu\n"
            "  fix: guarantee 32, or let train have 125 nodes"
        )
    }


def test_a_secret_inside_the_platform_is_refused(plugin):
    platform = in_camel_case()
    platform["pools"][0]["machine"] = {
        SIGNATURE: "1b47061264138c4ac30d75fd1eb44270",
        "value": "p5.48xlarge",
    }
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": platform})
    errors = property_errors(caught.value)
    assert all("allowed: a plain value" in reason for reason in errors.values())
    assert "p5.48xlarge" not in str(errors)


def test_unknown_inputs_inside_the_platform_are_refused_at_preview(plugin):
    platform = in_camel_case()
    platform["pools"][0]["nodes"] = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    with pytest.raises(grpc.RpcError) as caught:
        plugin.construct("Platform", {"platform": platform}, dryRun=True)
    errors = property_errors(caught.value)
    assert [path.endswith("pools[0].nodes") for path in errors] == [True]


def test_a_late_cluster_name_reaches_the_objects(plugin):
    late = {SIGNATURE: OUTPUT_VALUE, "value": "blue", "dependencies": []}
    plugin.construct("Platform", {"platform": in_camel_case(), "clusterName": late})
    record = plugin.graph.one(name="yard:ConfigMap:gpuyard-local/gpuyard-platform")
    assert record.inputs["data"]["cluster"] == "blue"


# ── the host alone, without a process around it ───────────────────────────────────────────────────


def test_names_and_numbers_arrive_as_python_has_them():
    host = ComponentHost()
    given = {
        "platform": {
            "budget": {"maxUsdPerHour": 1.5},
            "shapes": [{"gpusPerNode": 8.0, "perPod": {"memoryGib": 64.0}}],
            "teams": [{"guarantee": {"dev_pool/shared": 8.0}, "anotherWord": 1.0}],
            "pools": [{"nodes": 4.0, "sharing": {"time_slicing": 4.0}}],
        },
        "clusterName": "blue",
        "surplus": [1.0],
    }
    mapped = host.map_inputs(given, host._component_defs["Platform"])
    assert mapped == {
        "platform": {
            "budget": {"max_usd_per_hour": 1.5},
            "shapes": [{"gpus_per_node": 8, "per_pod": {"memory_gib": 64}}],
            "teams": [{"guarantee": {"dev_pool/shared": 8}, "anotherWord": 1}],
            "pools": [{"nodes": 4, "sharing": {"time_slicing": 4}}],
        },
        "cluster_name": "blue",
        "surplus": [1],
    }
    numbers = [mapped["platform"]["pools"][0]["nodes"], mapped["surplus"][0]]
    assert [type(number) for number in numbers] == [int, int]


def test_unknown_arguments_are_refused_not_dropped():
    with pytest.raises(pulumi.InputPropertiesError) as caught:
        ComponentHost().construct(
            "yard", "gpuyard:index:Team", {"platform": LOCAL, "temas": "vision"}
        )
    assert caught.value.message == "Team is rejected:"
    assert [one["property_path"] for one in caught.value.errors or ()] == ["team", "temas"]


def test_options_that_contradict_are_an_error_of_the_inputs_too(pulumi_mocks):
    def program():
        one, two = (pulumi.ProviderResource("kubernetes", name, {}) for name in "ab")
        opts = pulumi.ResourceOptions(provider=one, providers=[two])
        ComponentHost().construct("yard", "gpuyard:index:Platform", {"platform": LOCAL}, opts)

    with pytest.raises(pulumi.InputPropertiesError, match="remove one of them"):
        pulumi_mocks.run(program)


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(ComponentInitError):
        ComponentHost().construct(
            "yard", "gpuyard:index:Queueing", {"platform": LOCAL}, "no options"
        )


def test_a_checkout_that_was_never_installed_has_no_version(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(hosting, "version", missing)
    assert json.loads(ComponentHost().schema)["version"] == "0.0.0"


def test_the_token_of_every_component_is_its_class_name():
    tokens = json.loads(ComponentHost().schema)["resources"]
    assert sorted(tokens) == [f"gpuyard:index:{one.__name__}" for one in COMPONENTS]
