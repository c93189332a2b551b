"""What a Kustomization of Flux changes of the folder that it deploys is done before an object is judged."""

from dataclasses import replace

from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import RuleConfiguration
from kit.cases.reading import reading
from kit.every import every

KUSTOMIZED = "resources: [d.yaml]\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: v, namespace: ml}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
        - name: v
          image: r.example.org/v:TAG
          resources: {limits: {nvidia.com/gpu: 1}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps/v
  sourceRef: {kind: GitRepository, name: flux-system}
"""
PINS = "  images: [{name: r.example.org/v, newTag: v1.0}]\n"
MOVES = "  images: [{name: r.example.org/v, newTag: latest}]\n"
PRIVILEGED = """\
  patches:
    - target: {kind: Deployment, name: v}
      patch: |
        - op: add
          path: /spec/template/spec/containers/0/securityContext
          value: {privileged: true}
"""


def files(flux, tag="v1.0", **more):
    found = {
        "r/apps/v/kustomization.yaml": KUSTOMIZED,
        "r/apps/v/d.yaml": DEPLOYMENT.replace("TAG", tag),
        "r/clusters/a/apps.yaml": FLUX + flux,
    }
    return {name: text for name, text in {**found, **more}.items() if text}


def hits(files, samples=()):
    found = replace(reading(files), example_files=frozenset(samples))
    return build_report(found, RULES, RuleConfiguration()).hits


def told(files, samples=()):
    return [(h.rule.id, h.file, h.line) for h in hits(files, samples) if h.state.value == "open"]


def image(files):
    """What image the deployment has, in each form."""
    return [
        there.properties["spec"]["template"]["spec"]["containers"][0]["image"]
        for scope in scopes(reading(files))
        for written, there in scope.resources
        if written.kind == "apps/v1/Deployment"
    ]


MOVING = [("GPU-POD-03", "r/apps/v/d.yaml", 11)]


def test_an_image_that_flux_pins_does_not_move():
    assert told(files("", tag="latest")) == MOVING
    assert told(files(PINS, tag="latest")) == []


def test_somebody_else_who_deploys_the_folder_as_it_is_has_the_image_that_moves():
    again = {"r/clusters/b/apps.yaml": FLUX}
    assert told(files(PINS, tag="latest", **again)) == MOVING
    over = {"r/over/kustomization.yaml": "resources: [../apps/v]\n"}
    assert told(files(PINS, tag="latest", **over)) == MOVING


def test_a_sample_of_a_deployer_excuses_nothing():
    assert told(files(PINS, tag="latest"), {"r/clusters/a/apps.yaml"}) == MOVING


def test_an_image_that_flux_makes_move_is_told_at_its_own_line():
    (hit,) = hits(files(MOVES))
    assert (hit.rule.id, hit.file, hit.line) == ("GPU-POD-03", "r/clusters/a/apps.yaml", 7)
    assert hit.reason == "as r/clusters/a/apps.yaml deploys it, of r/apps/v/d.yaml:11"


def test_a_patch_of_flux_that_makes_a_pod_privileged_is_told_at_its_line():
    assert told(files(PRIVILEGED)) == [("GPU-POD-02", "r/clusters/a/apps.yaml", 12)]


@every(
    "path, files_of_the_folder",
    [
        ("./apps/v", {}),
        # without a kustomization Flux makes one of all that is below
        ("apps", {"r/apps/v/kustomization.yaml": ""}),
        ("apps", {}),
        ("apps", {"r/apps/v/kustomization.yaml": "", "r/apps/w/kustomization.yaml": "{}\n"}),
    ],
)
def test_all_that_is_below_the_folder_is_changed(path, files_of_the_folder):
    given = {**files(PINS, tag="latest"), **files_of_the_folder}
    given["r/clusters/a/apps.yaml"] = (FLUX + PINS).replace("./apps/v", path)
    given = {name: text for name, text in given.items() if text}
    assert image(given | {"r/apps/notes.json": "[]"}) == ["r.example.org/v:v1.0"]


def test_a_folder_below_that_somebody_deploys_as_it_is_stays_so():
    plain = {"r/clusters/a/v.yaml": FLUX}
    given = files(PINS, tag="latest", **plain)
    given["r/clusters/a/apps.yaml"] = (FLUX + PINS).replace("./apps/v", "./apps")
    assert sorted(image(given)) == ["r.example.org/v:latest", "r.example.org/v:v1.0"]


@every("path", ["", "./", "elsewhere"])
def test_who_names_no_folder_in_view_changes_nothing(path):
    given = files(PINS, tag="latest")
    given["r/clusters/a/apps.yaml"] = (FLUX + PINS).replace("./apps/v", f'"{path}"')
    assert told(given) == MOVING


def test_of_two_folders_that_a_path_may_mean_each_is_excused_and_none_accused():
    twice = {
        "r/clusters/apps/v/kustomization.yaml": KUSTOMIZED,
        "r/clusters/apps/v/d.yaml": DEPLOYMENT.replace("TAG", "v1.0"),
    }
    assert told(files(MOVES, **twice)) == []
    latest = {name: text.replace("v1.0", "latest") for name, text in twice.items()}
    assert told(files(PINS, tag="latest", **latest)) == []


def test_a_folder_of_which_a_variable_is_a_part_is_excused_and_not_accused():
    for fields, tag in ((PINS, "latest"), (MOVES, "v1.0")):
        given = files("", tag=tag)
        given["r/clusters/a/apps.yaml"] = (FLUX + fields).replace("apps/v", "apps/${APP}")
        assert told(given) == []


def test_a_deployer_whose_values_a_variable_decides_is_left_alone():
    unknown = FLUX.replace("./apps/v", "x")
    found = reading(files("", tag="latest") | {"r/clusters/a/apps.yaml": unknown})
    (item,) = [each for each in found.items if each.resource.name == "apps"]
    gone = replace(item.resource, properties={**item.resource.properties, "spec": UNKNOWN})
    known = tuple(each for each in found.items if each is not item)
    made = replace(found, items=(*known, replace(item, resource=gone)))
    assert len(build_report(made, RULES, RuleConfiguration()).hits) == 1


def test_images_of_flux_take_the_place_of_those_of_the_kustomization():
    own = "resources: [d.yaml]\nimages: [{name: r.example.org/v, newName: o/v, newTag: latest}]\n"
    given = files(PINS)
    given["r/apps/v/kustomization.yaml"] = own
    assert image(given) == ["r.example.org/v:v1.0"]
    other = own.replace("r.example.org/v,", "r.example.org/w,")
    assert image({**given, "r/apps/v/kustomization.yaml": other}) == ["r.example.org/v:v1.0"]


def test_patches_come_before_images_whoever_says_them():
    patch = """\
  patches:
    - patch: |
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: v}, spec: {template: {spec: {
          containers: [{name: v, image: "r.example.org/v:latest"}]}}}}
