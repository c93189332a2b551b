"""What members of a team must not get, and what they need every day, sent to a real API server one by one.

The cases are data, in the folder `attacks`: who does what, with which answer, and why. Nothing that is tried
is kept: only what has to be there first is made, and goes again. Where the policy decides, the Python twin is
asked as well and has to say the same.
"""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard.admission.parameters import parameters_of
from gpuyard.admission.requirements import BELONGINGS, refusals
from gpuyard.lint.kubernetes import resource
from gpuyard.render.admission.objects import admission_objects
from gpuyard.rules.subjects.admission import BELONGINGS as KINDS
from gpuyard.rules.subjects.admission import HELD_KINDS, workload
from gpuyard.simulate import cluster
from gpuyard.simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.queues import kueue_as_rendered
from kit.generated.pods import Maker
from kit.stacks import Raw, cut_pool, plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
FOLDER = Path(__file__).parent / "attacks"
CASES: list[Value] = [
    case
    for path in sorted(FOLDER.glob("*.yaml"))
    for case in yaml.safe_load(path.read_text(encoding="utf-8"))
]
TEAMS = {"makers": "atk-a", "viewers": "atk-a", "neighbours": "atk-b", "few": "atk-c"}
OUTSIDE = "atk-outside"
PATHS = {
    "ConfigMap": "configmaps",
    "CronJob": "cronjobs",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PodDisruptionBudget": "poddisruptionbudgets",
}
BY = {
    "policy": r"ValidatingAdmissionPolicy 'gpuyard-atk(-\w+)?' with binding '\S+' denied request: ",
    "quota": r"exceeded quota: gpuyard, ",
    "range": r"usage per (Pod|Container) is",
    "access": r"User \"\S+\" cannot",
}


def three_teams() -> Raw:
    """One that attacks, its neighbour with a pool of its own, and one that may hardly make anything."""
    pools = [
        pool("atk-open", machine="p5.48xlarge", nodes=1),
        cut_pool("atk-cut"),
        pool("atk-vip", machine="g6.12xlarge", nodes=1, owners=["atk-b"]),
    ]
    teams = [
        team(
            "atk-a",
            guarantee={"atk-open": 4},
            borrow={"atk-open": 2},
            groups=["makers"],
            viewers=["viewers"],
        ),
        team(
            "atk-b",
            guarantee={"atk-open": 4, "atk-vip": 4},
            queues={"batch": 1.0},
            groups=["neighbours"],
        ),
        team(
            "atk-c",
            guarantee={"atk-cut/2g.10gb": 1},
            groups=["few"],
            limits={"objects": 1},  # the cluster makes one config map itself
        ),
    ]
    return platform(
        pools,
        teams,
        name="atk",
        cloud="simulated",
        kubernetes="1.36",
        priorities={"atk-first": 100},
    )


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform, its policies in force, and a namespace of nobody's."""
    raw = three_teams()
    outside = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OUTSIDE}}
    with (
        kueue_as_rendered(started.status.name, raw) as api,
        reality.Lab(api, plan_of(raw)) as found,
    ):
        policies = admission_objects(found.plan)
        try:
            for value in (*policies, outside):
                reality.apply(api, value)
            for name in ("Pod", "Service"):
                case = next(
                    c
                    for c in CASES
                    if c.get("refused") == "policy" and c.get("object", {}).get("kind") == name
                )
                reality.wait(lambda c=case: answer(found, c)[0] == "policy", "the policies")
            reality.wait(lambda: counted(found), "quotas that are counted")
            account = f"/api/v1/namespaces/{OUTSIDE}/serviceaccounts/default"
            reality.wait(lambda: api.get(account), "the account that pods need")
            reality.wait(lambda: all(comes_in(found, who) for who in TEAMS), "roles to be known")
            yield found
        finally:
            for value in reversed(policies):
                reality.delete(api, reality.path_of(value))
            reality.delete(api, f"/api/v1/namespaces/{OUTSIDE}")


def comes_in(lab: reality.Lab, group: str) -> bool:
    """Whether the API server knows what somebody of the group may do."""
    try:
        acting(lab, group).call("GET", f"/api/v1/namespaces/{TEAMS[group]}/pods")
    except ApiError:
        return False
    return True


def counted(lab: reality.Lab) -> bool:
    """Whether every quota knows what is there: one config map at least, that the cluster makes itself."""
    quotas = (
        lab.api.call("GET", f"/api/v1/namespaces/{name}/resourcequotas/gpuyard")
        for name in sorted(reality.namespaces_of(lab.plan))
    )
    used = [quota.get("status", {}).get("used", {}) for quota in quotas]
    return all(found.get("count/configmaps", "0") != "0" for found in used)


