"""`gpuyard job`: manifests that start, and one verdict on manifests from elsewhere."""

import io
import json
import sys

import pytest
import yaml

from kit.cases.explain import job
from kit.stacks import cut_pool, platform, pool, shape, shared_pool, team


def flat(text):
    return " ".join(text.split())


def submitted(**rest):
    """A whole Job, as the API server requires it."""
    image = rest.pop("image", "registry.example/train:1.4")
    value = {"apiVersion": "batch/v1", **job(**rest)}
    spec = value["spec"]["template"]["spec"]
    spec["restartPolicy"] = "Never"
    spec["containers"][0] |= {"name": "main", "image": image}
    return value


@pytest.fixture
def stack(write):
    pools = [pool(), cut_pool(), shared_pool()]
    teams = [
        team("vision", guarantee={"train": 8, "dev/shared": 4}, borrow={"train": 16}),
        team("speech", guarantee={"train": 16}, borrow={"train": 8}, queues={"nightly": 1}),
    ]
    shapes = [shape(nodes=2, gpus_per_node=8), shape("notebook", per_pod={"shares": 1})]
    return write(platform(pools, teams, cloud="simulated", shapes=shapes))


@pytest.fixture
def new(gpuyard, stack):
    """Write a manifest for this shape and team."""

    def written(shape, team, *more, stack=stack):
        return gpuyard("job", "new", stack, "--shape", shape, "--team", team, *more)

    return written


@pytest.fixture
def check(gpuyard, write, stack):
    """Check these objects."""

    def checked(*values, more=()):
        return gpuyard("job", "check", stack, write(yaml.safe_dump_all(values), "job.yaml"), *more)

    return checked


def test_a_job_that_starts_without_findings(check):
    ended = check(submitted(gpus=8))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Job job  starts in train\n")
    assert flat(ended.out).endswith("job.yaml: 1 workload can start, no findings")
    assert "\nok      " in ended.out


def test_a_job_that_never_starts_fails_without_a_finding(check):
    ended = check(submitted(pods=4, gpus=8))
    assert ended.code == 3
    text = flat(ended.out)
    assert "change run 3 pods instead of 4" in text
    assert text.endswith("job.yaml: 1 of 1 workload never starts, no findings")


def test_a_warning_is_shown_and_does_not_fail(check):
    ended = check(submitted(gpus=8, image="registry.example/train:latest"))
    assert ended.code == 0
    text = flat(ended.out)
    assert "warning spec.template.spec.containers[0].image: registry.example/train:latest" in text
    assert "in Job vision/job" in text
    assert text.endswith("job.yaml: 1 workload can start, 1 warning")


def test_each_workload_has_its_own_findings(check):
    fine = submitted(gpus=8, name="fine")
    bad = submitted(gpus=8, name="bad", hostNetwork=True)
    ended = check(bad, fine, more=["--format", "json"])
    assert ended.code == 3
    found = json.loads(ended.out)
    assert (found["command"], found["ok"], found["hits"]) == ("job check", False, [])
    first, second = found["jobs"]
    assert (first["verdict"], [hit["rule"] for hit in first["hits"]]) == ("never", ["GPU-ADM-02"])
    assert (second["verdict"], second["hits"]) == ("starts", [])


def test_the_requirements_of_the_team_hold_without_its_namespace_in_the_file(check):
    value = submitted(gpus=8, hostNetwork=True)
    del value["metadata"]["namespace"]
    ended = check(value, more=["--team", "vision"])
    assert ended.code == 3
    assert "in Job vision/job" in flat(ended.out)
    assert "gpuyard why GPU-ADM-02" in ended.out


def test_the_queues_of_the_team_are_known_to_both(check):
    unlabelled = submitted(gpus=8, namespace="speech")
    wrong = submitted(gpus=8, namespace="speech", labels={"kueue.x-k8s.io/queue-name": "weekly"})
    right = submitted(gpus=8, namespace="speech", labels={"kueue.x-k8s.io/queue-name": "nightly"})
    found = [
        json.loads(check(each, more=["--format", "json"]).out)["jobs"][0]
        for each in (unlabelled, wrong, right)
    ]
    assert [each["verdict"] for each in found] == ["never", "never", "starts"]
    assert [[hit["rule"] for hit in each["hits"]] for each in found] == [
        ["GPU-ADM-01"], ["GPU-QUE-01"], [],
    ]  # fmt: skip


def test_findings_of_other_objects_come_last(check):
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "vision"},
        "spec": {"externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]},
    }
    ended = check(submitted(gpus=8), service)
    assert ended.code == 3
    assert "in Service vision/web" in flat(ended.out)
    assert flat(ended.out).endswith("1 workload can start, 1 error")
    document = json.loads(check(submitted(gpus=8), service, more=["--format", "json"]).out)
    assert [hit["resource"] for hit in document["hits"]] == ["Service vision/web"]


