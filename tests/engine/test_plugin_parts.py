"""The provider's and the host's own decisions, without an engine and without a cluster."""

import base64
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
import urllib3
from pulumi.runtime.proto import provider_pb2 as wire
from testbed.plugins.kubernetes import (
    checking,
    cluster,
    connection,
    diff,
    failures,
    force_new,
    helm,
    jsonpath,
    kstatus,
    normalize,
    pulumi_annotations,
    readiness,
    settings,
    templates,
    values,
    writing,
)

pytestmark = [pytest.mark.unit, pytest.mark.always]

ROOT = Path(__file__).resolve().parents[2]
KUBECONFIG = {
    "current-context": "a",
    "contexts": [
        {"name": "a", "context": {"cluster": "one", "namespace": "mine"}},
        {"name": "b", "context": {"cluster": "two"}},
    ],
    "clusters": [
        {"name": "one", "cluster": {"server": "https://one"}},
        {"name": "two", "cluster": {"server": "https://two"}},
    ],
}


# values


def test_secrets_and_unknowns_survive_the_wire():
    given = {
        "a": values.Secret({"b": [1, values.UNKNOWN]}),
        "n": 3,
        "x_kubernetes_validations": [None, 1.5, True],
    }
    assert values.read(values.write(given)) == given
    assert values.manifest(given)["x-kubernetes-validations"] == [None, 1.5, True]
    assert values.properties({"x-kubernetes-validations": 1}) == {"x_kubernetes_validations": 1}
    assert "1" not in repr(given["a"])


def test_an_output_is_read_as_what_it_holds():
    output = {values.SIGNATURE: values.OUTPUT, "value": 1.0, "secret": True}
    pending = {values.SIGNATURE: values.OUTPUT}
    read = values.read(values.write({"known": output, "pending": pending}))
    assert read == {"known": values.Secret(1), "pending": values.UNKNOWN}


@pytest.mark.parametrize(
    ("outputs", "inputs", "secret"),
    [
        ({"a": 1, "b": 2}, {"a": values.Secret(1)}, {"a"}),
        ({"a": [1, 2]}, {"a": [1, values.Secret(2)]}, {"a"}),
        ({"kind": "Secret", "data": {"k": "v"}}, {}, {"data"}),
        ({"kind": "ConfigMap", "data": {"k": "v"}}, {}, set()),
    ],
)
def test_outputs_are_secret_where_inputs_were(outputs, inputs, secret):
    values.mark_secrets(outputs, inputs)
    assert {key for key, value in outputs.items() if isinstance(value, values.Secret)} == secret


def test_a_secret_inside_an_object_does_not_taint_the_whole():
    outputs = {"spec": {"a": 1, "b": 2}}
    values.mark_secrets(outputs, {"spec": {"a": values.Secret(1), "b": 2}})
    assert outputs == {"spec": {"a": values.Secret(1), "b": 2}}


# normalisation


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1000m", "1"), ("0.5", "500m"), (1, "1"), (0.25, "250m"), ("1024Mi", "1Gi"), ("1536Mi", "1536Mi"),
        ("1e3", "1e3"), ("1000", "1k"), ("2048", "2048"), ("0", "0"), ("0.5Gi", "512Mi"), ("100k", "100k"),
    ],
)  # fmt: skip
def test_quantities_are_written_as_kubernetes_writes_them(written, stored):
    assert normalize.canonical(written) == stored


def test_inputs_become_what_the_server_keeps():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"uid": "u", "labels": {}},
           "spec": {"tolerations": [], "volumes": [{"emptyDir": {"sizeLimit": "1024Mi"}}],
                    "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "1000m"}}}],
                    }}  # fmt: skip
    assert normalize.inputs(pod) == {
        "apiVersion": "v1", "kind": "Pod", "metadata": {},
        "spec": {"volumes": [{"emptyDir": {"sizeLimit": "1Gi"}}],
                 "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "1"}}}]},
    }  # fmt: skip
    assert pod["metadata"]["uid"] == "u"


def test_a_custom_resource_stays_as_it_is_written():
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {},
             "spec": {"namespaceSelector": {}, "limits": {"cpu": "1000m"}, "cohorts": []}}  # fmt: skip
    assert normalize.inputs(queue) == queue


