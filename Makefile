# One command surface, for users and for CI. Each target is one script or one command; `make` alone lists the main ones.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Without byte code each start of a stack's program compiles 250 modules of gpuyard again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: release help environment test quick check golden up down bench test-all test-packages demo shell tools docs campaign facts advisories

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nfurther targets: release, test-all, test-packages, demo, shell, tools, docs, campaign, facts, advisories (the Makefile describes them)\n'

environment: ## create .venv from requirements.lock, if it has changed
	@scripts/bootstrap

test: environment ## run the tests, with the coverage gates
	@scripts/test

quick: environment ## run the tests beside your changes
	@python scripts/quick.py

check: environment ## run every gate: format, lint, types, layers, speed, sizes, documentation
	@scripts/check $(GATES)

golden: environment ## regenerate golden files and generated pages, modules and schemas; review the diff
	@GPUYARD_GOLDEN=write scripts/test -q tests
	@git --no-pager diff --stat -- components docs policies stacks tests

# Only from the command line: some systems set a variable NAME.
up down demo shell: export GPUYARD_SIM_NAME := $(if $(filter command,$(origin NAME)),$(NAME),$(GPUYARD_SIM_NAME))

up: environment ## deploy the local stack on a simulated cluster; STACK=aws-training another, on a fake cloud, with PACE=0.05 its nodes join with a delay; RESERVED=file.json sets its reservations; NAME=ci: on a cluster of that name
	@scripts/yard up

down: environment ## destroy the local stack and stop the simulated cluster; STACK=aws-training another, with its fake account
	@scripts/yard down

bench: environment ## run the benchmarks and print figures with versions
	@scripts/bench

# ── Further targets ────────────────────────────────────────────────────────────────────────────────
# Build and check sdist, wheel, bill of materials and checksums in dist/.
release: environment
	@python scripts/release.py

# Every live test, instead of those marked `always`; a release needs it.
test-all: environment
	@scripts/test --all

# The tests of each package without the packages above it; scripts/test --package NAME runs those of one.
test-packages: environment
	@for name in gpuyard-core gpuyard-lint gpuyard-agents gpuyard-validator; do scripts/test --package $$name -q -n auto; done

# A guided tour of the simulated cluster.
demo: environment
	@scripts/yard demo

# A shell with pulumi, gpuyard and the kubeconfig of the local stack, or of STACK.
shell: environment
	@scripts/yard shell

# Build the engine and the control plane for the engine and cluster tests.
tools: environment
	@scripts/tools

# Build the documentation site in build/site.
docs: environment
	@zensical build --strict

# List the long searches; NAME=mutations runs one, with COUNT and SEED if given.
campaign: environment
	@python scripts/suite/campaign.py $(NAME) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

# Compare the catalogue with clones of its second sources in FOLDER.
facts: environment
	@python scripts/facts.py $(FOLDER)

# Write the table of CVEs from NVIDIA's bulletins: a clone of NVIDIA/product-security, or a flat folder, in FOLDER.
advisories: environment
	@python scripts/refresh_advisories.py $(FOLDER)
	@git --no-pager diff --stat -- components
