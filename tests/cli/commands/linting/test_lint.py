"""`gpuyard lint` on files, folders, patterns and standard input."""

import io
import json
import sys

import pytest

from gpuyard_lint.rules import RULES as ALL

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus}
spec: {hard: {limits.nvidia.com/gpu: 8}}
"""
SOUND = QUOTA.replace("limits.", "requests.")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a/bad.yaml": QUOTA,
        "a/good.yml": SOUND,
        "a/note.txt": QUOTA,
        "a/.git/x.yaml": QUOTA,
        "b/chart.yaml": "a: {{ .Values.x }}\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def stdin(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_finding_is_shown_with_its_place_and_fix(gpuyard, folder):
    ended = gpuyard("lint", "a/bad.yaml")
    assert ended.code == 3
    assert "at       a/bad.yaml:4:15" in ended.out
    assert "fix      write requests.nvidia.com/gpu" in ended.out
    assert "GPU-TEN-02" in ended.out
    said = "failed 1 resource in 1 file, 1 of a kind that rules cover, checked against"
    assert said in " ".join(ended.out.split())


def test_a_folder_is_read_without_what_is_no_manifest(gpuyard, folder):
    document = json.loads(gpuyard("lint", "a", "--format", "json").out)
    assert document["files"] == ["a/bad.yaml", "a/good.yml"]
    assert [hit["file"] for hit in document["hits"]] == ["a/bad.yaml"]
    assert document["failed"] is True


def test_a_file_named_itself_is_read_whatever_it_is_called(gpuyard, folder):
    assert gpuyard("lint", "a/note.txt").code == 3


def test_a_pattern_gives_files(gpuyard, folder):
    assert gpuyard("lint", "**/good.*").code == 0
    ended = gpuyard("lint", "**/nothing.*")
    assert ended.code == 2
    assert "no file matches" in ended.err


def test_standard_input_is_a_file(gpuyard, folder, monkeypatch):
    stdin(monkeypatch, QUOTA)
    ended = gpuyard("lint", "-")
    assert ended.code == 3
    assert "<stdin>:4:15" in ended.out


def test_a_closed_standard_input_is_said(gpuyard, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert gpuyard("lint", "-").code == 2


def test_a_template_is_said_and_is_no_failure(gpuyard, folder):
    ended = gpuyard("lint", "b")
    assert ended.code == 0
    assert "b/chart.yaml:1: a template, not YAML" in " ".join(ended.err.split())
    assert "1 file or part not read" in " ".join(ended.out.split())


def test_a_file_that_was_named_must_be_readable(gpuyard, folder):
    (folder / "junk.yaml").write_bytes(b"\xff\xfe")
    ended = gpuyard("lint", "junk.yaml")
    assert ended.code == 2
    assert ended.out.startswith("unreadable 0 resources in 1 file, 0 of a kind that rules cover")
    assert gpuyard("lint", ".").code == 3
    assert gpuyard("lint", "absent.yaml").code == 2
    assert gpuyard("lint", "").code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [", "<stdin>:1: not YAML: line 1, at its end: did not find expected node content"),
        ("", "<stdin>:1: empty: it contains no document"),
        ("{}", "<stdin>:1: no known format"),
        ("a: {{ x }}", "<stdin>:1: a template, not YAML"),
    ],
)
def test_standard_input_of_which_nothing_can_be_read_is_no_pass(
    gpuyard, folder, monkeypatch, text, said
):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ended = gpuyard("lint", "-")
    assert (ended.code, ended.out[:6]) == (2, "unread")
    assert said in " ".join(ended.err.split())


def test_a_template_that_was_named_is_no_pass_unless_something_beside_it_is_judged(gpuyard, folder):
    assert gpuyard("lint", "b/chart.yaml").code == 2
    (folder / "b" / "chart.yaml").write_text(f"{SOUND}---\na: {{{{ .Values.x }}}}\n")
    ended = gpuyard("lint", "b/chart.yaml")
    assert ended.code == 0
    assert "a template, not YAML" in ended.err


def test_in_a_folder_a_file_that_cannot_be_opened_is_said(gpuyard, folder):
    (folder / "b" / "dangling.yaml").symlink_to("nowhere")
    ended = gpuyard("lint", "b")
    assert ended.code == 0
    assert "not read b/dangling.yaml:1: no such file" in " ".join(ended.err.split())


def test_what_is_in_the_baseline_passes(gpuyard, folder):
    assert gpuyard("lint", "a", "--write-baseline", "base.json").code == 3
    ended = gpuyard("lint", "a", "--baseline", "base.json")
    assert ended.code == 0
    assert "0 open, 1 baseline" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("name", "starts"),
    [("json", "{"), ("sarif", "{"), ("junit", "<?xml"), ("github", "::error file=a/bad.yaml,")],
)
def test_every_format_is_written(gpuyard, folder, name, starts):
    ended = gpuyard("lint", "a", "--format", name)
    assert ended.out.startswith(starts)
    assert ended.code == 3


def test_a_comment_without_a_reason_is_said(gpuyard, folder):
    (folder / "c.yaml").write_text(QUOTA + "# gpuyard: ignore GPU-TEN-02\n")
    ended = gpuyard("lint", "c.yaml")
    assert ended.code == 3
    assert "c.yaml:5: has no effect without a reason: write" in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("GPU-TEN-99", "did you mean GPU-TEN-0"),
        ("NOTHING-LIKE-IT", "`gpuyard lint --rules` lists all."),
    ],
)
def test_a_comment_that_ignores_no_rule_that_there_is_is_said(gpuyard, folder, rule, hint):
    (folder / "c.yaml").write_text(QUOTA + f"# gpuyard: ignore {rule} because y\n")
    ended = gpuyard("lint", "c.yaml")
    assert ended.code == 3
    assert f"c.yaml:5: has no effect: no rule {rule}; {hint}" in " ".join(ended.err.split())


@pytest.mark.parametrize("name", ["BIG.YAML", "BIG.YML"])
def test_names_of_files_may_be_in_capitals(gpuyard, folder, name):
    (folder / "a" / name).write_text(QUOTA)
    assert f"a/{name}:4" in gpuyard("lint", "a").out


def test_a_very_long_list_is_cut_and_the_rest_counted(gpuyard, folder):
    (folder / "many.yaml").write_text("\n---\n".join([QUOTA] * 510))
    ended = gpuyard("lint", "many.yaml")
    assert ended.out.count("at       many.yaml:") == 5
    assert "… and 505 more places; --format json lists all" in ended.out
    (folder / "six.yaml").write_text("\n---\n".join([QUOTA] * 6))
    assert "… and 1 more place; --format json" in gpuyard("lint", "six.yaml").out
    different = [QUOTA.replace("nvidia.com/gpu", f"nvidia.com/mig-{n}g.5gb") for n in range(210)]
    (folder / "many.yaml").write_text("\n---\n".join(different))
    ended = gpuyard("lint", "many.yaml", "--only", "GPU-TEN-02")
    assert "… and 10 more findings; --format json lists all." in ended.out


RULES = """\
levels: {GPU-TEN-02: advisory}
exceptions:
  - {rule: GPU-TEN-02, resource: gpus, reason: the team moves out, expires: EXPIRES}