def test_secret_texts_are_encoded_and_win():
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"a": "eA==", "b": "eQ=="},
        "stringData": {"a": "z"},
    }
    encoded = base64.b64encode(b"z").decode()
    assert normalize.inputs(secret)["data"] == {"a": encoded, "b": "eQ=="}
    assert "stringData" not in normalize.inputs(secret)


# diff

Kind = wire.PropertyDiff


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": 1}, {"a": True}, {"a": Kind.UPDATE}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a.c": Kind.DELETE}),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, {"a[0].c": Kind.DELETE}),
        ({"a": [1]}, {"a": [1, 2]}, {"a[1]": Kind.ADD}),
        ({"a": [1, 2]}, {"a": [1]}, {"a[1]": Kind.DELETE}),
        ({}, {"x.y/z": 1}, {'["x.y/z"]': Kind.ADD}),
        ({"a": 1}, {"a": values.UNKNOWN}, {"a": Kind.UPDATE}),
        ({}, {"a": values.UNKNOWN}, {"a": Kind.ADD}),
        ({"spec": {"f": 1}}, {"spec": {"f": 2}}, {"spec.f": Kind.UPDATE_REPLACE}),
        ({"spec": {"f": {"g": 1}}}, {"spec": {"f": {"g": 2}}}, {"spec.f.g": Kind.UPDATE_REPLACE}),
        ({}, {"spec": {"f": 1}}, {"spec": Kind.ADD_REPLACE}),
        ({"spec": {"l": [{"i": 1}]}}, {"spec": {"l": [{"i": 2}]}}, {"spec.l[0].i": Kind.UPDATE_REPLACE}),
    ],
)  # fmt: skip
def test_the_detailed_diff(old, new, found):
    comparison = diff.Comparison((".spec.f", ".spec.l[*].i")).compare(old, new, old)
    assert {key: value.kind for key, value in comparison.found.items()} == found


def test_ignored_paths_are_left_out():
    comparison = diff.Comparison(()).compare(
        {"a": {"b.c": 1, "d": 1}}, {"a": {"b.c": 2, "d": 2}}, {}
    )
    comparison.ignore(['a["b.c"]'])
    assert set(comparison.found) == {"a.d"}


def test_the_live_object_is_cut_to_the_shape_of_the_inputs():
    live = {"a": {"b": 1, "filled": 2}, "l": [{"x": 1, "filled": 1}, {"x": 2}], "status": {}}
    assert diff.prune(live, {"a": {"b": 0}, "l": [{"x": 0}]}) == {"a": {"b": 1}, "l": [{"x": 1}]}


@pytest.mark.parametrize(
    ("kind", "more", "switches", "expected"),
    [
        ("ConfigMap", {}, {}, True),
        ("ConfigMap", {}, {"config_map_mutable": True}, False),
        ("ConfigMap", {"immutable": True}, {"config_map_mutable": True}, True),
        ("Secret", {}, {}, True),
        ("Secret", {}, {"secret_mutable": True}, False),
    ],
)
def test_content_of_config_maps_and_secrets_replaces_unless_mutable(kind, more, switches, expected):
    obj = {"apiVersion": "v1", "kind": kind, **more}
    assert (".data" in force_new.fields(obj, **switches)) == expected


# names


def _request(**more):
    return checking.Request("urn:pulumi:dev::p::a$kubernetes:core/v1:ConfigMap::settings", **more)


def _check(given, old=None, **more):
    body = {"apiVersion": "v1", "kind": "ConfigMap", **given}
    return checking.run(_request(**more), old or {}, body, None, "mine")


def test_a_name_is_made_from_the_seed_and_kept():
    first = _check({}, seed=b"1")
    name = first["metadata"]["name"]
    assert name == _check({}, seed=b"1")["metadata"]["name"]
    assert (len(name), name[:9]) == (17, "settings-")
    assert first["metadata"]["annotations"] == {pulumi_annotations.AUTONAMED: "true"}
    assert first["metadata"]["namespace"] == "mine"
    assert _check({}, old=first, seed=b"2")["metadata"]["name"] == name


