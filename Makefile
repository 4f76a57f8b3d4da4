# Everything a newcomer, an operator or a build machine does with this tree. "make help" lists it.

PREFIX ?= /usr/local
DESTDIR ?=
# The system's configuration is in /etc whatever the prefix; units and fragments follow the prefix.
sysconfdir ?= /etc
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
docdir ?= $(PREFIX)/share/doc/bobbin
mandir ?= $(PREFIX)/share/man

SWIFT ?= swift
# What is tested has no warnings.
STRICT := -Xswiftc -warnings-as-errors
PROGRAMS := bobbind bobbinctl bobbin-image
SOURCES := Sources Tests Plugins Examples Benchmarks Package.swift

.DEFAULT_GOAL := help
.PHONY: help build test test-own-daemon test-system test-differential test-calendar test-tsan test-asan test-kill \
  test-faults test-fleet plant-faults fuzz-graph fuzz-fleet fuzz-predicates fuzz-jobs fuzz-records demo demo-fleet bench lint format docs check-units install uninstall clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-17s %s\n' "$$name" "$$text"; done

build: ## Build the programs in release mode
	@scripts/install-dependencies build
	$(SWIFT) build -c release --no-color-diagnostics

test: ## Install what is missing, then run every check and test that .ci/run runs
	@scripts/install-dependencies test
	@$(MAKE) --no-print-directory lint
	$(SWIFT) build --build-tests $(STRICT)
	@scripts/run-tests --skip-build $(STRICT)
	@scripts/test-own-daemon
	@scripts/test-sanitizer thread --short
	@scripts/fuzz-records 20
	@scripts/build-docs
	@$(MAKE) --no-print-directory check-units

test-own-daemon: ## Build Examples/OwnDaemon as the package of its own that it is, and run a job with it
	$(SWIFT) build --product bobbinctl $(STRICT)
	@scripts/test-own-daemon

test-system: build ## Run the installed service under a real systemd in a container (root; systemd-nspawn)
	@scripts/install-dependencies system
	@scripts/check-service

# Variables given to make reach scripts/demo in its environment.
demo: ## Encode real pictures and import a real CSV (IMAGE=... CSV=... for your own)
	@scripts/install-dependencies demo
	@scripts/demo

test-differential: ## Compare SQL with evaluation in memory for 20,000 random predicates, on each database
	BOBBIN_DIFFERENTIAL_SEEDS=40 scripts/run-tests $(STRICT) --filter 'DifferentialTests'

test-calendar: ## Compare 10,000 random calendar expressions with what systemd-analyze says of them
	BOBBIN_CALENDAR_RUNS=250 scripts/run-tests $(STRICT) --filter 'CalendarDifferentialTests'

test-tsan: ## Run the library's tests under the thread sanitizer (FILTER='ContextTests' for some of them)
	@scripts/test-sanitizer thread $(if $(FILTER),'$(FILTER)')

test-asan: ## Run the library's tests under the address sanitizer (FILTER='ContextTests' for some of them)
	@scripts/test-sanitizer address $(if $(FILTER),'$(FILTER)')

test-kill: ## Kill a saving process 200 times at random statements, and look at what is left
	BOBBIN_KILLS=200 scripts/run-tests $(STRICT) --filter 'KillTests'

# BOBBIN_FAULTS_KILLS=20 and the like for fewer of a kind, BOBBIN_FAULTS_SEED=1 for the choices of another run, and
# FILTER='PowerCuts' for one group.
test-faults: ## Do every fault to a real daemon, and look for what is lost or done twice (root for all of them)
	@scripts/install-dependencies test
	$(SWIFT) build --build-tests $(STRICT)
	BOBBIN_FAULTS=all scripts/run-tests --skip-build $(STRICT) --filter 'FaultTests$(if $(FILTER),.$(FILTER))' --skip FleetChaosTests

# BOBBIN_FAULTS_FLEET=100 for fewer.
test-fleet: ## Do 1,000 faults to four daemons and two PostgreSQL servers, and look for what is lost or done twice
	@scripts/install-dependencies test
	$(SWIFT) build --build-tests $(STRICT)
	BOBBIN_FAULTS=all scripts/run-tests --skip-build $(STRICT) --filter 'FleetChaosTests'

plant-faults: ## Plant hundreds of faults, one at a time, and name those that no test notices (FAULTS='--module Jobs')
	@scripts/plant-faults $(FAULTS)

SEEDS ?= 10000
FIRST ?= 0
fuzz-graph: ## Run random programs on the object graph and on a plain model of it (SEEDS=10000 FIRST=0)
	$(SWIFT) build -c release --scratch-path .build/fuzz --product fuzz-graph
	.build/fuzz/release/fuzz-graph $(FIRST) $(SEEDS)

fuzz-fleet: ## Run random faults on a fleet with a virtual clock (SEEDS=10000 FIRST=0)
	$(SWIFT) build -c release --scratch-path .build/fuzz --product fuzz-fleet
	.build/fuzz/release/fuzz-fleet $(FIRST) $(SEEDS)

SECONDS ?= 60
fuzz-predicates: ## Feed random text to the parser of predicates (SECONDS=60)
	@scripts/fuzz-predicates $(SECONDS)

fuzz-jobs: ## Feed random bytes to the reader of job files (SECONDS=60)
	@scripts/fuzz-jobs $(SECONDS)

fuzz-records: ## Feed random bytes to the readers of CSV and JSON records (SECONDS=60)
	@scripts/fuzz-records $(SECONDS)