"""
    given = files(patch)
    given["r/apps/v/kustomization.yaml"] = KUSTOMIZED + PINS.strip() + "\n"
    assert image(given) == ["r.example.org/v:v1.0"]


@every(
    "fields",
    [
        (
            "  patchesStrategicMerge:\n    - {kind: Deployment, metadata: {name: v}, spec: {template: {"
            "spec: {containers: [{name: v, image: 'r.example.org/v:v1.0'}]}}}}\n"
        ),
        (
            "  patchesJson6902:\n    - target: {kind: Deployment, name: v}\n      patch: [{op: replace, "
            "path: /spec/template/spec/containers/0/image, value: 'r.example.org/v:v1.0'}]\n"
        ),
        "  components: [../../parts/pin]\n",
        "  components: [{}, ../../parts/pin]\n",
        "  postBuild: {substitute: {TAG: v1.0}}\n",
        "  postBuild: {substitute: {TAG: v1.0, OTHER: 1, NONE: [], more: latest}}\n",
    ],
)
def test_each_way_of_flux_to_change_something(fields):
    part = {"r/parts/pin/kustomization.yaml": f"kind: Component\n{PINS.strip()}\n"}
    tag = "${TAG:=latest}" if "postBuild" in fields else "latest"
    assert image(files(fields, tag=tag, **part)) == ["r.example.org/v:v1.0"]


@every(
    "written, made",
    [
        ("${TAG}", "v2"),
        ("a-${TAG:-latest}", "a-v2"),
        ("$${TAG}", "$${TAG}"),
        ("${OTHER}", "${OTHER}"),
        ("plain", "plain"),
    ],
)
def test_variables_are_filled_in_after_the_build(written, made):
    given = files("  postBuild: {substitute: {TAG: v2}}\n", tag=written)
    assert image(given) == [f"r.example.org/v:{made}"]


@every("where", ["annotations", "labels"])
def test_an_object_may_keep_its_variables(where):
    given = files("  postBuild: {substitute: {TAG: latest}}\n", tag="${TAG}")
    off = f"{where}: {{kustomize.toolkit.fluxcd.io/substitute: disabled}}, name: v,"
    given["r/apps/v/d.yaml"] = given["r/apps/v/d.yaml"].replace("name: v,", off)
    assert told(given) == []


def test_a_tag_that_is_filled_in_and_moves_is_told_where_its_value_stands():
    one = files("  postBuild:\n    substitute:\n      TAG: latest\n", tag="${TAG}")
    assert told(one) == [("GPU-POD-03", "r/clusters/a/apps.yaml", 9)]
    two = files("  postBuild:\n    substitute:\n      N: '2'\n      TAG: latest\n", tag="${TAG}")
    assert told(two) == [("GPU-POD-03", "r/clusters/a/apps.yaml", 8)]


@every(
    "fields",
    [
        "  patches: {}\n",
        "  patches: [5, {patch: 5}, {patch: [5]}, {patch: '[]'}, {patch: '5'}]\n",
        "  patchesJson6902: [{patch: [{value: 5}]}, {target: 5, patch: 5}]\n",
        "  patches: [{target: {kind: Deployment}, patch: '[{op: replace, path: \"\", value: 5}]'}]\n",
        "  images: 5\n  components: 5\n  postBuild: 5\n  targetNamespace: 5\n",
    ],
)
def test_what_flux_itself_would_refuse_changes_nothing(fields):
    assert told(files(fields, tag="latest")) == MOVING


def test_a_kustomization_of_flux_without_a_spec_deploys_nothing():
    given = files("", tag="latest")
    given["r/clusters/a/apps.yaml"] = FLUX.partition("spec:")[0]
    assert told(given) == MOVING


def test_after_a_patch_that_is_a_template_nothing_is_said_of_what_it_is_for():
    template = (
        "  patches: [{target: {kind: Deployment}, patch: '{{- if .x }}'}, {patch: '{{- if'}, {}]\n"
    )
    assert told(files(template, tag="latest")) == []
    other = template.replace("kind: Deployment", "kind: Job")
    assert told(files(other, tag="latest")) == MOVING


def test_the_namespace_and_names_that_flux_gives():
    given = files("  targetNamespace: kube-system\n  namePrefix: x-\n  nameSuffix: -y\n")
    (scope,) = [each for each in scopes(reading(given)) if each.file.endswith("kustomization.yaml")]
    there = [there for _, there in scope.resources if there.kind == "apps/v1/Deployment"]
    assert [each.name for each in there] == ["x-v-y"]
    assert there[0].properties["metadata"]["namespace"] == "kube-system"


def test_what_kustomize_has_made_is_changed_as_well():
    found = reading(files(PINS, tag="latest"))
    (made,) = [each.resource for each in found.items if each.resource.kind == "apps/v1/Deployment"]
    built = {"r/apps/v": (made,)}
    assert build_report(replace(found, kustomizations=built), RULES, RuleConfiguration()).hits == ()
    twice = {"r/clusters/apps/v/kustomization.yaml": "{}\n"}
    unsure = reading(files(MOVES, **twice))
    (pinned,) = [e.resource for e in unsure.items if e.resource.kind == "apps/v1/Deployment"]
    assert not build_report(
        replace(unsure, kustomizations={"r/apps/v": (pinned,)}), RULES, RuleConfiguration()
    ).hits
    deleted = "  patches: [{patch: '{$patch: delete, kind: Deployment, metadata: {name: v}}'}]\n"
    gone = replace(reading(files(deleted, tag="latest")), kustomizations=built)
    assert not build_report(gone, RULES, RuleConfiguration()).hits


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec: {cohortName: COHORT}
"""


@every(
    "kustomization, second",
    [
        ("resources: [a.yaml, b.yaml]\n", True),
        ("", True),
        ("resources: [a.yaml]\n", False),
    ],
)
def test_two_queues_of_one_name_in_files_of_one_kustomization(kustomization, second):
    given = {
        "r/apps/v/a.yaml": QUEUE.replace("COHORT", "a"),
        "r/apps/v/b.yaml": QUEUE.replace("COHORT", "b"),
        "r/clusters/a/apps.yaml": FLUX,
        **({"r/apps/v/kustomization.yaml": kustomization} if kustomization else {}),
    }
    twice = [("GPU-QUE-02", "r/apps/v/b.yaml", 3)]
    assert [each for each in told(given) if each[0] == "GPU-QUE-02"] == (twice if second else [])
