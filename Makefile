# One command surface, for users and for CI. Each target is one script or one command; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Without byte code each start of a stack's program compiles 250 modules of gpuyard again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment up down demo shell test quick repeating turns campaign check bench docs tools golden schema advisories facts

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

environment: ## create .venv from requirements.lock, if it has changed
	@scripts/bootstrap

# Only from the command line: some systems set a variable NAME.
up down demo shell: export GPUYARD_SIM_NAME := $(if $(filter command,$(origin NAME)),$(NAME),$(GPUYARD_SIM_NAME))

up: environment ## deploy the local stack on a simulated cluster; STACK=aws-training another, on a fake cloud, with PACE=0.05 its nodes join with a delay; RESERVED=file.json sets its reservations; NAME=ci: on a cluster of that name
	@scripts/up

down: environment ## destroy the local stack and stop the simulated cluster; STACK=aws-training another, with its fake account
	@scripts/down

demo: environment ## a guided tour of the simulated cluster
	@scripts/demo

shell: environment ## open a shell with pulumi, gpuyard and the kubeconfig of the local stack, or of STACK
	@scripts/shell

test: environment ## run all tests, with the coverage gates
	@scripts/test

quick: environment ## run the tests of your changes, in a minute
	@python scripts/quick.py

repeating: environment ## measure which tests run no line of their own, and write their list
	@python scripts/repeating.py

turns: environment ## rewrite the costs and turns of live tests, from measurements in FOLDER (GPUYARD_SECONDS=FOLDER)
	@PYTHONPATH=tests python -m kit.suite.measured $(FOLDER)

campaign: environment ## list the long searches; NAME=mutations runs one, with COUNT and SEED if given
	@python scripts/suite/campaign.py $(NAME) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

check: environment ## run every gate: format, lint, types, layers, speed, sizes, documentation
	@scripts/check $(GATES)

bench: environment ## run the benchmarks and print figures with versions
	@scripts/bench

docs: environment ## build the documentation site in build/site
	@zensical build --strict

tools: environment ## build the engine and the control plane for the engine and cluster tests
	@scripts/tools

golden: environment ## regenerate the golden files; review the diff before you commit it
	@GPUYARD_GOLDEN=write scripts/test -q tests
	@git --no-pager diff --stat -- tests components docs

schema: environment ## regenerate the JSON Schema of stack files
	@gpuyard schema >.schema.json
	@mv .schema.json stacks/gpuyard.schema.json
	@git --no-pager diff --stat -- stacks

facts: environment ## compare the catalogue with clones of its second sources in FOLDER
	@python scripts/facts.py $(FOLDER)

advisories: environment ## write the table of CVEs from NVIDIA's bulletins: a clone of NVIDIA/product-security, or a flat folder, in FOLDER
	@python scripts/refresh_advisories.py $(FOLDER)
	@git --no-pager diff --stat -- components