demo-fleet: ## Run three daemons on a private PostgreSQL, and kill one in the middle
	@scripts/install-dependencies test
	@scripts/demo-fleet

bench: ## Measure speed and memory, write Benchmarks/results/latest.json (BENCH='--only import --pairs 3')
	@scripts/install-dependencies bench
	@scripts/bench $(BENCH)

lint: ## Check the style and the map of the Swift sources, and that the planted faults fit them
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	@scripts/plant-faults --list >/dev/null
	@scripts/check-house

format: ## Rewrite the Swift sources in the style that lint wants
	$(SWIFT) format --in-place --recursive $(SOURCES)

docs: ## Build the library's documentation; fails on links that lead nowhere and on what has no doc comment
	@scripts/install-dependencies test
	$(SWIFT) build --target ObjectGraphTesting $(STRICT)
	$(SWIFT) build --target BobbinDaemon $(STRICT)
	@scripts/build-docs

check-units: ## Check the systemd units, users and folders
	@scripts/check-units

install: ## Install what "make build" built (PREFIX=/usr/local, DESTDIR=)
	@for program in $(PROGRAMS); do test -x .build/release/$$program || \
	  { echo "make install: .build/release/$$program is missing; run \"make build\" first" >&2; exit 1; }; done
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(libdir)/systemd/system'
	install -m 755 $(PROGRAMS:%=.build/release/%) '$(DESTDIR)$(bindir)'
	for unit in bobbind.service bobbind.socket; do \
	  sed -e 's|/usr/bin/|$(bindir)/|' -e 's|/usr/share/doc/bobbin|$(docdir)|' systemd/$$unit \
	    >'$(DESTDIR)$(libdir)/systemd/system/'$$unit && \
	  chmod 644 '$(DESTDIR)$(libdir)/systemd/system/'$$unit || exit 1; done
	install -D -m 644 systemd/bobbin.sysusers.conf '$(DESTDIR)$(libdir)/sysusers.d/bobbin.conf'
	install -D -m 644 systemd/bobbin.tmpfiles.conf '$(DESTDIR)$(libdir)/tmpfiles.d/bobbin.conf'
	install -d $(foreach folder,bobbin.conf.d handlers.d folders.d schedules.d models,'$(DESTDIR)$(sysconfdir)/bobbin/$(folder)')
	test -e '$(DESTDIR)$(sysconfdir)/bobbin/bobbin.conf' || \
	  install -m 644 etc/bobbin.conf '$(DESTDIR)$(sysconfdir)/bobbin/bobbin.conf'
	install -D -m 644 etc/bobbin.conf '$(DESTDIR)$(docdir)/bobbin.conf'
	install -m 644 etc/handlers.d/handler.conf.sample etc/folders.d/folder.conf.sample etc/folders.d/scans.json5.sample \
	  etc/schedules.d/schedule.conf.sample '$(DESTDIR)$(docdir)'
	install -d '$(DESTDIR)$(docdir)/Examples'
	cp -R Examples/Handlers '$(DESTDIR)$(docdir)/Examples'
	install -m 644 README.md CHANGELOG.md LICENSE '$(DESTDIR)$(docdir)'
	install -d '$(DESTDIR)$(docdir)/Documentation'
	install -m 644 Documentation/*.md '$(DESTDIR)$(docdir)/Documentation'
	install -D -m 644 Documentation/man/bobbinctl.1 '$(DESTDIR)$(mandir)/man1/bobbinctl.1'
	install -D -m 644 Documentation/man/bobbin.conf.5 '$(DESTDIR)$(mandir)/man5/bobbin.conf.5'
	install -m 644 Documentation/man/bobbin-handler.5 Documentation/man/bobbin-folder.5 Documentation/man/bobbin-schedule.5 \
	  '$(DESTDIR)$(mandir)/man5'
	install -D -m 644 Documentation/man/bobbind.8 '$(DESTDIR)$(mandir)/man8/bobbind.8'
	@echo 'Then, as root: systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload &&' \
	  'systemctl enable --now bobbind.socket bobbind.service'

uninstall: ## Remove what "make install" installed; keeps configuration, spool and store
	rm -f $(foreach program,$(PROGRAMS),'$(DESTDIR)$(bindir)/$(program)')
	rm -f '$(DESTDIR)$(libdir)/systemd/system/bobbind.service' '$(DESTDIR)$(libdir)/systemd/system/bobbind.socket'
	rm -f '$(DESTDIR)$(libdir)/sysusers.d/bobbin.conf' '$(DESTDIR)$(libdir)/tmpfiles.d/bobbin.conf'
	rm -f $(foreach file,README.md CHANGELOG.md LICENSE bobbin.conf handler.conf.sample folder.conf.sample \
	  scans.json5.sample schedule.conf.sample,'$(DESTDIR)$(docdir)/$(file)')
	rm -rf '$(DESTDIR)$(docdir)/Documentation' '$(DESTDIR)$(docdir)/Examples'
	rm -f $(foreach page,man1/bobbinctl.1 man5/bobbin.conf.5 man5/bobbin-handler.5 man5/bobbin-folder.5 man5/bobbin-schedule.5 \
	  man8/bobbind.8,'$(DESTDIR)$(mandir)/$(page)')
	-rmdir '$(DESTDIR)$(docdir)'

clean: ## Remove what was built, and the demo's folder
	rm -rf .build demo demo-fleet
