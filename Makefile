# `make help` lists the targets. Each is one line: what it runs can be run by hand.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help
PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pd-operator/bin:$(PATH)

.PHONY: help setup demo cluster-up cluster-down cluster-status cluster-env images \
	test test-unit test-api test-cluster verify generated bench constraints clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

setup: ## Set up whatever is missing: packages, .venv, the programs of the local cluster
	@localcluster/setup.sh

demo: setup ## The whole path on a real Kubernetes, ending in what the operator found
	@$(PY) -m pddemo

cluster-up: setup ## Start the local cluster, or check the one of PD_KUBECONFIG
	@$(PY) -m pdcluster up

cluster-down: ## Stop the local cluster and remove every trace of it
	@$(PY) -m pdcluster down

cluster-status: ## Tell whether the cluster is well
	@$(PY) -m pdcluster status

cluster-env: ## Print exports: eval "$(make -s cluster-env)"
	@$(PY) -m pdcluster env

images: cluster-up ## Build both images and load them into the cluster
	@$(PY) -m pdcluster load-images

test: setup verify test-unit test-api test-cluster ## Everything that must pass

test-unit: setup ## Unit tests
	@$(PY) -m pytest tests/unit $(ARGS)

test-api: setup ## Tests against a real kube-apiserver
	@$(PY) -m pytest tests/api $(ARGS)

test-cluster: setup ## End to end on the local cluster (KEEP=1 leaves a cluster up that this started)
	@localcluster/with-cluster.sh $(PY) -m pytest tests/cluster -m cluster $(ARGS)

verify: setup ## Linters, types, layers, and that generated files are what the code generates
	@localcluster/verify.sh

generated: setup ## Write every generated file: the CRD, the reference pages
	@$(PY) -m pdoperator.generate

bench: setup ## Measure and print a table (ONLY=name for one)
	@MC_LOG_LEVEL=ERROR $(PY) -m pdbench $(if $(ONLY),--only $(ONLY))

constraints: ## Pin the newest versions that pyproject.toml allows
	@localcluster/constraints.sh

clean: ## Remove build results of the checkout; the caches stay
	@rm -rf build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
