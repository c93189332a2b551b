"""Programs of stacks in the engine tests; each reads its platform from `platform.json` next to it."""

GRAPH = """
import json
from pathlib import Path
import pulumi
from gpuyard.plan import plan_or_raise
from gpuyard.resources.clouds import CloudResources
from gpuyard.spec.read import read_platform
plan = plan_or_raise(read_platform(json.loads(Path("platform.json").read_text())).spec)
if plan.cloud.value == "aws":
    from gpuyard.render.aws.graph import aws_graph as graph_of
else:
    from gpuyard.render.gcp.graph import gcp_graph as graph_of
graph, cloud = graph_of(plan), CloudResources("lab")
cloud.run_queries(None, graph.calls)
cloud.register(None, graph.resources)
"""
"""Only a cloud's part of a platform."""
TELLS = """
for name, value in cloud.resolve(graph.late_values).items():
    pulumi.export(name.replace(".", "-"), value)
"""
"""After `GRAPH`: exports of values that the rest of a platform gets."""


def of_platform(name: str) -> str:
    """A platform whose component has this name."""
    return f"""
import json
from pathlib import Path
from gpuyard.resources import Platform
Platform("{name}", {{"platform": json.loads(Path("platform.json").read_text())}})
"""
