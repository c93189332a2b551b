"""Whether a platform is ready for production: a list of checks, each answered from its plan or its cluster.

A check is a row of `checks.yaml`. What answers it from the plan, and what from the cluster's objects, are
functions under its id in the module of its category. What nobody has answered is NOT RUN, and never passed.
"""
