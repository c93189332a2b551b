"""Each alert has a runbook, generated from the troubleshooting table."""

import os

import runbook_pages


def test_runbooks_match_the_troubleshooting_table():
    if os.environ.get("GPUYARD_GOLDEN") == "write":
        runbook_pages.main()
    written = {path.name: path.read_text("utf-8") for path in runbook_pages.FOLDER.glob("*.md")}
    assert written == runbook_pages.pages()


def test_the_table_has_alerts_only():
    alerts = {each["alert"] for each in runbook_pages.read_table("alerts.yaml")}
    assert set(runbook_pages.read_table("runbooks.yaml")) == alerts
