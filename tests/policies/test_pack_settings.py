"""The pack on the engine's own server: its settings, its remedies, and what could not be judged."""

import json
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy import policy
from pulumi_policy.policy import EnforcementLevel, _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

import pack
import pack_remedies
import pack_settings
from gpuyard_lint.rules import RULES

QUOTA = "kubernetes:core/v1:ResourceQuota"
CLUSTER = "aws:eks/cluster:Cluster"
NODES = "aws:eks/nodeGroup:NodeGroup"
STACK = "pulumi:pulumi:Stack"
BAD_QUOTA = {"metadata": {"name": "gpus"}, "spec": {"hard": {"limits.nvidia.com/gpu": 8}}}
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hidden"}
NAMES = ("gpuyard", "gpuyard-stack", "gpuyard-advice", "gpuyard-stack-advice", "gpuyard-remedies")
LEVELS = {"mandatory": proto.MANDATORY, "remediate": proto.REMEDIATE}


class Server:
    """The server that the engine talks to, with a configuration as `--policy-pack-config` has it."""

    def __init__(self, *, of_stack: str | None = None, **config: dict[str, Any]) -> None:
        held = pack_settings.PackSettings(RULES)
        if of_stack is not None:
            held.stack({"gpuyard:platform": of_stack})
        self._server = _PolicyAnalyzerServicer(
            "gpuyard", "1", pack.policies(held=held), EnforcementLevel.ADVISORY
        )
        request = proto.ConfigureAnalyzerRequest()
        for name, given in config.items():
            own = dict(given)
            policy = name.replace("_", "-")
            default = "mandatory" if policy == "gpuyard" else "advisory"
            level = own.pop("enforcementLevel", default)
            request.policyConfig[policy].enforcementLevel = LEVELS.get(level, proto.ADVISORY)
            json_format.ParseDict(own, request.policyConfig[policy].properties)
        self._server.Configure(request, None)

    def _request(self, of: type, kind: str, properties: dict[str, Any], name: str) -> Any:
        urn = f"urn:pulumi:dev::x::{kind}::{name}"
        struct = json_format.ParseDict(properties, struct_pb2.Struct())
        return of(type=kind, properties=struct, urn=urn, name=name)

    def said(self, kind: str, properties: dict[str, Any], name: str = "r") -> list[tuple[str, str]]:
        request = self._request(proto.AnalyzeRequest, kind, properties, name)
        answer = self._server.Analyze(request, None)
        return [_told(each) for each in answer.diagnostics]

    def mended(self, kind: str, properties: dict[str, Any], name: str = "r") -> Any:
        request = self._request(proto.AnalyzeRequest, kind, properties, name)
        answer = self._server.Remediate(request, None)
        assert [each.diagnostic for each in answer.remediations] == [""] * len(answer.remediations)
        found = [json_format.MessageToDict(each.properties) for each in answer.remediations]
        return found[0] if found else None

    def of_stack(self, *resources: tuple[str, dict[str, Any]]) -> list[tuple[str, str]]:
        made = [
            self._request(proto.AnalyzerResource, kind, properties, f"r{number}")
            for number, (kind, properties) in enumerate(resources)
        ]
        answer = self._server.AnalyzeStack(proto.AnalyzeStackRequest(resources=made), None)
        return [_told(each) for each in answer.diagnostics]


def _told(diagnostic: Any) -> tuple[str, str]:
    """The policy, and what it says below its description."""
    description, _, text = diagnostic.message.partition("\n")
    assert description == diagnostic.description
    return diagnostic.policyName, text


def exception(resource: str = "gpus", expires: str = "2027-01-01") -> dict[str, Any]:
    return {
        "exceptions": [
            {"rule": "GPU-TEN-02", "resource": resource, "reason": "moves", "expires": expires}
        ]
    }


def policies_that_speak(server: Server) -> list[str]:
    return [name for name, _ in server.said(QUOTA, BAD_QUOTA)]


def test_there_are_five_policies_and_every_one_takes_the_settings():
    made = pack.policies()
    assert tuple(policy.name for policy in made) == NAMES
    assert all(policy.config_schema is pack.SCHEMA for policy in made)


