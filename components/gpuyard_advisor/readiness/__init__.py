"""Production readiness of a platform: a list of checks, each answered from its plan or its cluster.

A check is a row of `checks.yaml`. The functions that answer it from the plan and from the cluster's objects
are registered under its id in the module of its category. A check without an answer is NOT RUN.
"""
