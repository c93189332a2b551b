"""Helm releases and charts, as far as a machine without chart repositories has them."""

import pytest
from testbed.plugins.kubernetes import templates

from kit.levels import require_level

CHART = "apiVersion: v2\nname: small\nversion: 1.2.3\nappVersion: '9'\n"
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings, namespace: {{ .Release.Namespace }}}
data: {size: {{ .Values.size | quote }}, kubernetes: {{ .Capabilities.KubeVersion.Version | quote }}}
"""


@pytest.fixture
def chart(stack):
    """A local chart beside the program."""
    folder = stack.folder / "small"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(CHART)
    (folder / "values.yaml").write_text("size: 1\n")
    (folder / "templates" / "settings.yaml").write_text(TEMPLATE)
    return folder


@pytest.fixture
def helm():
    """The helm binary."""
    require_level("engine", templates.find_helm(), "no helm; `scripts/tools helm` builds it")


def test_a_release_from_a_repository_is_recorded_with_its_values_checked(stack, tmp_path):
    (tmp_path / "upstream" / "values").mkdir(parents=True)
    (tmp_path / "upstream" / "values" / "kueue.yaml").write_text(
        "controllerManager: {replicas: 1}\n"
    )
    upstream = {"GPUYARD_UPSTREAM": str(tmp_path / "upstream")}
    source = """
        release = k8s.helm.v3.Release("kueue", chart="oci://example.invalid/charts/kueue", version="0.19.2",
            namespace=NAMESPACE, values={"controllerManager": {"REPLICAS": 2}}, opts=opts())
        pulumi.export("status", release.status)
    """
    stack.program(source.replace("REPLICAS", "replica"))
    failed = stack.up(fails=True, **upstream).output
    assert 'chart "kueue" has no value "controllerManager.replica"' in failed
    stack.program(source.replace("REPLICAS", "replicas"))
    stack.up(**upstream)
    entry = stack.resource("kueue")
    assert entry["id"].startswith(f"{stack.namespace}/kueue-")
    status = entry["outputs"]["status"]
    assert (status["status"], status["version"], status["chart"]) == ("deployed", "0.19.2", "kueue")
    stack.unchanged(**upstream)
    stack.destroy()


@pytest.mark.always
def test_a_release_of_a_local_chart_is_installed(stack, api, chart, helm):
    stack.program("""
        k8s.helm.v3.Release("small", name="mine", chart="./small", namespace=NAMESPACE,
                            values={"size": 7}, opts=opts())
    """)
    stack.up()
    assert api.get("ConfigMap", "mine-settings")["data"]["size"] == "7"
    assert stack.resource("small")["outputs"]["status"]["version"] == "1.2.3"
    stack.unchanged()
    stack.destroy()
    assert api.get("ConfigMap", "mine-settings") is None


@pytest.mark.always
def test_a_local_chart_is_rendered_for_the_version_asked_for(stack, api, chart, helm):
    stack.program("""
        from pulumi_kubernetes.helm.v3 import Chart, LocalChartOpts
        local = LocalChartOpts(path="./small", namespace=NAMESPACE, values={"size": 7}, kube_version="1.35.0")
        Chart("small", local, opts=opts())
    """)
    stack.up()
    assert api.get("ConfigMap", "small-settings")["data"] == {"size": "7", "kubernetes": "v1.35.0"}
    stack.unchanged()


@pytest.mark.always
def test_a_chart_that_would_have_to_be_fetched_is_refused_in_words(stack):
    stack.program("""
        from pulumi_kubernetes.helm.v3 import Chart, ChartOpts, FetchOpts
        far = ChartOpts(chart="far", fetch_opts=FetchOpts(repo="https://example.invalid"))
        Chart("far", far, opts=opts())
    """)
    failed = stack.preview(fails=True, trace=True).output
    assert '"far" would have to be fetched from a repository' in failed