@pytest.mark.parametrize(
    ("settings", "speak"),
    [
        ({}, ["gpuyard"]),
        ({"levels": {"GPU-TEN-02": "advisory"}}, ["gpuyard-advice"]),
        ({"levels": {"GPU-TEN-02": "off"}}, []),
        (exception(), []),
        (exception("other"), ["gpuyard"]),
        (exception(expires="2026-10-15"), ["gpuyard"]),
    ],
)
def test_what_is_set_for_the_first_policy_holds_for_all(settings, speak):
    assert policies_that_speak(Server(gpuyard=settings)) == speak


def test_a_policy_with_a_configuration_of_its_own_follows_that():
    own = {"levels": {"GPU-TEN-02": "advisory"}}
    assert policies_that_speak(Server(gpuyard_advice=own)) == ["gpuyard", "gpuyard-advice"]


def test_numbers_of_the_engine_are_numbers_of_the_rule():
    nodes = {
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
    }

    def bounded(most: int) -> list[str]:
        server = Server(gpuyard={"parameters": {"GPU-CAP-02": {"max_gpus_per_node": most}}})
        return [text for _, text in server.said(NODES, nodes) if "GPU-CAP-02" in text]

    assert bounded(32) == []
    assert "16" in bounded(16)[0]


def test_an_exception_that_is_over_is_said_once_with_the_stack():
    server = Server(gpuyard=exception(expires="2026-10-15"))
    ((_, text),) = server.said(QUOTA, BAD_QUOTA)
    assert text.endswith("; exception expired on 2026-10-15: moves")
    assert server.of_stack() == [
        (
            "gpuyard-stack-advice",
            "the exception to GPU-TEN-02 for gpus expired on 2026-10-15: the rule applies again",
        )
    ]


def test_settings_that_cannot_be_read_stop_the_preview_and_are_said_once():
    server = Server(gpuyard={"levels": {"GPU-TEN-2": "off", "GPU-TEN-02": "off"}})
    assert policies_that_speak(server) == ["gpuyard"]
    assert server.of_stack((QUOTA, BAD_QUOTA)) == [
        (
            "gpuyard-stack",
            "the settings of the pack: levels.GPU-TEN-2: no rule 'GPU-TEN-2'; did you mean GPU-TEN-02?",
        )
    ]


def test_what_could_not_be_judged_is_said_and_counted():
    server = Server()
    unknown = {"spec": {"namespaceSelector": UNKNOWN_STRING_VALUE}}
    kind = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"
    assert server.said(kind, unknown) == [
        ("gpuyard-advice", "GPU-TEN-04 not evaluated: it needs a value that is not known yet")
    ]
    counted = "1 check needs values that are known only after the update, and did not run"
    after = "lint the state after the update"
    assert server.of_stack() == [("gpuyard-stack-advice", f"{counted}: {after}")]
    assert server.of_stack() == []
    server.said(kind, unknown)
    server.said(kind, unknown, "another")
    ((_, text),) = server.of_stack()
    assert text.startswith("2 checks need values that are known only after the update")


def test_each_resource_is_judged_once_for_both_policies(monkeypatch):
    seen = []
    judge = pack.check_resource
    monkeypatch.setattr(
        pack, "check_resource", lambda rule, *rest: [seen.append(rule.id), *judge(rule, *rest)][1:]
    )
    server = Server()
    server.said(QUOTA, BAD_QUOTA)
    server.said(QUOTA, BAD_QUOTA)
    assert seen == ["GPU-TEN-02", "GPU-TEN-02"]


def test_a_configuration_is_read_once(monkeypatch):
    read = []
    settings_of = pack_settings.settings_of
    monkeypatch.setattr(
        pack_settings, "settings_of", lambda *given: [read.append(1), settings_of(*given)][1]
    )
    server = Server(gpuyard=exception())
    for _ in range(3):
        policies_that_speak(server)
    assert read == [1]


# ── what the stack file says ──

PLATFORM = "gpuyard:index:Platform"
OFF = {"levels": {"GPU-TEN-02": "off"}}
ADVISED = {"levels": {"GPU-TEN-02": "advisory"}}


def of_stack(policies: Any) -> str:
    """The platform as the engine tells the configuration of a stack."""
    return json.dumps({"name": "lab", "policies": policies})


