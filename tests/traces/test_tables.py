"""Traces in tables: recognised columns, own columns, units, order, limits."""

import gzip
import io
import math

import pytest

from gpuyard_advisor.traces import ReadOptions, TraceJob, read_trace
from gpuyard_advisor.traces.tables import parse_columns
from gpuyard_core.errors import UsageError
from kit.every import every
from kit.levels import upstream
from kit.traces import openb_pods

HEAD = "name,submitted_seconds,run_seconds,gpus"


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_trace(io.BytesIO(data), ReadOptions(**options))


def test_the_columns_of_a_job_are_read():
    header = f"{HEAD},pods,cpu_milli,memory_mib,gpu_memory_mib,priority,user,team,image,gpu_model,utilisation"
    result = read(
        f"{header}\na,100,60,8,2,4000,1024,512,5,ada,ml,img:1,H100,0.5\nb,130,1.5,0.25\n\n".replace(
            "b,130,1.5,0.25", "b,130,1.5,0.25,,,,,,,,,,"
        )
    )
    assert (result.format, result.notes, result.skipped) == ("CSV", (), 0)
    assert result.jobs == (
        TraceJob(
            name="a",
            submitted_seconds=0,
            run_seconds=60,
            gpus=8,
            pods=2,
            cpu_milli=4000,
            memory_mib=1024,
            gpu_memory_mib=512,
            priority=5,
            user="ada",
            team="ml",
            image="img:1",
            gpu_model="H100",
            utilisation=0.5,
            line=2,
        ),
        TraceJob(name="b", submitted_seconds=30, run_seconds=1.5, gpus=0.25, line=3),
    )


DIALECTS = {
    "openb": (
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
            "p0,12000,16384,1,460,V100M16|V100M32,LS,Running,100,400,250\n"
            "p1,6000,1024,2,1000,,LS,Failed,110,400,\n"
        ),
        "CSV of openb",
        [
            TraceJob(
                name="p0",
                submitted_seconds=0,
                run_seconds=150,
                gpus=0.46,
                cpu_milli=12000,
                memory_mib=16384,
                gpu_model="V100M16|V100M32",
                line=2,
            ),
            TraceJob(
                name="p1",
                submitted_seconds=10,
                run_seconds=290,
                gpus=2,
                cpu_milli=6000,
                memory_mib=1024,
                line=3,
            ),
        ],
    ),
    "Alibaba 2020": (
        (
            "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
            "j,ps,1.0,Terminated,100.0,160.0,600.0,10.0,,MISC\n"
            "j,worker,2.0,Terminated,100.0,160.0,400.0,29.296875,50.0,MISC\n"
        ),
        "CSV of Alibaba GPU v2020 (pai_task_table)",
        [
            TraceJob(
                name="j/worker",
                submitted_seconds=0,
                run_seconds=60,
                gpus=0.5,
                pods=2,
                cpu_milli=4000,
                memory_mib=30000,
                line=3,
            )
        ],
    ),
    "Alibaba 2025": (
        (
            "instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time\n"
            "i1,HN,app_0,12,1,120.0,,,\ni2,HN,app_1,8,1,2.5,50.0,60.0,70.0\n"
        ),
        "CSV of Alibaba GPU v2025 (disaggregated_DLRM_trace)",
        [
            TraceJob(
                name="i2",
                submitted_seconds=0,
                run_seconds=10,
                gpus=1,
                cpu_milli=8000,
                memory_mib=2560,
                team="app_1",
                line=3,
            )
        ],
    ),
    "Acme": (
        (
            "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,"
            "end_time,fail_time,stop_time,duration,queue,gpu_time\n"
            "d1,u9,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,,,,,18,10.0,1152.0\n"
        ),
        "CSV of Acme",
        [
            TraceJob(
                name="d1",
                submitted_seconds=0,
                run_seconds=18,
                gpus=8,
                pods=8,
                cpu_milli=120000,
                memory_mib=math.ceil(1000e9 / 2**20),
                user="u9",
                team="Other",
                line=2,
            )
        ],
    ),
    "Helios": (
        (
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
            "14,uX,vcJ,4,16,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:45:36,275,0\n"
        ),
        "CSV of Helios",
        [
            TraceJob(
                name="14",
                submitted_seconds=0,
                run_seconds=275,
                gpus=4,
                cpu_milli=16000,
                user="uX",
                team="vcJ",
                line=2,
            )
        ],
    ),
    "Philly": (
        "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n",
        "CSV of Philly (AdaptDL)",
        [
            TraceJob(
                name="job-2",
                submitted_seconds=0,
                run_seconds=66,
                gpus=1,
                team="11cb48",
                line=2,
            )
        ],
    ),
}