def test_a_given_name_is_left_alone():
    assert _check({"metadata": {"name": "n"}})["metadata"] == {"name": "n", "namespace": "mine"}
    unknown = _check({"metadata": {"name": values.UNKNOWN}})
    assert unknown["metadata"]["name"] is values.UNKNOWN


def test_the_engine_may_propose_or_forbid_names():
    assert _check({}, autonaming=("PROPOSE", "wanted"))["metadata"]["name"] == "wanted"
    with pytest.raises(failures.ProviderError, match="autonaming is disabled"):
        _check({}, autonaming=("DISABLE", ""))
    with pytest.raises(failures.ProviderError, match="generateName"):
        _check({"metadata": {"generateName": "a-"}})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("ConfigMapList", "list resources"),
        ("ConfigMapPatch", "needs the name of the object that it patches"),
    ],
)
def test_kinds_that_cannot_be_had_are_refused(kind, said):
    request = checking.Request(f"urn:pulumi:dev::p::kubernetes:core/v1:{kind}::x")
    body = {"apiVersion": "v1", "kind": kind.removesuffix("Patch")}
    with pytest.raises(failures.ProviderError, match=said):
        checking.run(request, {}, body, None, "")


# settings


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        ({"context": "a"}, {"context": "b"}, ["context"]),
        ({"namespace": "x"}, {"namespace": "y"}, []),
        ({"clusterIdentifier": "1"}, {"clusterIdentifier": "2"}, ["clusterIdentifier"]),
        ({}, {"clusterIdentifier": "2"}, []),
        (
            {"clusterIdentifier": "1", "context": "a"},
            {"clusterIdentifier": "1", "context": "b"},
            [],
        ),
        ({"clusterIdentifier": "1"}, {"clusterIdentifier": "1", "kubeconfig": values.UNKNOWN}, []),
        ({}, {"kubeconfig": values.UNKNOWN}, ["kubeconfig"]),
    ],
)
def test_what_replaces_the_provider(old, new, replaces):
    response = settings.diff({"kubeconfig": KUBECONFIG, **old}, {"kubeconfig": KUBECONFIG, **new})
    assert response.changes == wire.DiffResponse.DIFF_SOME
    assert list(response.replaces) == replaces


def test_the_namespace_comes_from_the_setting_or_the_context():
    chosen = settings.Settings(kubeconfig=KUBECONFIG)
    assert settings.default_namespace(chosen) == "mine"
    assert (
        settings.default_namespace(settings.Settings(kubeconfig=KUBECONFIG, context="b"))
        == "default"
    )
    assert (
        settings.default_namespace(settings.Settings(namespace="n", kubeconfig=KUBECONFIG)) == "n"
    )


def test_a_setting_comes_before_its_variable(monkeypatch):
    monkeypatch.setenv("PULUMI_K8S_UPSERT_EXISTING_OBJECTS", "true")
    assert settings.from_variables({}).upsert
    assert not settings.from_variables({"kubernetes:config:upsertExistingObjects": "false"}).upsert
    broken = settings.from_variables({"kubernetes:config:kubeconfig": "no such file"})
    assert broken.kubeconfig_error.endswith("neither a file nor the text of one")
    with pytest.raises(failures.ProviderError, match="enableServerSideApply=false"):
        settings.from_variables({"kubernetes:config:enableServerSideApply": "false"})
    assert settings.check({"renderYamlToDirectory": "out"}) == []
    assert [
        f.property for f in settings.check({"renderYamlToDirectory": "out", "context": "a"})
    ] == ["context"]


# waiting

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "1"}}


class _NoPods:
    def list(self, *_):
        return []


@pytest.mark.parametrize(
    ("status", "ready", "failed", "said"),
    [
        ({}, False, False, 'Waiting for Job "j" to start'),
        ({"startTime": "t", "active": 1}, False, False, "(Active: 1 | Succeeded: 0 | Failed: 0)"),
        ({"startTime": "t", "conditions": [{"type": "Complete", "status": "True"}]}, True, False, ""),
        ({"startTime": "t", "conditions": [{"type": "Failed", "status": "True", "message": "m",
          "reason": "BackoffLimitExceeded"}]}, False, True, "[BackoffLimitExceeded] m"),
        ({"startTime": "t", "conditions": [{"type": "Failed", "status": "True", "reason": "Other"}]},
         False, False, ""),
    ],
)  # fmt: skip
def test_when_a_job_is_ready_or_lost(status, ready, failed, said):
    state = readiness.job(readiness.Look(_NoPods(), JOB), {**JOB, "status": status})
    assert (state.ready, state.failed) == (ready, failed)
    assert said in " ".join([state.message, *state.reasons])