@pytest.mark.parametrize(
    ("policies", "config", "speak"),
    [
        (OFF, {}, []),
        (ADVISED, {}, ["gpuyard-advice"]),
        (None, {}, ["gpuyard"]),
        (exception(), {}, []),
        (exception(expires="2026-10-15"), {}, ["gpuyard"]),
        (exception(expires="2027-01-01 00:00:00 +0000 UTC"), {}, []),
        (exception(expires="2026-10-15 00:00:00 +0000 UTC"), {}, ["gpuyard"]),
        (OFF, ADVISED, ["gpuyard-advice"]),
        (ADVISED, exception(), []),
    ],
)
def test_the_policies_of_the_stack_s_configuration_hold_from_the_first_resource_on(
    policies, config, speak
):
    assert policies_that_speak(Server(of_stack=of_stack(policies), gpuyard=config)) == speak


def test_the_policies_of_a_platform_written_in_code_hold_from_there_on():
    server = Server()
    assert policies_that_speak(server) == ["gpuyard"]
    server.said(PLATFORM, {"platform": {"name": "lab", "policies": ADVISED}}, "lab")
    assert policies_that_speak(server) == ["gpuyard-advice"]
    server.said(PLATFORM, {"platform": {"name": "sound"}}, "sound")
    assert policies_that_speak(server) == ["gpuyard-advice"]


def test_the_same_policies_heard_twice_are_one(monkeypatch):
    over = exception(expires="2026-10-15")
    server = Server(of_stack=of_stack(over))
    server.said(PLATFORM, {"platform": {"name": "lab", "policies": over}}, "lab")
    assert [text for _, text in server.of_stack()] == [
        "the exception to GPU-TEN-02 for gpus expired on 2026-10-15: the rule applies again"
    ]
    seen = []
    judge = pack.check_resource
    monkeypatch.setattr(
        pack, "check_resource", lambda rule, *rest: [seen.append(rule.id), *judge(rule, *rest)][1:]
    )
    policies_that_speak(server)
    assert seen == ["GPU-TEN-02"]


def test_a_policy_with_a_configuration_of_its_own_hears_the_stack_file_as_well():
    own = {"parameters": {"GPU-CAP-02": {"max_gpus_per_node": 8}}}
    server = Server(of_stack=of_stack(ADVISED), gpuyard_advice=own)
    assert policies_that_speak(server) == ["gpuyard-advice"]


def test_slips_in_the_stack_file_stop_and_say_whose_they_are():
    server = Server(of_stack=of_stack({"levels": {"GPU-TEN-2": "off"}}))
    assert policies_that_speak(server) == ["gpuyard"]
    slip = "levels.GPU-TEN-2: no rule 'GPU-TEN-2'; did you mean GPU-TEN-02?"
    assert server.of_stack() == [("gpuyard-stack", f"policies of the stack file: {slip}")]


@pytest.mark.parametrize("text", ["", "no json", "null", "[]", '"lab"', '{"policies": null}'])
def test_a_configuration_without_a_platform_changes_nothing(text):
    server = Server(of_stack=text)
    assert policies_that_speak(server) == ["gpuyard"]
    assert server.of_stack() == []


def test_the_configuration_is_heard_where_the_engine_tells_it(monkeypatch):
    # what is set here is taken back when the test ends
    monkeypatch.setattr(policy, "_PolicyAnalyzerServicer", _PolicyAnalyzerServicer)
    heard: list[Any] = []
    pack_settings.hear_configuration(heard.append)
    server = policy._PolicyAnalyzerServicer("x", "1", pack.policies(), EnforcementLevel.ADVISORY)
    told = proto.AnalyzerStackConfigureRequest(config={"a:b": "c"}, tags={"t": "u"})
    assert isinstance(server.ConfigureStack(told, None), proto.AnalyzerStackConfigureResponse)
    assert heard == [{"a:b": "c"}]


# ── remedies ──

REMEDIES = {"enforcementLevel": "remediate"}
LOGS = {"name": "c", "roleArn": "arn", "enabledClusterLogTypes": ["api"]}


def remedies(**settings: Any) -> Server:
    server = Server(gpuyard=settings, gpuyard_remedies=REMEDIES)
    server.said(STACK, {}, "the-stack")
    return server


def test_nothing_is_mended_unless_it_is_asked_for():
    server = Server()
    server.said(STACK, {}, "the-stack")
    assert server.mended(CLUSTER, LOGS) is None


