# make help prints the targets. Output goes to build/$(MODE)/ only.
include config.mk

# ---- rooms, in dependency order: an include may only point left --------------
# a room is a folder, and all files in it belong to it
PLANNER := base script shell log model layout pattern schedule megatron source judge cost \
           memory sim prove plan calibrate doctor record
HARNESS := manifest launch store figures experiment published study report regress \
           contribute page
ROOMS   := $(PLANNER:%=planner/%) planner/cmd harness/train \
           $(HARNESS:%=harness/%) harness/cmd

# ---- flags -------------------------------------------------------------------
# CFLAGS, CPPFLAGS, LDFLAGS and LDLIBS of the caller come on top of ours
B        := build/$(MODE)
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wundef -Wformat=2 -Wcast-qual \
            -Wdouble-promotion
WERROR   := $(if $(filter check asan,$(MODE)),-Werror)
STRICT   := -Wconversion -Wwrite-strings
INCLUDE  := -iquote planner -iquote harness
OURS     := -std=c11 -D_POSIX_C_SOURCE=200809L -fPIC $(OPT_$(MODE)) \
            -DMOE_VERSION='"$(VERSION)"' -MMD -MP $(INCLUDE)
COMPILE   = $(OURS) $(EXTRA) $(WARN) $(WERROR) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
LIBS     := -pthread -lcjson -lcsv -lyaml -llapacke -lz -lmd -lm
BLAS     := -lopenblas
# kernels are plain loops: -O2 of gcc 12 vectorises few of them, and neither
# branches nor roots without these two (they change no result)
TRAIN_OPT := $(if $(filter-out asan,$(MODE)),-O3 -fno-trapping-math -fno-math-errno)
comma    := ,
OUR_LDFLAGS := $(if $(filter asan,$(MODE)),-fsanitize=address$(comma)undefined)
LINK      = $(OUR_LDFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS) $(LDLIBS)
Q        := $(if $(V),,@)