@pytest.mark.parametrize(
    ("written", "matched"),
    [
        ("jsonpath={.status.state}=ready", True),
        ("jsonpath={.status.state}", True),
        ("jsonpath={.status.conditions[?(@.type=='Ready')].status}=True", True),
        ('jsonpath={.status.conditions[?@.type=="Ready"].status}=False', False),
        ("jsonpath={.status.list[1]}=b", True),
        ("jsonpath={.status['a.b']}=true", True),
        ("jsonpath={.status.missing}", False),
        ("jsonpath={.status.list[*]}=a", True),
    ],
)
def test_json_paths(written, matched):
    status = {"state": "ready", "list": ["a", "b"], "a.b": True,
              "conditions": [{"type": "Other"}, {"type": "Ready", "status": "True"}]}  # fmt: skip
    assert jsonpath.parse(written).matches({"status": status})[0] == matched


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("jsonpath='{.a}'", "should omit shell quotes"),
        ("jsonpath=.a", "should be wrapped in brackets"),
        ("jsonpath={.a}=", "requires a value"),
        ("jsonpath={.a..b}", "unexpected"),
    ],
)
def test_a_bad_json_path_is_refused(written, said):
    with pytest.raises(failures.ProviderError, match=said):
        jsonpath.parse(written)


@pytest.mark.parametrize(
    ("status", "current"),
    [
        ({}, True),
        ({"observedGeneration": 1}, False),
        ({"conditions": [{"type": "Ready", "status": "False", "message": "m"}]}, False),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ({"conditions": [{"type": "Stalled", "status": "True"}]}, False),
    ],
)
def test_the_generic_rule(status, current):
    assert (
        kstatus.compute({"kind": "X", "metadata": {"generation": 2}, "status": status})[0]
        == current
    )


# the API server