@every("text, name, jobs", DIALECTS.values(), DIALECTS)
def test_tables_of_public_traces_are_recognised(text, name, jobs):
    result = read(text)
    assert (result.format, list(result.jobs)) == (name, jobs)


def test_rows_without_a_value_that_a_public_trace_may_lack_are_counted():
    text, _, _ = DIALECTS["Alibaba 2020"]
    assert read(text).notes == ("rows without plan_gpu, left out: 1",)


def test_the_public_trace_openb_is_read():
    path = upstream("..", "traces", "openb", "openb_pod_list_default.csv")
    with path.open("rb") as file:
        result = read_trace(file)
    assert (len(result.jobs), result.notes, result.skipped) == (8152, (), 0)
    gpus = float(sum(gpus for gpus, _, _ in openb_pods()))
    assert sum(job.gpus for job in result.jobs) == pytest.approx(gpus)


def test_columns_are_named_with_their_units():
    columns = parse_columns(
        ["submitted=when,run=minutes:min", "gpus=n", "user=", "cpu_milli=c:cores"]
    )
    result = read(
        "id;when;minutes;n;user;c\nx;2026-11-29T10:00:00Z;1.5;2;u;0.5\ny;2026-11-29T11:00:00+01:00;2;1;u;1\n",
        columns=columns,
    )
    assert [
        (j.name, j.submitted_seconds, j.run_seconds, j.gpus, j.user, j.cpu_milli)
        for j in result.jobs
    ] == [
        ("x", 0, 90, 2, "", 500),
        ("y", 0, 120, 1, "", 1000),
    ]
    assert result.notes == ("columns that are not used: user",)


def test_given_columns_take_precedence_over_their_alternatives():
    text = f"{HEAD},end,total\na,0,60,1,10,8\n"
    (job,) = read(text, columns=parse_columns(["ended=end,total_gpus=total"])).jobs
    assert (job.run_seconds, job.gpus) == (10, 8)


@every(
    "text, message",
    [
        (
            "rum=x",
            (
                "--columns rum=x: write FIELD=COLUMN or FIELD=COLUMN:UNIT. Fields are submitted, started, ended, run, "
                "gpus, total_gpus, gpu_share, pods, cpu_milli, total_cpu_milli, memory_mib, total_memory_mib, "
                "gpu_memory_mib, priority, utilisation, name, user, team, image, gpu_model; units are s, ms, us, min, h, d, "
                "milli, percent, cores, percent_of_core, KiB, MiB, GiB, GB, bytes. Did you mean run?"
            ),
        ),
    ],
)
def test_unknown_fields_are_refused_with_the_nearest(text, message):
    with pytest.raises(UsageError) as refused:
        parse_columns([text])
    assert str(refused.value) == message


def test_jobs_are_sorted_by_submission():
    result = read(f"{HEAD}\nc,30,1,1\na,10,1,1\nb,20,1,1\n")
    assert [(j.name, j.submitted_seconds, j.line) for j in result.jobs] == [
        ("a", 0, 3),
        ("b", 10, 4),
        ("c", 20, 2),
    ]
    assert result.notes == ("rows out of order of submission, sorted: 2, the first in line 3",)


def test_the_first_jobs_are_read_with_a_limit():
    result = read(f"{HEAD}\na,0,1,1\nb,1,1,1\nc,x,1,1\n", limit=2)
    assert [j.name for j in result.jobs] == ["a", "b"]
    assert result.notes == ("--limit 2: the jobs after them are not read",)
    assert read(f"{HEAD}\na,0,1,1\n", limit=1).notes == ()


GPUS = {
    "several nodes": ("64,8", (8, 8)),
    "not divisible": ("10,4", (3, 4)),
    "fewer GPUs than nodes": ("2,4", (1, 2)),
    "one pod": ("3,1", (3, 1)),
    "none": ("0,4", (0, 4)),
}


@every("cells, expected", GPUS.values(), GPUS)
def test_all_gpus_of_a_job_are_divided_among_its_pods(cells, expected):
    (job,) = read(f"submit_time,duration,num_gpus,nodes\n0,1,{cells}\n").jobs
    assert (job.gpus, job.pods) == expected


def test_compressed_files_and_byte_order_marks_are_read():
    text = f"{HEAD}\na,0,1,1\n"
    assert read(gzip.compress(text.encode())).jobs == read(b"\xef\xbb\xbf" + text.encode()).jobs


def test_progress_is_reported():
    seen = []
    rows = "".join(f"j{n},{n},1,1\n" for n in range(45_000))
    read(f"{HEAD}\n{rows}", progress=seen.append)
    assert seen == [20_000, 40_000]
