# SPDX-License-Identifier: BSD-3-Clause
# A thin front for Meson. `make help` lists the targets.
BUILD ?= build

.PHONY: all tutorial static static-test demo test check bench install uninstall dist deb deb-test fuzz format clean deps help
all: $(BUILD)/build.ninja
	@echo "make: building in $(BUILD)/" >&2
	@sh ci/progress.sh make $(BUILD)/make.log ninja -C $(BUILD) src/cli/cyclade demo/phases library; code=$$?; \
		[ $$code = 0 ] && show='-A4 :.warning:' || show='-vE ^(\[[0-9]+/|ninja:.Entering)'; \
		grep $$show $(BUILD)/make.log >&2; exit $$code

$(BUILD)/build.ninja:
	@sh ci/deps.sh build
	@echo "make: meson setup $(BUILD) --buildtype=release" >&2
	@sh ci/progress.sh make $(BUILD).log meson setup $(BUILD) --buildtype=release || { cat $(BUILD).log; exit 1; }
	@sed -n 's,^Message: \(left out:.*\),make: \1,p' $(BUILD).log >&2
	@rm -f $(BUILD).log

demo: ## install what is missing, build, profile the demo program: sh try
	@BUILD=$(BUILD) sh ./try

test: $(BUILD)/build.ninja ## the quick tests, in two minutes; T=NAME: one suite, or the tests of that name
	@python3 ci/test.py $(BUILD) $(T)

check: ## install what is missing, build every way, run all tests: sh check
	@sh ./check

static: all ## one file that needs no library: BUILD/cyclade-static
	@sh ci/static.sh $(BUILD)

static-test: static ## that file, in a root with nothing else (as root)
	@sh ci/static-test.sh $(BUILD)/cyclade-static

bench: all ## side by side with perf, on recordings made here
	@sh bench/run.sh $(BUILD)

fuzz: ## every fuzzer for FUZZ_SECONDS (60) each
	@sh ci/fuzz.sh

format: ## let clang-format write the layout
	@sh ci/sources.sh | xargs clang-format -i

install: all ## below /usr/local; DESTDIR=DIR: below that; GROUP=NAME: who may count without being root (CAP_PERFMON)
	@sh packaging/install.sh install $(BUILD) '$(GROUP)'

uninstall: ## removes what `make install` with the same DESTDIR put there
	@sh packaging/install.sh uninstall $(BUILD)

dist: ## source archive, binary tarball, SBOM and SHA256SUMS in dist/
	@sh packaging/dist.sh dist

deb: ## Debian packages in dist/deb, by dpkg-buildpackage; `make deb-test`: lintian, too
	@sh packaging/deb.sh dist/deb

deb-test:
	@sh packaging/deb.sh dist/deb test

tutorial: ## doc/tutorial and doc/from-*.md as HTML in BUILD/tutorial, by pandoc or cmark (Debian packages)
	@mkdir -p $(BUILD)/tutorial
	@for page in doc/tutorial/*.md doc/from-*.md; do \
		html=$(BUILD)/tutorial/$$(basename "$$page" .md).html; \
		if command -v pandoc >/dev/null; then pandoc -s -f gfm -o "$$html" --metadata pagetitle="$$(sed -n 's/^# //p;/^# /q' "$$page")" "$$page"; \
		elif command -v cmark >/dev/null; then cmark "$$page" >"$$html"; \
		else echo "make: neither pandoc nor cmark is here: apt-get install pandoc" >&2; exit 1; fi || exit 1; \
	done
	@sed -i -E 's,href="(\.\./)?(tutorial/)?(README|counters|interp|join|orders|render|service|sort|tokens|from-[a-z]+)\.md",href="\3.html",g' $(BUILD)/tutorial/*.html
	@echo "make: $(BUILD)/tutorial/README.html" >&2

clean:
	rm -rf build build-*

help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'