def test_a_remedy_changes_what_is_violated_and_nothing_else():
    assert remedies().mended(CLUSTER, LOGS) == {
        "name": "c",
        "roleArn": "arn",
        "enabledClusterLogTypes": ["api", "audit", "authenticator"],
    }


def test_what_is_sound_and_what_no_rule_looks_at_is_left_alone():
    server = remedies()
    sound = {**LOGS, "enabledClusterLogTypes": ["audit", "authenticator"]}
    assert server.mended(CLUSTER, sound) is None
    assert server.mended(STACK, {}) is None
    assert server.mended("aws:sqs/queue:Queue", {}) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"levels": {"GPU-AWS-03": "off"}},
        {
            "exceptions": [
                {"rule": "GPU-AWS-03", "resource": "r", "reason": "x", "expires": "2027-01-01"}
            ]
        },
    ],
)
def test_what_is_let_pass_is_not_mended(settings):
    assert remedies(**settings).mended(CLUSTER, LOGS) is None


def test_before_it_is_known_what_is_let_pass_nothing_is_mended():
    server = Server(gpuyard_remedies=REMEDIES)
    assert server.mended(CLUSTER, LOGS) is None


def test_secrets_stay_secret_and_unknown_values_unknown():
    given = {**LOGS, "roleArn": UNKNOWN_STRING_VALUE, "tags": {"key": SECRET, "a": 1}}
    assert remedies().mended(CLUSTER, given) == {
        **given,
        "enabledClusterLogTypes": ["api", "audit", "authenticator"],
    }


def test_a_remedy_that_needs_an_unknown_value_waits():
    assert (
        remedies().mended(CLUSTER, {**LOGS, "enabledClusterLogTypes": UNKNOWN_STRING_VALUE}) is None
    )


def test_a_mapping_is_mended_inside_and_its_other_keys_kept():
    template = {
        "instanceType": "p5.48xlarge",
        "metadataOptions": {"httpTokens": "optional", "instanceMetadataTags": UNKNOWN_STRING_VALUE},
    }
    mended = remedies().mended("aws:ec2/launchTemplate:LaunchTemplate", template)
    assert mended is not None
    assert mended["metadataOptions"] == {
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1.0,
        "instanceMetadataTags": UNKNOWN_STRING_VALUE,
    }


def test_properties_that_are_no_proxy_are_merged_as_they_are():
    before = {"a": {"b": 1}, "c": 2}
    assert pack_remedies._merged(before, before, {**before, "a": {"b": 3}}) == {
        "a": {"b": 3},
        "c": 2,
    }
    assert pack_remedies._merged(before, before, before) is before


CLAIM, SPACE = "kubernetes:core/v1:PersistentVolumeClaim", "kubernetes:core/v1:Namespace"
TEAM = {"metadata": {"name": "vision", "annotations": {"admission.gpuyard.dev/queues": "default"}}}


TAKEN = (
    "GPU-ADM-10 spec.volumeName: claim home binds PersistentVolume weights by name, even one created for"
    " another team; remove volumeName; administrators reserve a volume for a claim by its claimRef"
)


@pytest.mark.parametrize(
    ("written", "found"),
    [({"storageClassName": ""}, []), ({"volumeName": "weights"}, [TAKEN])],
)
def test_a_bound_claim_is_judged_by_what_the_program_wrote(written, found):
    """Kubernetes writes the volume's name into every claim that it binds."""
    server, metadata = Server(), {"name": "home", "namespace": "vision"}
    server.said(SPACE, TEAM, "r0")
    server.said(CLAIM, {"metadata": metadata, "spec": written}, "r1")
    bound = {"metadata": metadata, "spec": {**written, "volumeName": "weights"}}
    said = server.of_stack((SPACE, TEAM), (CLAIM, bound))
    assert [text for _, text in said if "GPU-ADM-10" in text] == found


def test_a_claim_that_an_update_with_refresh_deletes_is_not_judged():
    """The engine refreshes it, and shows its outputs; the program of the update has it no more."""
    server = Server()
    server.said(SPACE, TEAM, "r0")
    metadata = {"name": "home", "namespace": "vision"}
    gone = {"metadata": metadata, "spec": {"volumeName": "weights"}}
    said = server.of_stack((SPACE, TEAM), (CLAIM, gone))
    assert [text for _, text in said if "GPU-ADM-10" in text] == []