def acting(lab: reality.Lab, group: str) -> Api:
    """The API as somebody of that group; as an admin of the cluster, itself."""
    found = copy.copy(lab.api)
    if group != "admins":
        someone = {"Impersonate-User": f"somebody-of-{group}", "Impersonate-Group": group}
        found._headers = {**lab.api._headers, **someone}
    return found


def namespace_of(case: Value) -> str:
    return TEAMS.get(case["who"], "atk-a")


def path_of(value: Value, namespace: str) -> str:
    version, kind = value["apiVersion"], value["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{PATHS.get(kind, f'{kind.lower()}s')}"


def object_of(case: Value) -> Value:
    """What is sent; `times` makes so many containers of the first."""
    value = copy.deepcopy(case["object"])
    if times := case.get("times"):
        (first,) = value["spec"]["containers"]
        value["spec"]["containers"] = [{**first, "name": f"c{i}"} for i in range(times)]
    return value


def answer(lab: reality.Lab, case: Value, namespace: str = "") -> tuple[str, str]:
    """Who refused it, and what was said; `taken` when nobody did."""
    namespace = namespace or namespace_of(case)
    api = acting(lab, case["who"])
    try:
        if "list" in case:
            listed = case["list"].format(namespace=namespace)
            reality.patiently(lambda: api.call("GET", listed))
        elif "first" in case:
            _done_to_the_first(lab, api, case, namespace)
        else:
            value = object_of(case)
            asked = f"{path_of(value, namespace)}?dryRun=All"
            reality.patiently(lambda: api.call("POST", asked, value))
    except ApiError as problem:
        said = str(problem)
        found = next((by for by, words in BY.items() if re.search(words, said)), "somebody")
        return found, said
    return "taken", ""


def _done_to_the_first(lab: reality.Lab, api: Api, case: Value, namespace: str) -> None:
    """What is there already is made for the time of the question."""
    first = case["first"]
    path = path_of(first, namespace)
    one = f"{path}/{first['metadata']['name']}"
    reality.create(api, path, first)
    try:
        if "patch" in case:
            api.call("PATCH", f"{one}?dryRun=All", case["patch"], "application/merge-patch+json")
        else:
            api.call("DELETE", f"{one}?dryRun=All", case["delete"])
    finally:
        reality.delete(lab.api, one)
        reality.wait(lambda: lab.api.get(one) is None, f"no {one}")


def twin(lab: reality.Lab, case: Value) -> str:
    """What the Python twins say of it."""
    parameters = parameters_of(lab.plan, lab.plan.team(namespace_of(case)))
    read = resource(object_of(case))
    found: list[str] = []
    if read.group_kind in HELD_KINDS:
        found += [str(refusal) for refusal in refusals(workload(read), parameters)]
    if read.group_kind in KINDS:
        slips = BELONGINGS.slips(workload(read), parameters)
        found += [f"{BELONGINGS.id}: {slip.problem}; {slip.fix}" for slip in slips]
    return ". ".join(found)


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_it_is_answered_as_it_has_to_be(lab: reality.Lab, case: Value):
    by, said = answer(lab, case)
    assert by == case.get("refused", "taken"), (case["why"], said)
    for words in case.get("says", ()):
        assert words in said
    if "object" in case and case["who"] != "admins":
        ours = twin(lab, case)
        if by == "policy":
            assert re.split(BY["policy"], said)[-1].strip() == ours
        else:
            assert ours == ""


REFUSED = [
    case for case in CASES if case.get("refused") in {"policy", "range"} and "object" in case
]


@pytest.mark.parametrize("case", REFUSED, ids=[case["what"] for case in REFUSED])
def test_what_belongs_to_nobody_here_is_held_to_nothing(lab: reality.Lab, case: Value):
    assert answer(lab, {**case, "who": "admins"}, OUTSIDE) == ("taken", "")


def test_every_attack_says_why_and_what_is_said():
    for case in CASES:
        assert case["why"], case
        assert bool(case.get("refused")) == bool(case.get("says")), case


def test_both_twins_say_the_same_of_made_up_belongings(lab: reality.Lab):
    seen: Counter[str] = Counter()
    for number in range(60):
        case = {"who": "makers", "object": Maker(number).belonging()}
        by, said = answer(lab, case)
        assert by in {"policy", "taken"}, (said, case)
        assert re.split(BY["policy"], said)[-1].strip() == twin(lab, case), case
        seen[f"{case['object']['kind']} {by}"] += 1
    assert len(seen) == 8, seen
