# Everything a newcomer, an operator or a build machine does with this tree. "make help" lists it.

PREFIX ?= /usr/local
DESTDIR ?=
# The system's configuration is in /etc whatever the prefix; units and fragments follow the prefix.
sysconfdir ?= /etc
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
unitdir ?= $(libdir)/systemd/system
docdir ?= $(PREFIX)/share/doc/bobbin
mandir ?= $(PREFIX)/share/man
bashcompletiondir ?= $(PREFIX)/share/bash-completion/completions
zshcompletiondir ?= $(PREFIX)/share/zsh/site-functions
fishcompletiondir ?= $(PREFIX)/share/fish/vendor_completions.d

SWIFT ?= swift
# What is installed, and what it has to pass.
BUILT ?= .build/release
CHECK_PORTABLE ?= scripts/check-portable
# What is tested has no warnings.
STRICT := -Xswiftc -warnings-as-errors
PROGRAMS := bobbind bobbinctl bobbin-image
VERSION := $(shell cat VERSION)
# All units that systemd/ has.
UNITS := $(notdir $(wildcard $(foreach kind,service socket slice target timer,systemd/*.$(kind))))
# The documentation is laid out as this tree is, so that the links of its pages lead somewhere.
PAGES := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE
DOCUMENTED := Documentation/Design Examples etc systemd Sources/ObjectGraph/ObjectGraph.docc
MAN_PAGES := $(notdir $(wildcard Documentation/man/*.[158]))
SOURCES := Sources Tests Plugins Examples Benchmarks Fuzzing Package.swift

.DEFAULT_GOAL := help
.PHONY: help build test test-short test-own-daemon test-system test-differential test-calendar test-contract test-tsan test-asan \
  test-kill test-faults test-fleet test-fleet-of-one test-upgrade plant-faults fuzz-graph fuzz-fleet fuzz-predicates fuzz-jobs fuzz-records demo demo-fleet bench lint format docs check-units install \
  uninstall deb dist test-dist test-packages check-reproducible release clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
	  printf '  make %-17s %s\n' "$$name" "$$text"; done

build: ## Build the programs in release mode, with Swift's runtime in them
	@scripts/install-dependencies build
	@SWIFT='$(SWIFT)' scripts/build-release

test: ## Install what is missing, check the style, run all tests, build the documentation, check the units
	@scripts/install-dependencies test
	@$(MAKE) --no-print-directory lint
	$(SWIFT) build --build-tests $(STRICT)
	@scripts/run-tests --skip-build $(STRICT)
	@scripts/test-own-daemon
	@scripts/build-docs
	@$(MAKE) --no-print-directory check-units

# Short versions of what takes longer; the build machine runs them behind "make test".
test-short: ## Run a little of the thread sanitizer, of the fuzzing and of the service in a container
	@scripts/install-dependencies test
	$(SWIFT) build $(STRICT)
	@scripts/test-sanitizer thread --short
	@scripts/fuzz-records 20
	@scripts/fuzz-predicates 10
	@scripts/fuzz-jobs 10
	@scripts/check-service --debug

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

test-contract: ## Make requests of the interface's description at random for ten minutes (SECONDS=3600 for longer)
	@scripts/install-dependencies test
	BOBBIN_CONTRACT_SECONDS=$(if $(findstring command,$(origin SECONDS)),$(SECONDS),600) scripts/run-tests $(STRICT) --filter 'ContractFuzz'

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

# The suites of which no test looks at what only SQLite has; FILTER=... for others.
FLEET_OF_ONE = Access|BadInputs|BadJobFiles|Events|HandlerExamples|HarmfulOutputs|HeldWaits|ImportRelationships|Inputs
FLEET_OF_ONE := $(FLEET_OF_ONE)|JobLog|Notices|Objects|OpenInputs|ProgressOfBuiltIns|ReleasedPrograms|Secrets
test-fleet-of-one: ## Run tests of single hosts on daemons that are fleets of one, on PostgreSQL
	@scripts/install-dependencies test
	$(SWIFT) build --build-tests $(STRICT)
	BOBBIN_TEST_FLEET=1 scripts/run-tests --skip-build $(STRICT) \
	  --filter 'SystemTests/($(if $(FILTER),$(FILTER),$(FLEET_OF_ONE)))/'

# BOBBIN_FAULTS_FLEET=100 for fewer, BOBBIN_SNAPSHOT_SECONDS=60 for less time beside an old snapshot.
test-fleet: ## Do 1,480 faults to four daemons and two PostgreSQL servers, and look for what is lost or done twice
	@scripts/install-dependencies test
	$(SWIFT) build --build-tests $(STRICT)
	BOBBIN_FAULTS=all BOBBIN_SNAPSHOT_SECONDS=$${BOBBIN_SNAPSHOT_SECONDS:-600} \
	  scripts/run-tests --skip-build $(STRICT) --filter 'FleetChaosTests|HotTableTests'

# FROM=a commit or tag of another daemon; this is the first whose ledger has the tables of today.
test-upgrade: FROM ?= 512c9416
test-upgrade: ## Give hosts of a fleet another release one by one under load, and the old one again (FROM=commit)
	@scripts/install-dependencies test
	$(SWIFT) build --build-tests $(STRICT)
	daemon=$$(scripts/build-earlier $(FROM)) && BOBBIN_EARLIER_DAEMON=$$daemon BOBBIN_FAULTS=all \
	  scripts/run-tests --skip-build $(STRICT) --filter 'FleetChaosTests/upgrade'

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

lint: ## Check the style and the map of the Swift sources, the links of pages, and that the planted faults fit
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	@scripts/plant-faults --list >/dev/null
	@scripts/check-house
	@scripts/check-links .

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
	@for program in $(PROGRAMS); do test -x $(BUILT)/$$program || \
	  { echo "make install: $(BUILT)/$$program is missing; run \"make build\" first" >&2; exit 1; }; done
	@$(CHECK_PORTABLE) $(PROGRAMS:%=$(BUILT)/%)
	@case '$(bindir)/' in \
	  /home/* | /root/* | /run/user/* | /tmp/* | /var/tmp/*) \
	    echo 'make install: $(bindir): the service sees no homes, and no /tmp of others; choose another PREFIX' >&2; exit 1;; \
	  *[[:space:]]* | */../* | */./*) \
	    echo 'make install: $(bindir): units want a path without spaces, "." and ".."; choose another PREFIX' >&2; exit 1;; \
	  /*) ;; \
	  *) echo 'make install: $(bindir): units want an absolute path; choose another PREFIX' >&2; exit 1;; esac
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(unitdir)'
	install -m 755 $(PROGRAMS:%=$(BUILT)/%) '$(DESTDIR)$(bindir)'
	for unit in $(UNITS); do \
	  sed -e 's|/usr/bin/|$(bindir)/|' -e 's|/usr/share/doc/bobbin|$(docdir)|' systemd/$$unit \
	    >'$(DESTDIR)$(unitdir)/'$$unit && \
	  chmod 644 '$(DESTDIR)$(unitdir)/'$$unit || exit 1; done
	install -D -m 644 systemd/bobbin.preset '$(DESTDIR)$(libdir)/systemd/system-preset/80-bobbin.preset'
	install -D -m 644 systemd/bobbin.catalog '$(DESTDIR)$(libdir)/systemd/catalog/bobbin.catalog'
	install -D -m 644 systemd/bobbin.sysusers.conf '$(DESTDIR)$(libdir)/sysusers.d/bobbin.conf'
	install -D -m 644 systemd/bobbin.tmpfiles.conf '$(DESTDIR)$(libdir)/tmpfiles.d/bobbin.conf'
	install -d $(foreach folder,bobbin.conf.d handlers.d folders.d notify.d schedules.d models,'$(DESTDIR)$(sysconfdir)/bobbin/$(folder)')
	test -e '$(DESTDIR)$(sysconfdir)/bobbin/bobbin.conf' || \
	  install -m 644 etc/bobbin.conf '$(DESTDIR)$(sysconfdir)/bobbin/bobbin.conf'
	install -d $(DOCUMENTED:%='$(DESTDIR)$(docdir)/%')
	install -m 644 $(PAGES) '$(DESTDIR)$(docdir)'
	install -m 644 Documentation/*.md '$(DESTDIR)$(docdir)/Documentation'
	for folder in $(DOCUMENTED); do cp -R $$folder/. '$(DESTDIR)$(docdir)/'$$folder || exit 1; done
	chmod -R u=rwX,go=rX '$(DESTDIR)$(docdir)'
	for page in $(MAN_PAGES); do \
	  install -D -m 644 Documentation/man/$$page '$(DESTDIR)$(mandir)'/man$${page##*.}/$$page || exit 1; done
	install -d '$(DESTDIR)$(bashcompletiondir)' '$(DESTDIR)$(zshcompletiondir)' '$(DESTDIR)$(fishcompletiondir)'
	$(BUILT)/bobbinctl completion bash >'$(DESTDIR)$(bashcompletiondir)/bobbinctl'
	$(BUILT)/bobbinctl completion zsh >'$(DESTDIR)$(zshcompletiondir)/_bobbinctl'
	$(BUILT)/bobbinctl completion fish >'$(DESTDIR)$(fishcompletiondir)/bobbinctl.fish'
	@echo 'Then, as root: systemd-sysusers && systemd-tmpfiles --create && journalctl --update-catalog && systemctl daemon-reload &&' \
	  'systemctl enable --now bobbind.socket bobbind.service'

uninstall: ## Remove what "make install" installed; keeps configuration, spool and store
	rm -f $(foreach program,$(PROGRAMS),'$(DESTDIR)$(bindir)/$(program)')
	rm -f '$(DESTDIR)$(libdir)/systemd/system-preset/80-bobbin.preset'
	rm -f $(foreach unit,$(UNITS),'$(DESTDIR)$(unitdir)/$(unit)')
	rm -f '$(DESTDIR)$(libdir)/systemd/catalog/bobbin.catalog'
	rm -f '$(DESTDIR)$(libdir)/sysusers.d/bobbin.conf' '$(DESTDIR)$(libdir)/tmpfiles.d/bobbin.conf'
	rm -f $(PAGES:%='$(DESTDIR)$(docdir)/%')
	rm -rf $(foreach folder,Documentation Examples etc systemd Sources,'$(DESTDIR)$(docdir)/$(folder)')
	rm -f $(foreach page,$(MAN_PAGES),'$(DESTDIR)$(mandir)/man$(lastword $(subst ., ,$(page)))/$(page)')
	rm -f '$(DESTDIR)$(bashcompletiondir)/bobbinctl' '$(DESTDIR)$(zshcompletiondir)/_bobbinctl' \
	  '$(DESTDIR)$(fishcompletiondir)/bobbinctl.fish'
	-rmdir '$(DESTDIR)$(docdir)'

deb: ## Build the Debian packages bobbin and bobbin-image in .build/packages, and check them
	@scripts/install-dependencies packages
	@scripts/build-packages
	@scripts/check-sbom .build/packages/*.deb

# Reads what is committed: a tarball has no other.
dist: ## Pack the sources of the last commit as .build/packages/bobbin-VERSION.tar.gz
	install -d .build/packages
	git archive --format=tar.gz --prefix=bobbin-$(VERSION)/ --output=.build/packages/bobbin-$(VERSION).tar.gz HEAD

test-dist: dist ## Build the packages of that tarball, in a folder of its own without git, check them, and pack them once more
	@scripts/install-dependencies packages
	rm -rf .build/dist && install -d .build/dist
	tar -C .build/dist -xzf .build/packages/bobbin-$(VERSION).tar.gz
	.build/dist/bobbin-$(VERSION)/scripts/build-packages '$(CURDIR)/.build/packages'
	scripts/check-sbom .build/packages/*.deb
	scripts/check-reproducible .build/dist/bobbin-$(VERSION)/.build/release
	rm -rf .build/dist

test-packages: ## Install, use, upgrade, remove and purge the packages in a container without Swift (SHORT=1: install and use)
	@scripts/install-dependencies container
	@scripts/check-packages $(if $(SHORT),--short)

check-reproducible: ## Build the packages twice, in two folders, and compare the bytes
	@scripts/install-dependencies packages
	@scripts/check-reproducible

release: ## Run every long target once, build the packages, and write .build/packages/release.md (SHORT=1: minutes instead of hours)
	@scripts/release $(if $(SHORT),--short)

clean: ## Remove what was built, and the demo's folder
	rm -rf .build .build-* demo demo-fleet