"""


@pytest.mark.parametrize(
    ("expires", "code", "counted"),
    [("2027-01-01", 0, "0 open, 1 excepted"), ("2026-10-15", 3, "1 open")],
)
def test_settings_let_a_resource_pass_until_they_expire(gpuyard, folder, expires, code, counted):
    (folder / "rules.yaml").write_text(RULES.replace("EXPIRES", expires))
    ended = gpuyard("lint", "a", "--config", "rules.yaml", "--fail-on", "warning")
    assert ended.code == code
    assert counted in " ".join(ended.out.split())
    over = (
        f"! the exception to GPU-TEN-02 for gpus expired on {expires}: the rule applies there again"
    )
    assert (over in " ".join(ended.err.split())) is (code == 3)


def test_a_rule_may_be_advice_or_off(gpuyard, folder):
    (folder / "rules.yaml").write_text("levels: {GPU-TEN-02: advisory}\n")
    ended = gpuyard("lint", "a", "--config", "rules.yaml")
    assert ended.code == 0
    assert ended.out.startswith("warning spec.hard.limits.nvidia.com/gpu: ")
    (folder / "rules.yaml").write_text("levels: {GPU-TEN-02: off}\n")
    assert "0 open" in gpuyard("lint", "a", "--config", "rules.yaml").out


def test_settings_with_slips_are_refused_before_anything_is_read(gpuyard, folder):
    (folder / "rules.yaml").write_text("levels:\n  GPU-TEN-2: off\n")
    ended = gpuyard("lint", "a", "--config", "rules.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert (
        "rules.yaml:2: levels.GPU-TEN-2: no rule 'GPU-TEN-2'; did you mean GPU-TEN-02?" in ended.err
    )
    assert gpuyard("lint", "a", "--config", "absent.yaml").code == 2


STACK = """\
config:
  gpuyard:platform:
    name: lab
    policies:
      levels: {GPU-TEN-02: LEVEL}
      exceptions:
        - {rule: GPU-TEN-02, resource: RESOURCE, reason: the team moves out, expires: EXPIRES}