def test_the_levels_of_the_stack_apply(gpuyard, write):
    policies = {"levels": {"GPU-POD-03": "mandatory"}}
    stack = write(platform([pool()], [team(guarantee={"train": 8})], policies=policies))
    path = write(
        yaml.safe_dump(submitted(gpus=8, image="registry.example/train:latest")), "job.yaml"
    )
    ended = gpuyard("job", "check", stack, path)
    assert (ended.code, "1 error" in ended.out) == (3, True), ended.out


def test_a_comment_ignores_a_rule_as_in_lint(gpuyard, write, stack):
    text = yaml.safe_dump(submitted(gpus=8, image="registry.example/train:latest"))
    text = "# gpuyard: ignore-file GPU-POD-03 because the tag never moves\n" + text
    ended = gpuyard("job", "check", stack, write(text, "job.yaml"))
    assert flat(ended.out).endswith("1 workload can start, no findings")


def test_standard_input_is_checked(gpuyard, stack, monkeypatch):
    text = yaml.safe_dump(submitted(gpus=8, image="registry.example/train:latest")).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    ended = gpuyard("job", "check", stack, "-")
    assert ended.code == 0
    assert "at standard input:" in flat(ended.out)
    assert flat(ended.out).endswith("ok standard input: 1 workload can start, 1 warning")


@pytest.mark.parametrize(
    ("value", "more", "says"),
    [
        ({"kind": "ConfigMap"}, [], "has no workload, only ConfigMap."),
        (job(), ["--team", "art"], "--team art: no such team. Teams are vision, speech."),
        (job(namespace="x"), ["--team", "speech"], "is in the namespace x of no team, and --team is speech."),
    ],
)  # fmt: skip
def test_wrong_usage_of_check(check, value, more, says):
    ended = check(value, more=more)
    assert ended.code == 2
    assert says in ended.err


def test_a_rejected_stack_checks_nothing(gpuyard, write):
    wrong = write(platform([pool(nodes="9..2")]))
    path = write(yaml.safe_dump(job()), "job.yaml")
    assert (
        gpuyard("job", "check", wrong, path).code,
        gpuyard("job", "check", wrong, path).out,
    ) == (3, "")
    document = json.loads(gpuyard("job", "check", wrong, path, "--format", "json").out)
    assert (document["jobs"], document["ok"]) == ([], False)
    assert document["findings"]


def test_a_new_job_is_one_that_check_accepts(new, gpuyard, stack, tmp_path):
    path = tmp_path / "job.yaml"
    ended = new("job", "vision", "--out", path)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "starts: on 2 nodes of train, running already\n"
    checked = gpuyard("job", "check", stack, path)
    assert checked.code == 0
    assert flat(checked.out).endswith("1 workload can start, no findings")


def test_the_options_of_a_new_job(new):
    options = ["--name", "tune", "--queue", "nightly", "--command", "torchrun train.py"]
    options += ["--image", "registry.example/train:1.2", "--kind", "job", "--format", "json"]
    found = json.loads(new("job", "speech", *options).out)
    assert (found["kind"], [each["kind"] for each in found["items"]]) == (
        "List",
        ["Service", "Job"],
    )
    job = found["items"][1]
    assert job["metadata"] == {
        "name": "tune",
        "namespace": "speech",
        "labels": {"kueue.x-k8s.io/queue-name": "nightly", "gpuyard.dev/class": "training"},
    }
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/train:1.2"
    assert container["command"] == ["/bin/sh", "-c", "torchrun train.py"]