# ---- sources -----------------------------------------------------------------
obj       = $(1:%.c=$(B)/%.o)
room_obj  = $(call obj,$(wildcard $(1:%=%/*.c)))
PLANNER_OBJ := $(call room_obj,$(PLANNER:%=planner/%))
HARNESS_OBJ := $(call room_obj,$(HARNESS:%=harness/%))
LAYOUT_OBJ  := $(call room_obj,planner/cmd)
BENCH_OBJ   := $(call room_obj,harness/cmd)
TRAIN_SRC   := $(wildcard harness/train/*.c)
MPI_OBJ     := $(TRAIN_SRC:%.c=$(B)/mpi/%.o)
SMPI_OBJ    := $(TRAIN_SRC:%.c=$(B)/smpi/%.o)
# files of the trainer that need MPI
WITH_MPI := $(addprefix harness/train/,comm.c stage.c shard.c pipeline.c optim.c burst.c log.c moe_train.c)

PROGRAMS := $(B)/moe-layout $(B)/moe-bench
TRAINERS := $(if $(filter-out asan,$(MODE)),$(B)/moe-train $(B)/moe-train-smpi)

.PHONY: all tests help deps run run-full reference test test-long test-slurm \
        check format check-format check-deps check-report check-style check-warnings cppcheck asan \
        bench bench-search search-table fuzz soak soak-plants report recipes studies static man completion \
        contributed-example check-contributed \
        install deb clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) $(TRAINERS) ## build the programs

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

$(B)/moe-layout: $(PLANNER_OBJ) $(LAYOUT_OBJ)
	$(Q)$(CC) $(LINK)

$(B)/moe-bench: $(PLANNER_OBJ) $(HARNESS_OBJ) $(BENCH_OBJ)
	$(Q)$(CC) $(LINK) $(BLAS)

$(B)/moe-train: $(PLANNER_OBJ) $(MPI_OBJ)
	$(Q)$(MPICC) $(LINK) $(BLAS)

$(B)/moe-train-smpi: $(PLANNER_OBJ) $(SMPI_OBJ)
	$(Q)$(SMPICC) $(OPT_$(MODE)) $(LINK) $(BLAS)

$(B)/mpi/%.o: EXTRA = $(STRICT) $(TRAIN_OPT)
$(B)/mpi/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(COMPILE)

# SimGrid's macros trip these two
$(B)/smpi/%.o: EXTRA = $(TRAIN_OPT) -DMOE_SMPI
$(B)/smpi/%.o: WARN := $(filter-out -Wpedantic,$(WARN))
$(B)/smpi/%.o: WERROR :=
$(B)/smpi/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(SMPICC) $(COMPILE)

$(B)/double/%.o: EXTRA = $(STRICT) -DREAL_DOUBLE
$(B)/double/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE)

$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE)

$(B)/planner/%.o $(B)/harness/%.o: EXTRA = $(STRICT)
$(B)/planner/sim/graph_eval.o: EXTRA = $(STRICT) $(TRAIN_OPT)
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE)

# a file of the page as C strings, a line each
$(B)/%.lines: %
	@mkdir -p $(@D)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' $< >$@
$(B)/harness/page/assets.o: EXTRA = $(STRICT) -iquote $(B)/harness/page
$(B)/harness/page/assets.o: $(patsubst %,$(B)/harness/page/page.%.lines,html css js)

# ---- tests: test_ROOM_MODULE links its room and those before it --------------
upto = $(if $(filter $(1),$(2)),$(if $(filter $(1),$(firstword $(2))),$(1),$(firstword $(2)) $(call upto,$(1),$(filter-out $(firstword $(2)),$(2)))))
room_of   = $(firstword $(subst _, ,$(1)))
rooms_for = $(or $(addprefix planner/,$(call upto,$(1),$(PLANNER))),$(PLANNER:%=planner/%) $(addprefix harness/,$(call upto,$(1),$(HARNESS))))
train_for = $(if $(filter train,$(1)),$(call obj,$(filter-out $(WITH_MPI),$(TRAIN_SRC))))
TEST_SRC := $(wildcard tests/test_*.c)
TESTS    := $(TEST_SRC:tests/%.c=$(B)/tests/%)
MPI_TEST_SRC := $(wildcard tests/mpi/test_*.c)
MPI_TESTS    := $(if $(filter-out asan,$(MODE)),$(MPI_TEST_SRC:%.c=$(B)/%))
TEST_LINK = $(CC) $(LINK) $(BLAS) -lcriterion

.SECONDEXPANSION:
$(B)/tests/test_%: $(B)/tests/test_%.o $$(call room_obj,$$(call rooms_for,$$(call room_of,$$*))) $$(call train_for,$$(call room_of,$$*))
	$(Q)$(TEST_LINK)

# the plain reader of logs, oracle of the fast one
$(B)/tests/test_log_plain: $(patsubst %,$(B)/tests/%.o,plain_log plain_lines plain_blocks)
build/fuzz/fuzz_logparse: $(patsubst %,build/fuzz/obj/tests/%.o,plain_log plain_lines plain_blocks)

# shows what planner/shell reads, for tests/cli
SHELL_CALLS_OBJ := $(call room_obj,planner/base planner/script planner/shell)
$(B)/tests/shell_calls: $(B)/tests/shell_calls.o $(SHELL_CALLS_OBJ)
	$(Q)$(CC) $(LINK)

# units are checked in double, where differences show what a gradient should be
DOUBLE_OBJ := $(patsubst %,$(B)/double/harness/train/%.o,ops triangle tensors attention experts layer data unit)
$(B)/tests/test_train_unit.o: EXTRA = -DREAL_DOUBLE
$(B)/tests/test_train_unit: $(B)/tests/test_train_unit.o $(DOUBLE_OBJ) $(PLANNER_OBJ)
	$(Q)$(TEST_LINK)

# loaded into a program by tests/cli: refuses memory, sets the clock
PRELOADED := fail_alloc shift_clock
$(PRELOADED:%=$(B)/tests/%.so): $(B)/tests/%.so: tests/cli/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -fPIC -shared $(OPT_release) $(WARN) -o $@ $< -ldl

# moe-bench with a fault to be planted, for tests/cli
FAULTS := lsq_nnls sim_engine_steps memory_rank
$(B)/tests/moe-bench-faults: $(B)/tests/cli/faults.o $(PLANNER_OBJ) $(HARNESS_OBJ) $(BENCH_OBJ)
	$(Q)$(CC) $(FAULTS:%=-Wl,--wrap=%) $(LINK) $(BLAS)

$(B)/tests/mpi/%: $(B)/mpi/tests/mpi/%.o $(PLANNER_OBJ) $(filter-out %/moe_train.o,$(MPI_OBJ))
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(LINK) $(BLAS)

# ---- the two commands ----------------------------------------------------------
deps: ## install missing Debian packages
	@sh harness/install-deps.sh run test

LOCAL := local local-exact local-vpp local-overlap local-hybrid local-hybrid-cpu \
         local-full local-pp2 standalone

# tables and figures of a run go to results/NAME/, which is not tracked
run: ## install what is missing, build, run the local experiment to its table
	@sh harness/install-deps.sh run
	@$(MAKE) --no-print-directory all
	@$(B)/moe-bench run experiments/local.json

# every local experiment is run, whatever the answer of the one before
run-full: ## all local experiments: every role, PP 2 by wall clock, MTP alone
	@sh harness/install-deps.sh run
	@$(MAKE) --no-print-directory all
	@no=0; for m in $(LOCAL); do \
	    $(B)/moe-bench run experiments/$$m.json || no=1; done; exit $$no

# a missed bound is an answer; what did not run cannot be published
export REASON ?= reference datasets measured again
reference: ## run-full, then publish all results as reference data
	@$(MAKE) --no-print-directory run-full || true
	@for m in $(LOCAL); do \
	    $(B)/moe-bench publish experiments/$$m.json || exit; done
	@$(B)/moe-bench validate --update-baseline --reason "$$REASON"
	@$(MAKE) --no-print-directory report

PLANNED := deepseek-v3 kimi-k2 glm-4.5 qwen3-235b
HALVES  := hybrid-deepseek-v3 hybrid-qwen3-235b hybrid-7b-a1b hybrid-nemotron-3-nano

recipes: ## the planner beside public recipes, as reference data: searches only
	@$(MAKE) --no-print-directory $(B)/moe-bench
	@for m in $(PLANNED) $(HALVES); do \
	    $(B)/moe-bench run experiments/$$m.json && \
	    $(B)/moe-bench publish experiments/$$m.json || exit; done
	@$(MAKE) --no-print-directory report

STUDIES := stage-a stage-c $(PLANNED)

# CSV files of public step times (columns: results/README.md)
ROWS ?= $(or $(wildcard ../shared/corpora/step-times/*.csv),$(wildcard results/published/*/rows.csv))
studies: ## the article and public step times beside the planner, as reference data
	@$(MAKE) --no-print-directory $(B)/moe-bench
	@$(B)/moe-bench reproduce --to results/reference/studies >/dev/null
	@$(B)/moe-bench roofline --to results/reference/roofline $(ROWS) \
	    $(STUDIES:%=experiments/%.json)
	@$(MAKE) --no-print-directory report

# results/local is what 'make run' leaves
contributed-example: ## a contribution made of results/local, marked as an example
	@$(MAKE) --no-print-directory $(B)/moe-bench
	@$(B)/moe-bench contribute results/local --example --consent

BASE ?= origin/main
check-contributed: ## contributed datasets that differ from BASE, as a reviewer reads them
	@$(MAKE) --no-print-directory $(B)/moe-bench
	@sh tests/check_contributed.sh $(B)/moe-bench "$(BASE)"

report: ## REPORT.md and plots/out from the reference data alone
	@sh harness/install-deps.sh run
	@$(MAKE) --no-print-directory $(B)/moe-bench
	@$(B)/moe-bench report
	@$(B)/moe-bench page

check-report: ## fail when REPORT.md, a figure or a number in the text is not what the data give
	@sh harness/install-deps.sh run check
	@$(MAKE) --no-print-directory $(PROGRAMS)
	@$(B)/moe-bench report --check 2>/dev/null
	@BUILD=$(B) python3 tests/report_numbers.py REPORT.md

test: ## install what is missing, build, run the tests
	@sh harness/install-deps.sh run test static browser
	@$(MAKE) --no-print-directory -j2 all tests
	@BUILD=$(B) sh tests/run.sh $(TESTS) $(MPI_TESTS) $(WITH)

test-slurm: ## the job system tests on a Slurm of this machine alone
	@sh harness/install-deps.sh run test
	@$(MAKE) --no-print-directory all
	@CLI=no BUILD=$(B) sh tests/run.sh tests/slurm/test_slurm.sh

test-long: ## tests that take minutes: kill -9 of the harness, 50 times
	@sh harness/install-deps.sh run test
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(B) KILLS=50 sh tests/cli/test_bench_kill.sh

tests: $(TESTS) $(MPI_TESTS) $(PRELOADED:%=$(B)/tests/%.so) \
       $(B)/tests/shell_calls $(B)/tests/moe-bench-faults \
       $(B)/tests/soak/soak

# hostile inputs at random, SOAK_S seconds; SOAK="SEED TURN [SCENE]" repeats one
SOAK_S ?= 600
SOAK_SRC := $(wildcard tests/soak/*.c)
$(patsubst %.c,$(B)/%.o,$(SOAK_SRC)): EXTRA = -D_DEFAULT_SOURCE
$(B)/tests/soak/soak: $(patsubst %.c,$(B)/%.o,$(SOAK_SRC)) $(PLANNER_OBJ) $(HARNESS_OBJ)
	$(Q)$(CC) $(LINK) $(BLAS)

soak: all $(B)/tests/soak/soak ## mutated files, faulty trainers, kills, limits: SOAK_S seconds
	@BUILD=$(B) $(B)/tests/soak/soak $(SOAK_S) $(SOAK)

# PLANTS="NAME..." are some of them, PLANT_S seconds are given to each
soak-plants: all $(B)/tests/soak/soak ## the soak finds faults that are planted in a copy: minutes
	@BUILD=$(B) sh tests/soak/plants.sh $(PLANTS)

# ---- checks ----------------------------------------------------------------------
C_FILES := $(shell git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null)

check: check-format check-deps check-style check-warnings cppcheck check-report asan ## format, order, style, warnings, cppcheck, report, sanitizers

format: ## rewrite the sources with clang-format
	@clang-format -i $(C_FILES)

check-format:
	@sh harness/install-deps.sh check
	@clang-format --dry-run -Werror $(C_FILES)

check-deps: ## fail on an include against the order of the rooms
	@sh tests/check_deps.sh $(ROOMS)

check-style: ## lengths, parameters, share of comments
	@sh harness/install-deps.sh check
	@sh tests/check_style.sh planner harness

check-warnings: ## everything built with -Werror
	@sh harness/install-deps.sh run test
	@$(MAKE) --no-print-directory MODE=check -j2 all tests

cppcheck:
	@sh harness/install-deps.sh check
	@cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
	    --enable=warning,performance,portability --suppress=missingInclude \
	    -Iplanner -Iharness \
	    planner harness

asan: ## the unit tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory MODE=asan -j2 all tests
	@MODE=asan BUILD=build/asan sh tests/run.sh \
	    $(TEST_SRC:tests/%.c=build/asan/tests/%)

$(B)/tests/bench.o: EXTRA = -D_DEFAULT_SOURCE
$(B)/tests/bench: $(B)/tests/bench.o $(PLANNER_OBJ) $(call obj,$(addprefix harness/train/,blas.c ops.c))
	$(Q)$(CC) $(LINK) $(BLAS)

$(B)/tests/bench_search.o: EXTRA = -D_DEFAULT_SOURCE
$(B)/tests/bench_search: $(B)/tests/bench_search.o $(PLANNER_OBJ)
	$(Q)$(CC) $(LINK) $(BLAS)

bench: all $(B)/tests/bench ## speed: planning and the trainer's products, as ratios
	@$(B)/tests/bench $(B)

bench-search: $(B)/tests/bench_search ## seconds to a proof, a line a case; SEARCH="pp8 10" picks and limits
	@$(B)/tests/bench_search $(SEARCH)

# seconds are of this machine, as it is now
SEARCH_LIMIT_S ?= 20
search-table: $(B)/tests/bench_search ## results/reference/search.csv again, a table of the report
	@$(B)/tests/bench_search "" $(SEARCH_LIMIT_S) 0 results/reference/search.csv

FUZZ_S   ?= 600
FUZZERS  := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LIB := $(PLANNER_OBJ:$(B)/%=build/fuzz/obj/%)
FUZZ_CC  := clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 $(INCLUDE) \
            -DMOE_VERSION='"$(VERSION)"' -fno-sanitize-recover=all

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

build/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

# seeds of each, and launch files of all kinds where they are
FUZZ_SEEDS = tests/fuzz/seeds/$$name tests/launches ../shared/cases/cases
fuzz: $(FUZZERS) ## fuzz the parsers, FUZZ_S seconds each, or FUZZERS=build/fuzz/NAME alone
	@for f in $(FUZZERS); do \
	    name=$${f##*/fuzz_}; mkdir -p build/fuzz/corpus/$$name; \
	    $$f -max_total_time=$(FUZZ_S) -rss_limit_mb=4096 -timeout=10 \
	        -verbosity=0 -print_final_stats=1 -artifact_prefix=build/fuzz/ \
	        build/fuzz/corpus/$$name \
	        $$(find $(FUZZ_SEEDS) -maxdepth 0 2>/dev/null) || exit 1; \
	done

# glibc, BLAS and the rest inside: for containers that have none of them
STATIC_LIBS := -Lbuild/static $(LIBS) $(BLAS) -lgfortran -lquadmath -lm
STATIC_LINK  = $(CC) -static $(LDFLAGS) -o $@ $^ $(STATIC_LIBS) $(LDLIBS)
static: ## moe-layout and moe-bench for any x86-64 Linux, in build/static
	@sh harness/install-deps.sh run static
	@sh harness/static-cjson.sh build/static
	@$(MAKE) --no-print-directory build/static/moe-layout build/static/moe-bench

build/static/moe-layout: $(PLANNER_OBJ) $(LAYOUT_OBJ)
	$(Q)$(STATIC_LINK)

build/static/moe-bench: $(PLANNER_OBJ) $(HARNESS_OBJ) $(BENCH_OBJ)
	$(Q)$(STATIC_LINK)

# ---- pages, completion, packages: all text is that of --help -------------------
PAGED  := $(PROGRAMS) $(filter %/moe-train,$(TRAINERS))
SHARE  := $(DESTDIR)$(PREFIX)/share
BASH_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR  ?= $(PREFIX)/share/zsh/site-functions
FISH_DIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOC      := $(SHARE)/doc/moe-layout

man: $(B)/man/made ## manual pages, in $(B)/man
completion: $(B)/completion/made ## completion for bash, zsh and fish

$(B)/man/made: $(PAGED) $(wildcard packaging/*.sh packaging/*.awk)
	$(Q)rm -rf $(@D)
	$(Q)sh packaging/pages.sh $(@D) $(PAGED)
	$(Q)echo .so man1/moe-train.1 >$(@D)/moe-train-smpi.1
	$(Q)touch $@

$(B)/completion/made: $(B)/man/made
	$(Q)rm -rf $(@D)
	$(Q)sh packaging/completion.sh $(@D) $(B)/man $(PAGED)
	$(Q)touch $@

# examples keep their folders, so that the commands of the pages work there
install: all man completion ## programs, pages, completion, examples to $(PREFIX)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)/man/man1" "$(DESTDIR)$(BASH_DIR)" \
	    "$(DESTDIR)$(ZSH_DIR)" "$(DESTDIR)$(FISH_DIR)" "$(DOC)/examples/experiments/models" \
	    "$(DOC)/examples/experiments/smpi" "$(DOC)/examples/tutorial"
	install $(PROGRAMS) $(TRAINERS) "$(DESTDIR)$(PREFIX)/bin"
	install -m 644 $(B)/man/*.1 "$(SHARE)/man/man1"
	install -m 644 $(B)/completion/bash/* "$(DESTDIR)$(BASH_DIR)"
	install -m 644 $(B)/completion/zsh/* "$(DESTDIR)$(ZSH_DIR)"
	install -m 644 $(B)/completion/fish/* "$(DESTDIR)$(FISH_DIR)"
	install -m 644 docs/tutorial.md docs/contributing-step-times.md "$(DOC)"
	install -m 644 docs/tutorial/* "$(DOC)/examples/tutorial"
	install -m 644 experiments/*.json "$(DOC)/examples/experiments"
	install -m 644 experiments/models/* "$(DOC)/examples/experiments/models"
	install -m 644 experiments/smpi/* "$(DOC)/examples/experiments/smpi"

deb: ## Debian packages by debhelper, in build/deb; lintian looks at them
	@sh harness/install-deps.sh run deb
	@sh packaging/deb.sh build/deb $(VERSION)

clean: ## remove build/
	rm -rf build

-include $(shell find $(B) build/fuzz -name '*.d' 2>/dev/null)