"""


def stack(folder, level="mandatory", resource="gpus", expires="2027-01-01"):
    text = STACK.replace("LEVEL", level).replace("RESOURCE", resource).replace("EXPIRES", expires)
    (folder / "stacks").mkdir(exist_ok=True)
    (folder / "stacks" / "Pulumi.lab.yaml").write_text(text)


@pytest.mark.parametrize("named", ["lab", "stacks/Pulumi.lab.yaml"])
def test_the_policies_of_a_stack_file_hold_for_files(gpuyard, folder, named):
    stack(folder, resource="other", level="advisory")
    ended = gpuyard("lint", "a", "--stack", named)
    assert (ended.code, ended.out[:7]) == (0, "warning")
    stack(folder)
    ended = gpuyard("lint", "a", "--stack", named)
    assert ended.code == 0
    assert "0 open, 1 excepted" in " ".join(ended.out.split())


def test_an_exception_of_a_stack_file_that_is_over_excuses_nothing_and_is_said(gpuyard, folder):
    stack(folder, expires="2026-10-15")
    ended = gpuyard("lint", "a", "--stack", "lab")
    assert ended.code == 3
    assert "exception expired on 2026-10-15: the team moves out" in " ".join(ended.out.split())
    over = (
        "! the exception to GPU-TEN-02 for gpus expired on 2026-10-15: the rule applies there again"
    )
    assert over in " ".join(ended.err.split())


def test_what_a_file_of_settings_says_counts_before_what_the_stack_file_says(gpuyard, folder):
    stack(folder, level="off")
    (folder / "rules.yaml").write_text("levels: {GPU-TEN-02: advisory}\n")
    both = ("--stack", "lab", "--config", "rules.yaml")
    assert "0 open, 1 excepted" in " ".join(gpuyard("lint", "a", *both).out.split())
    stack(folder, level="off", resource="other")
    assert gpuyard("lint", "a", *both).out.startswith("warning ")


def test_a_stack_file_with_slips_or_none_at_all_is_refused_before_anything_is_read(gpuyard, folder):
    stack(folder, level="strict")
    ended = gpuyard("lint", "a", "--stack", "lab")
    assert (ended.code, ended.out) == (2, "")
    assert "stacks/Pulumi.lab.yaml:5: levels.GPU-TEN-02: not a valid value" in ended.err
    ended = gpuyard("lint", "a", "--stack", "lob")
    assert ended.code == 2
    assert "no stack 'lob' in stacks. Available: lab." in ended.err


def test_every_rule_is_listed_with_its_severity_and_title(gpuyard):
    ended = gpuyard("lint", "--rules")
    assert ended.code == 0
    assert "error   GPU-TEN-02  GPU quotas use the requests" in ended.out
    listed = json.loads(gpuyard("lint", "--rules", "--format", "json").out)["rules"]
    assert [rule["id"] for rule in listed] == [rule.id for rule in ALL]
    assert listed[0]["docs"] == f"gpuyard why {ALL[0].id}"
    (rule,) = (rule for rule in listed if rule["id"] == "GPU-POD-03")
    assert rule["parameters"]["allowed_images"] == []
    assert {"framework": "CIS EKS 1.8.0", "section": "5.1.4"} in rule["references"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rules", "a.yaml"], "--rules takes no files. Remove a.yaml or --rules."),
        (["--rules", "--format", "sarif"], "--rules supports --format text and json, not sarif."),
        ([], "no input. Give files, folders, patterns, or - for standard input."),
    ],
)
def test_what_makes_no_sense_together_is_refused(gpuyard, arguments, said):
    ended = gpuyard("lint", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())


def test_a_finding_names_the_command_that_shows_its_page(gpuyard, folder):
    ended = gpuyard("lint", "a/bad.yaml")
    assert "more     gpuyard why GPU-TEN-02" in ended.out
    (hit,) = json.loads(gpuyard("lint", "a/bad.yaml", "--format", "json").out)["hits"]
    assert hit["docs"] == "gpuyard why GPU-TEN-02"


# ── a large repository ──

TAGGED = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "app:latest", resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


def test_of_several_rules_a_summary_comes_first(gpuyard, folder):
    (folder / "a" / "pod.yaml").write_text(TAGGED)
    (folder / "a" / "pods.yaml").write_text(TAGGED)
    lines = gpuyard("lint", "a").out.splitlines()
    assert lines[0].split()[:5] == ["error", "GPU-TEN-02", "1", "GPU", "quotas"]
    assert lines[1].split()[:3] == ["warning", "GPU-POD-03", "2"]
    # equal findings are one, with their places
    text = "\n".join(lines)
    assert text.count("is a moving tag") == 1
    assert "at       a/pod.yaml:4:31  Pod p" in text
    assert "at       a/pods.yaml:4:31  Pod p" in text


def test_a_sample_is_shown_apart_and_fails_nothing(gpuyard, folder):
    (folder / "a" / "bad.yaml").rename(folder / "b" / "bad.yaml")
    (folder / "b").rename(folder / "a" / "examples")
    (folder / "a" / "examples" / "bad2.yaml").write_text(QUOTA)
    ended = gpuyard("lint", "a")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "in example files not counted; --no-samples excludes them example GPU-TEN-02 2" in said
    assert "a/examples/bad.yaml:4 and 1 more" in said
    assert "0 open, 2 example" in said
    document = json.loads(gpuyard("lint", "a", "--format", "json").out)
    assert (document["failed"], document["counts"]["example"]) == (False, 2)
    (folder / "a" / "examples" / "bad2.yaml").unlink()
    assert "a/examples/bad.yaml:4\n" in gpuyard("lint", "a").out
    document = json.loads(gpuyard("lint", "a", "--no-samples", "--format", "json").out)
    assert document["files"] == ["a/good.yml"]


LENDS = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  cohortName: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
"""