class _Answers:
    """A pool that gives prepared answers."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def request(self, method, url, **more):
        self.asked.append((method, url))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, headers, body = answer
        return SimpleNamespace(status=status, headers=headers, data=body)


def _cluster(*answers):
    pool = _Answers(*answers)
    return pool, cluster.Cluster(connection.Connection("https://host", pool, lambda: "Bearer t"))


def test_a_server_with_too_much_to_do_is_asked_again():
    pool, served = _cluster((429, {"Retry-After": "0"}, b""), (200, {}, b'{"kind": "A"}'))
    assert served.request("GET", "/x", query={"a": "b c"}) == {"kind": "A"}
    assert pool.asked == [("GET", "https://host/x?a=b+c")] * 2


def test_answers_that_are_no_success_say_what_they_are():
    body = b'{"message": "no such thing", "reason": "NotFound", "details": {"kind": "namespaces"}}'
    with pytest.raises(failures.ApiError, match="no such thing") as caught:
        _cluster((404, {}, body))[1].request("GET", "/x")
    assert caught.value.missing_namespace
    with pytest.raises(failures.ApiError, match="the API server answered 502: <html>"):
        _cluster((502, {}, b"<html>"))[1].request("GET", "/x")
    with pytest.raises(failures.Unreachable, match="https://host/x"):
        _cluster(urllib3.exceptions.ProtocolError("gone"))[1].request("POST", "/x", {})


def test_a_server_that_nobody_started_is_told_in_the_words_of_the_operating_system():
    pool = urllib3.PoolManager()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{listener.getsockname()[1]}"
        served = cluster.Cluster(connection.Connection(host, pool, lambda: ""))
        with pytest.raises(failures.Unreachable) as caught:
            served.request("GET", "/x")
    assert str(caught.value) == f"GET {host}/x: Connection refused"


def test_a_kind_is_looked_up_until_it_is_served():
    nothing, something = (
        b'{"resources": []}',
        b'{"resources": [{"kind": "A", "name": "as", "namespaced": true}]}',
    )
    pool, served = _cluster((404, {}, b"{}"), (200, {}, nothing), (200, {}, something))
    for _ in range(2):
        with pytest.raises(failures.NoSuchKind):
            served.kind("g/v1", "A")
    assert served.kind("g/v1", "A").url("n", "x") == "/apis/g/v1/namespaces/n/as/x"
    served.kind("g/v1", "A")
    assert len(pool.asked) == 3


def test_a_kubeconfig_with_a_token_needs_no_client_package(monkeypatch):
    users = [{"name": "u", "user": {"token": "t"}}]
    contexts = [{"name": "a", "context": {"cluster": "one", "user": "u"}}]
    made = connection.connect({**KUBECONFIG, "contexts": contexts, "users": users}, None)
    assert (made.host, made.authorization()) == ("https://one", "Bearer t")
    broken = {"server": "https://one", "certificate-authority": "/no/such/file"}
    clusters = [{"name": "one", "cluster": broken}]
    config = {**KUBECONFIG, "contexts": contexts, "clusters": clusters}
    with pytest.raises(failures.Unreachable, match="certificates cannot be read"):
        connection.connect(config, None)


# writing


def test_fields_of_kubectl_and_of_the_creator_move_to_the_manager():
    managed = [
        {"manager": "pulumi-kubernetes", "operation": "Update", "fieldsV1": {"f:a": {"f:x": {}}}},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:a": {"f:y": {}}}},
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "subresource": "status",
            "fieldsV1": {},
        },
        {"manager": "somebody", "operation": "Update", "fieldsV1": {"f:b": {}}},
    ]
    left = writing._replace_managers(managed, "pulumi-kubernetes-1")
    assert [entry["manager"] for entry in left] == [
        "kube-controller-manager",
        "somebody",
        "pulumi-kubernetes-1",
    ]
    assert left[-1]["fieldsV1"] == {"f:a": {"f:x": {}, "f:y": {}}}
    assert left[-1]["operation"] == "Apply"
    assert writing._replace_managers(left, "pulumi-kubernetes-1") is None


def test_ignored_fields_keep_their_live_value_or_are_left_to_their_manager():
    live = {"spec": {"ours": 1, "theirs": 2}, "metadata": {"managedFields": [
        {"manager": "us", "fieldsV1": {"f:spec": {"f:ours": {}}}},
        {"manager": "them", "fieldsV1": {"f:spec": {"f:theirs": {}}}}]}}  # fmt: skip
    body = writing._with_ignored(
        {"spec": {"ours": 9, "theirs": 9}}, live, ["spec.ours", "spec.theirs"], "us"
    )
    assert body == {"spec": {"ours": 1}}


def test_secrets_are_taken_out_of_messages():
    secrets = values.secret_strings({"a": values.Secret({"b": ["hush-hush", "hush"]}), "c": "open"})
    assert (
        failures.scrub("Invalid: hush-hush or hush, open", secrets)
        == "Invalid: [secret] or [secret], open"
    )


# Helm and YAML


def test_values_that_a_chart_lacks_are_named():
    tree = {"driver": {"enabled": True, "env": []}, "labels": {"x": "y"}, "free": {}, "maybe": None}
    given = {"driver": {"enabeld": 1, "env": [1]}, "labels": {"z": 1}, "free": {"a": 1}, "maybe": {"b": 1},
             "global": {"registry": "r"}, "wrong": 1}  # fmt: skip
    assert list(helm.unknown_values(given, tree)) == ["driver.enabeld", "wrong"]


def test_documents_are_decoded_with_the_namespace_where_it_belongs():
    text = "kind: Namespace\napiVersion: v1\nmetadata: {name: n}\n---\n---\nkind: ConfigMap\napiVersion: v1\n"
    namespace, config_map = templates.decode(text, "mine", None)
    assert namespace["metadata"] == {"name": "n"}
    assert config_map["metadata"] == {"namespace": "mine"}
    with pytest.raises(failures.ProviderError, match="fetched from a repository"):
        templates.invoke(
            "kubernetes:helm:template", {"jsonOpts": '{"chart": "c", "repo": "r"}'}, None
        )
