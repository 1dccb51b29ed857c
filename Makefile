# Every target sets up its needs: a virtual environment in .venv with the extension built from source and, for tests and
# documents, developer tools. Stamp files make a repeated set-up free.

PYTHON ?= python3
NICE :=
WORKERS := auto
VENV := .venv
BIN := $(VENV)/bin
BUILDER := $(VENV)/.builder
RUNTIME := $(VENV)/.runtime
COMPILED := $(VENV)/.compiled
TOOLS := $(VENV)/.tools
PEERS := $(VENV)-peers
SITE := $(VENV)-site
INSTALLED := $(VENV)/.installed
# Hundreds of test processes load the package: keep its bytecode, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates presets -name '*.rs' -o -name '*.toml')
# A served drive with page mapping, for benchmarks.
SERVE = $(BIN)/ssdlab serve --socket {socket} -s device.capacity={size}B -s drive.buffer=none -s device.op=20% \
    -s nand.pages_per_block=64
SIMULATOR := python/ssdlab/view/stepper/simulator.wasm
WASM := wasm32-unknown-unknown
WHEEL_TARGETS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
ZIG := 0.15.2
CRATES := ssdlab $(addprefix ssdlab-,core nand ftl trace cache sched sim config)

.PHONY: help run test test-rust test-python crash interop lint lint-rust lint-python bench validate docs pictures site man wasm \
    wheel wheels check-wheel crates licences lock clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build, replay a shipped trace against an SSD, print the result and write an HTML report
	@$(MAKE) --no-print-directory --jobs 2 $(INSTALLED)
	@$(BIN)/ssdlab run traces/varmail.csv.zst --repeat until-steady --out out/varmail

test: test-rust test-python ## Run every test

# Without incremental files, a full build takes a tenth less time.
test-rust: export CARGO_INCREMENTAL := 0
test-rust:
	$(NICE) cargo test --workspace --locked --no-fail-fast
	$(NICE) cargo test --package ssdlab-pool --lib --features shuttle --locked