def test_a_choice_is_shown_apart_in_one_line_and_counts_where_that_is_asked_for(gpuyard, folder):
    (folder / "b").mkdir(exist_ok=True)
    (folder / "b" / "queue.yaml").write_text(LENDS)
    ended = gpuyard("lint", "b/queue.yaml", "--fail-on", "warning")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "advisory not counted; --choices counts them advisory GPU-TEN-04 1 without" in said
    assert "idle capacity of its cohort: b/queue.yaml:9" in said
    assert "0 open, 1 advisory" in said
    assert gpuyard("lint", "b/queue.yaml", "--fail-on", "warning", "--choices").code == 3
    (folder / "rules.yaml").write_text("levels: {GPU-TEN-04: mandatory}\n")
    assert gpuyard("lint", "b/queue.yaml", "--config", "rules.yaml").code == 3


@pytest.mark.parametrize("named", ["a/examples", "a/examples/bad.yaml", "a/examples/*.yaml"])
def test_who_names_a_sample_means_it(gpuyard, folder, named):
    (folder / "a" / "examples").mkdir()
    (folder / "a" / "bad.yaml").rename(folder / "a" / "examples" / "bad.yaml")
    assert gpuyard("lint", named, "--no-samples").code == 3
    assert gpuyard("lint", "**/*.yaml").code == 0


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("bad.yaml", ["a/good.yml"]),
        ("*.yml", ["a/bad.yaml"]),
        ("./a/", []),
        ("./a/b*", ["a/good.yml"]),
        ("x/a", ["a/bad.yaml", "a/good.yml"]),
    ],
)
def test_files_are_excluded_by_name_folder_or_pattern(gpuyard, folder, pattern, files):
    document = json.loads(gpuyard("lint", "a", "--exclude", pattern, "--format", "json").out)
    assert document["files"] == files
    assert gpuyard("lint", "a/bad.yaml", "--exclude", pattern).code == 3  # named itself


