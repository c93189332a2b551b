"""GPU-QUE-02: two objects of Kueue with one name in files that are built together."""

from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from gpuyard_lint.rules.run import evaluate
from kit.every import every

RULE = next(rule for rule in RULES if rule.id == "GPU-QUE-02")
_FLUX = "kustomize.toolkit.fluxcd.io/v1/Kustomization"
_KUSTOMIZE = "kustomize.config.k8s.io/v1beta1/Kustomization"


def queue(file, cohort="a"):
    properties = {"metadata": {"name": "q"}, "spec": {"cohortName": cohort}}
    return Resource("kueue.x-k8s.io/v1beta2/ClusterQueue", "q", properties, None, file)


def by_flux(path):
    return Resource(_FLUX, "k", {"spec": {"path": path}}, None, "clusters/k.yaml")


def listing(file, *names):
    return Resource(_KUSTOMIZE, "k", {"resources": list(names)}, None, file)


def said(*resources):
    return [(each.resource.source, each.diagnostic.problem) for each in evaluate(resources, [RULE])]


BOTH = queue("r/x/a.yaml"), queue("r/x/b.yaml", "b")
PROBLEM = (
    "another ClusterQueue of this kustomization has the same name q and different content:"
    " kustomize build fails"
)


@every(
    "who",
    [
        [listing("r/x/kustomization.yaml", "a.yaml", "./b.yaml")],
        [listing("r/kustomization.yaml", "x/a.yaml", "x/b.yaml")],
        [by_flux("./x")],
        [by_flux("r/x/")],
    ],
)
def test_files_that_are_built_together(who):
    assert said(*BOTH, *who) == [("r/x/b.yaml", PROBLEM)]


@every(
    "who",
    [
        [],
        [listing("r/x/kustomization.yaml", "a.yaml")],
        [
            listing("r/x/kustomization.yaml", "a.yaml"),
            listing("r/y/kustomization.yaml", "../x/b.yaml"),
        ],
        # the kustomization there chooses
        [by_flux("./x"), listing("r/x/kustomization.yaml", "a.yaml")],
        [by_flux("./")],
        [by_flux("./y")],
        [by_flux("")],
        [by_flux(UNKNOWN)],
        [Resource(_FLUX, "k", {}, None, "k.yaml")],
    ],
)
def test_files_of_which_one_or_the_other_is_applied(who):
    assert said(*BOTH, *who) == []


def test_a_copy_of_a_queue_in_another_file_is_told_nowhere():
    both = queue("r/x/a.yaml"), queue("r/x/b.yaml")
    assert said(*both, listing("r/x/kustomization.yaml", "a.yaml", "b.yaml")) == []


def test_two_in_one_file_that_is_listed_are_told_once():
    both = queue("r/x/a.yaml"), queue("r/x/a.yaml", "b")
    (only,) = said(*both, listing("r/x/kustomization.yaml", "a.yaml"))
    assert only[1].endswith("the last one applied overwrites the other")
