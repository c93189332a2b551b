"""Writes docs/runbooks: a page for each alert, from the troubleshooting table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "components" / "gpuyard" / "render" / "observability"
FOLDER = ROOT / "docs" / "runbooks"
CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"


def read_table(name: str) -> Any:
    """A data file of the rules."""
    return yaml.safe_load((TABLES / name).read_text(encoding="utf-8"))


def page(alert: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """The page of one alert."""
    check = "\n".join(f"{n}. {step}." for n, step in enumerate(entry["check"], 1))
    steps = "\n".join(f"- {step}." for step in entry["do"])
    return (
        f"# {alert['alert']}\n\n{entry['means']}\n\n"
        f"Severity: {alert['severity']}. Owner: {alert['owner']}.\n\n"
        f"## Check\n\n{check}\n\n## Do\n\n{steps}\n\n{codes(alert['expr'])}"
        f"## Expression\n\n```text\n{alert['expr']}\n```\n\n"
        "gpuyard replaces `%{…}` with values of the stack.\n"
    )


def codes(expr: str) -> str:
    """The XID codes of the alert's class by the action of NVIDIA's catalogue; empty for other alerts."""
    classes = {
        name: each for name, each in read_table("xids.yaml").items() if f"{{xid_{name}}}" in expr
    }
    rows = [
        f"| {action} | {', '.join(map(str, numbers))} |"
        for actions in classes.values()
        for action, numbers in actions.items()
    ]
    if not rows:
        return ""
    table = "\n".join(["| Action | XID |", "|---|---|", *rows])
    return f"## Codes\n\nImmediate actions of [NVIDIA's catalogue]({CATALOGUE}).\n\n{table}\n\n"


def pages() -> dict[str, str]:
    """All pages by file name, the index included."""
    table, alerts = read_table("runbooks.yaml"), read_table("alerts.yaml")
    found = {f"{each['alert']}.md": page(each, table[each["alert"]]) for each in alerts}
    rows = "\n".join(
        f"| [{each['alert']}]({each['alert']}.md) | {each['severity']} | {each['owner']}"
        f" | {table[each['alert']]['means']} |"
        for each in alerts
    )
    index = "# Runbooks\n\nA page for each alert.\n\n| Alert | Severity | Owner | Means |\n|---|---|---|---|\n"
    return {"index.md": f"{index}{rows}\n", **found}


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
