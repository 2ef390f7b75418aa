.PHONY: setup test slow lint bench

setup:
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[test,plots,dask,parquet]'

test:
	.venv/bin/python -m pytest

slow:
	.venv/bin/python -m pytest -m slow

lint:
	.venv/bin/ruff check . && .venv/bin/ruff format --check .

bench:
	.venv/bin/python -m benchmarks.freecell