test-python: $(TOOLS) $(INSTALLED) $(SIMULATOR)
	$(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

crash: ## Cut the power of small drives of every FTL at a million operations; prints their number and the time
	SSDLAB_CRASH_POINTS=1000000 cargo test --release --locked --quiet -p ssdlab-device --test it \
	    wherever_the_power_is_cut -- --nocapture

interop: $(INSTALLED) ## Use a served drive with other programs (installs them from Debian if allowed)
	$(BIN)/python tests/interop/run.py $(or $(CHECKS),--drives) --certificates crates/drive/nbd/tests/data \
	    --server '$(BIN)/ssdlab serve --socket {socket} -s device.capacity={size}B -s ftl=fast -s nand.pages_per_block=32 -s device.op=20%'

lint: lint-rust lint-python ## Run formatters and linters in check mode

lint-rust:
	$(NICE) cargo fmt --check
	$(NICE) cargo clippy --workspace --all-targets --locked -- -D warnings

lint-python: $(TOOLS) $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest ssdlab._ssdlab

bench: $(TOOLS) $(INSTALLED) $(PEERS)/.installed ## Measure speed; prints the machine, tables and result hashes
	cargo run --release --locked --quiet -p ssdlab-bench
	@$(BIN)/python crates/dev/bench/python_overhead.py target/release/ssdlab-bench
	@$(BIN)/python crates/dev/bench/attribution.py
	@$(BIN)/python crates/dev/bench/start_up.py
	@$(BIN)/python crates/dev/bench/simulators.py
	@$(BIN)/python crates/dev/bench/sweep.py
	@$(BIN)/python crates/dev/bench/against_built_in.py
	@$(BIN)/python crates/dev/bench/fleet.py
	@$(BIN)/python crates/dev/bench/against_libcachesim.py $(PEERS)/bin/python
	cargo run --release --locked --quiet -p ssdlab-device --example mount
	cargo build --release --locked --quiet -p ssdlab-nbd --example memory
	@$(BIN)/python crates/dev/bench/against_nbdkit.py memory='target/release/examples/memory --socket {socket} --size {size}' \
	    drive='$(SERVE)' file='$(SERVE) --file {file}'

validate: $(INSTALLED) ## Compare write amplification with published theory, row by row
	$(BIN)/ssdlab validate

docs: $(TOOLS) $(INSTALLED) ## Write current outputs into the documents
	$(BIN)/python tests/documents.py

site: $(SITE)/.installed ## Build the documentation as a site with search; a dead link is an error
	$(SITE)/bin/sphinx-build --quiet --fail-on-warning --keep-going -c packaging/site . out/site
	@echo "written to out/site/index.html"

pictures: $(TOOLS) $(INSTALLED) ## Draw the pictures of the README (needs Chromium)
	$(BIN)/python packaging/pictures.py docs/pictures

man: $(INSTALLED) ## Write man pages and completions to dist/share, for packagers
	$(BIN)/python packaging/share.py dist/share

wasm: $(SIMULATOR) ## Build the WebAssembly simulator for pages of `ssdlab explain`

wheel: $(RUNTIME) $(SIMULATOR) ## Build a wheel for Python 3.11 and later, and the source distribution, into dist/
	rm -f dist/*.whl dist/*.tar.gz
	PATH=$(CURDIR)/$(BIN):$$PATH MATURIN_PEP517_ARGS='--locked --compatibility pypi' \
	    $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/maturin sdist --out dist

# Zig brings the linker and the glibc of every target; the limited interface of Python needs no Python of the target.
# Zig switches off a feature, evex512, that libdeflate's functions for AVX-512 need.
wheels: $(RUNTIME) $(SIMULATOR) ## Build wheels for Linux (x86-64 and aarch64, glibc 2.17 and later) into dist/ (installs zig)
	$(BIN)/pip install --quiet --disable-pip-version-check ziglang==$(ZIG)
	rustup target add $(WHEEL_TARGETS)
	rm -f dist/*manylinux*.whl
	@for target in $(WHEEL_TARGETS); do \
	    PATH=$(CURDIR)/$(BIN):$$PATH CFLAGS_x86_64_unknown_linux_gnu=-mevex512 \
	        $(BIN)/maturin build --quiet --release --locked --zig --target $$target --out dist || exit; \
	done
	$(BIN)/python packaging/check_wheels.py dist/*manylinux*.whl

check-wheel: wheel ## Install the wheel into a clean environment and run it; compile the source distribution
	rm -rf dist/clean
	$(PYTHON) -m venv dist/clean
	sed -n 's/ *\\$$//; /^[a-z]/p' requirements-dev.lock > dist/clean/pins.txt
	dist/clean/bin/pip install --quiet --disable-pip-version-check --constraint dist/clean/pins.txt dist/*.whl
	tar -xzf dist/*.tar.gz -C dist/clean
	CARGO_TARGET_DIR=$(CURDIR)/target cargo check --quiet --manifest-path dist/clean/ssdlab-*/crates/py/Cargo.toml
	dist/clean/bin/python packaging/check_installed.py

crates: ## Package the crates of the Rust interface into target/package, and compile them from there
	cargo package --locked $(addprefix --package ,$(CRATES))

licences: $(BUILDER) ## Write the licences of everything that the extension contains to THIRD-PARTY.txt
	$(BIN)/python packaging/licences.py > THIRD-PARTY.txt

lock: ## Pin the newest versions of all Python packages (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	    --group dev pyproject.toml --output-file requirements-dev.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	    --constraint requirements-dev.lock --group build pyproject.toml --output-file requirements.lock
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	    packaging/site/requirements.in --output-file packaging/site/requirements.lock

clean: ## Remove all build products
	rm -rf $(VENV) $(PEERS) $(SITE) target dist out
	find python -name '*.so' -delete -o -name '*.wasm' -delete

# Tools that benchmarks compare with, in their own environment.
$(PEERS)/.installed: crates/dev/bench/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -r crates/dev/bench/peers.txt
	@touch $@

# Tools that build the site, in their own environment.
$(SITE)/.installed: packaging/site/requirements.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r packaging/site/requirements.lock
	@touch $@

# Without the target nothing fails: pages play recordings and say so.
$(SIMULATOR): $(SOURCES) wasm/Cargo.toml wasm/Cargo.lock wasm/src/lib.rs
	@rustup --quiet target add $(WASM) 2>/dev/null; \
	if [ -d "$$(rustc --print target-libdir --target $(WASM))" ]; then \
	    cargo build --release --locked --quiet --target $(WASM) --manifest-path wasm/Cargo.toml --target-dir target \
	    && cp target/$(WASM)/release/ssdlab_wasm.wasm $@; \
	else \
	    echo "pages of ssdlab explain will play recordings only; for a simulator in them: rustup target add $(WASM)"; \
	fi

# The compiler of the extension comes first, so that packages install meanwhile.
$(BUILDER): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("ssdlab needs Python 3.11 or later, %s is %d.%d: run make PYTHON=python3.11" \
	    % (sys.executable, *sys.version_info[:2]) if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^maturin==/,/[^\\]$$/p' requirements.lock > $(VENV)/builder.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/builder.lock
	@touch $@

$(RUNTIME): $(BUILDER)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(COMPILED): $(BUILDER) $(SOURCES)
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build --quiet --release --locked --out $(VENV)/wheel
	@touch $@

# After the extension: two installations at a time would collide in one environment.
$(TOOLS): $(RUNTIME) requirements-dev.lock | $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(INSTALLED): $(RUNTIME) $(COMPILED)
	PATH=$(CURDIR)/$(BIN):$$PATH MATURIN_PEP517_ARGS=--locked \
	    $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