def test_the_author_of_a_notebook_is_told_how_to_open_it(new):
    ended = new("notebook", "vision", "--kind", "notebook", "--home-gib", "50")
    assert ended.code == 0
    comments = [line for line in ended.out.splitlines() if line.startswith("#")]
    assert comments == [
        "# Shape notebook for team vision: 1 pod with 1 nvidia.com/gpu.shared, in pool dev.",
        "# Open http://localhost:8888 after: kubectl -n vision port-forward service/notebook 8888",
        "# The token is in the log: kubectl -n vision logs notebook-0",
        "# The volume home-notebook-0 stays when the notebook is scaled to zero or deleted.",
        "# Team vision has no `idle`: the notebook keeps its quota until you scale it to zero.",
    ]
    service, notebook = yaml.safe_load_all(ended.out)
    assert (service["kind"], notebook["kind"]) == ("Service", "StatefulSet")
    (claim,) = notebook["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "50Gi"}


def test_a_new_job_that_never_starts_is_not_written(new, gpuyard, write, tmp_path):
    admission = {"allowed_images": ["registry.example/"]}
    stack = write(
        platform(
            [pool()],
            [team(guarantee={"train": 8})],
            cloud="simulated",
            shapes=[shape(gpus_per_node=8)],
            admission=admission,
        )
    )
    path = tmp_path / "job.yaml"
    ended = new("job", "vision", "--out", path, stack=stack)
    assert (ended.code, ended.out, path.exists()) == (3, "", False)
    assert "GPU-ADM-05" in ended.err
    assert new("job", "vision", "--image", "registry.example/a:1.0", stack=stack).code == 0


@pytest.mark.parametrize(
    ("shape_", "team_", "more", "says"),
    [
        ("notbook", "vision", [], "--shape notbook: no such shape. Known: job, notebook. Did you mean notebook?"),
        ("job", "visio", [], "--team visio: no such team. Known: vision, speech. Did you mean vision?"),
        ("job", "vision", ["--queue", "nightl"], "--queue nightl: no such queue of team vision. Known: default."),
        ("notebook", "speech", [], "--team speech: it has no quota for 1 nvidia.com/gpu.shared, which shape notebook needs at once. Teams with enough: vision."),  # noqa: E501
        ("job", "vision", ["--kind", "jobset"], "--kind jobset: the stack has no add-on jobset. Add it to addons: [jobset], or use --kind job."),  # noqa: E501
        ("job", "vision", ["--kind", "trainjob"], "--kind trainjob: the stack has no add-on kubeflow-trainer."),
        ("job", "vision", ["--kind", "pytorchjob"], "--kind pytorchjob: Kueue does not queue PyTorchJobs, as its integration is off. Add queueing: {integrations: [pytorchjob]}, or"),  # noqa: E501
        ("job", "vision", ["--kind", "notebook"], "--kind notebook: it has one pod, and shape job has 2. Use another shape, or"),  # noqa: E501
        ("notebook", "vision", ["--kind", "service"], "--kind service: a server has no default image. Add --image with one that nodes can pull."),  # noqa: E501
        ("job", "vision", ["--name", "A_b"], "--name A_b: not a valid name for Kubernetes and the clouds: lower-case letters, digits and dashes, starting with a letter, at most 40. Instead, write a-b."),  # noqa: E501
        ("notebook", "vision", ["--kind", "notebook", "--home-gib", "999999"], "--home-gib 999999: team vision may claim"),
    ],
)  # fmt: skip
def test_wrong_usage_of_new(new, shape_, team_, more, says):
    ended = new(shape_, team_, *more)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_a_stack_with_a_mirror_needs_an_image(new, write):
    stack = write(
        platform(
            [pool()],
            [team(guarantee={"train": 8})],
            cloud="simulated",
            shapes=[shape(gpus_per_node=8)],
            mirror={"images": "mirror.example/all"},
        )
    )
    ended = new("job", "vision", stack=stack)
    assert ended.code == 2
    assert "--kind job: nodes of the stack pull from a mirror. Add --image" in ended.err


def test_a_rejected_stack_writes_nothing(new, write):
    wrong = write(platform([pool(nodes="9..2")]))
    assert (new("job", "vision", stack=wrong).code, new("job", "vision", stack=wrong).out) == (
        3,
        "",
    )


def test_a_controller_that_gpuyard_does_not_install_is_a_caution(new, check, tmp_path):
    why = "! gpuyard installs no MPI Operator: without one in the cluster, the MPIJob has no pods"
    path = tmp_path / "mpi.yaml"
    ended = new("job", "vision", "--kind", "mpijob", "--out", path)
    assert (ended.code, why in flat(ended.err)) == (0, True), ended.err
    assert path.read_text(encoding="utf-8").splitlines()[1] == (
        "# gpuyard installs no MPI Operator: the cluster must have one."
    )
    ended = check(*yaml.safe_load_all(path.read_text(encoding="utf-8")))
    assert (ended.code, why in flat(ended.out)) == (0, True), ended.out


def test_a_controller_of_an_add_on_that_the_stack_does_not_have_is_a_caution(check, write, gpuyard):
    template = submitted(gpus=8)["spec"]["template"]
    replicated = [{"name": "node", "template": {"spec": {"template": template}}}]
    value = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "vision"},
        "spec": {"replicatedJobs": replicated},
    }
    ended = check(value)
    assert (
        "! the stack has no add-on jobset: without its controller in the cluster, the JobSet has no"
        " pods. Add jobset to `addons`"
    ) in flat(ended.out)
    stack = write(
        platform([pool()], [team(guarantee={"train": 8})], cloud="simulated", addons=["jobset"])
    )
    ended = gpuyard("job", "check", stack, write(yaml.safe_dump(value), "set.yaml"))
    assert "add-on" not in ended.out


def test_volcano_has_no_manifests_and_no_checks(new, gpuyard, write):
    stack = write(
        platform(
            [pool()],
            [team(guarantee={"train": 8})],
            shapes=[shape(gpus_per_node=8)],
            queueing={"engine": "volcano"},
        )
    )
    ended = new("job", "vision", stack=stack)
    assert (ended.code, ended.out) == (2, "")
    assert "lab uses Volcano, and manifests of `gpuyard job new` are for Kueue." in ended.err
    path = write(yaml.safe_dump(submitted(gpus=8)), "job.yaml")
    ended = gpuyard("job", "check", stack, path)
    assert (ended.code, "models only Kueue's admission" in ended.err) == (2, True)