def test_rules_are_chosen_or_left_out(gpuyard, folder):
    (folder / "a" / "pod.yaml").write_text(TAGGED)

    def said(*options):
        document = json.loads(gpuyard("lint", "a", "--format", "json", *options).out)
        return sorted({hit["rule"] for hit in document["hits"]}), len(document["rules"])

    assert said("--only", "gpu-pod-03") == (["GPU-POD-03"], 1)
    assert said("--skip", "GPU-POD-03") == (["GPU-TEN-02"], len(ALL) - 1)
    assert said("--only", "GPU-POD-03", "--only", "GPU-TEN-02", "--skip", "GPU-POD-03")[1] == 1
    ended = gpuyard("lint", "a", "--only", "GPU-POD-3")
    assert (ended.code, ended.out) == (2, "")
    assert "no rule 'GPU-POD-3'; did you mean GPU-POD-03?" in ended.err
    ended = gpuyard("lint", "a", "--skip", "nothing-like-it")
    assert "`gpuyard lint --rules` lists all" in " ".join(ended.err.split())


def test_a_rule_is_explained(gpuyard, folder):
    ended = gpuyard("lint", "--explain", "gpu-ten-02")
    assert ended.code == 0
    assert ended.out == gpuyard("why", "GPU-TEN-02").out
    ended = gpuyard("lint", "a", "--explain", "GPU-TEN-02")
    assert ended.code == 2
    assert "--explain takes no files" in ended.err


def test_fine_is_never_said_of_nothing(gpuyard, folder):
    assert gpuyard("lint", "b").out.startswith("empty   0 resources in 1 file, 0 of a kind")
    (folder / "b" / "x.yaml").write_text("apiVersion: v1\nkind: Gadget\n")
    assert gpuyard("lint", "b").out.startswith("empty   1 resource in 2 files, 0 of a kind")
    (folder / "b" / "x.yaml").write_text(SOUND)
    assert gpuyard("lint", "b").out.startswith("ok      1 resource in 2 files, 1 of a kind")


def test_what_is_nobodys_has_one_line(gpuyard, folder):
    for number in range(5):
        (folder / "b" / f"n{number}.json").write_text('{"compilerOptions": {}}')
    said = " ".join(gpuyard("lint", "b").err.split())
    assert (
        "skipped 5 files without resources for these rules: b/n0.json, b/n1.json, b/n2.json and 2 more"
        in said
    )
    assert "no known format" not in said
    assert "no known format" in gpuyard("lint", "b/n0.json").err
    for number in range(30):
        (folder / "b" / f"t{number}.yaml").write_text("a: {{ .Values.x }}\n")
        (folder / "b" / f"u{number}.yaml").write_text("\n" * number + "nvidia: [\n")
    said = " ".join(gpuyard("lint", "b").err.split())
    assert "b/chart.yaml:1 and 30 more: a template, not YAML" in said
    assert "… and 11 more reasons; --format json lists all." in said
