# make help prints the targets. Output goes to build/$(MODE)/ only.
include config.mk

# ---- modules, in dependency order: an include may only point left ----------
BASE    := err arena text json csv runlog logline logfail logstep logblock logahead \
           logscan logfacts logmeans logparse
PLANNER := memory_options model layout_expand layout layout_shortest \
           layout_explain core_version layer_freq megatron_flags megatron_known \
           megatron_memory megatron_model megatron_args layout_space \
           shell_math shell_text source_script source_yaml source_hf \
           source_log model_source \
           lsq cost fit schedule/order schedule/schedule sim timeline memory_weights memory_activations \
           memory_workspace memory_train memory memory_case memory_corpus memory_fit plan jitter overhead \
           baseline profile search fit_check
TRAIN   := ops tensors attention experts layer data unit blas comm stage \
           pipeline optim burst train_args train_log
HARNESS := options role manifest machine workload supervise launch_words launcher \
           launch_local launch_torchrun launch_slurm launch_hf launch job stats results oplog figures provenance \
           execute campaign roles tables summary calibrate experiment reference validate contribute report
ORDER   := $(BASE) $(PLANNER) $(TRAIN) $(HARNESS)

# ---- flags -------------------------------------------------------------------
B        := build/$(MODE)
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wundef -Wformat=2 -Wcast-qual \
            -Wdouble-promotion -Werror
STRICT   := -Wconversion -Wwrite-strings
INCLUDE  := -iquote planner/base -iquote planner/schedule -iquote planner -iquote harness \
            -iquote harness/train
CFLAGS   := -std=c11 -D_POSIX_C_SOURCE=200809L -fPIC $(OPT_$(MODE)) \
            -DMOE_VERSION='"$(VERSION)"' -MMD -MP $(INCLUDE)
LIBS     := -pthread -lcjson -lcsv -lyaml -llapacke -lmd -lm
BLAS     := -lopenblas
# kernels are plain loops: -O2 of gcc 12 vectorises few of them, and neither
# branches nor roots without these two (they change no result)
TRAIN_OPT := $(if $(filter release,$(MODE)),-O3 -fno-trapping-math -fno-math-errno)
comma    := ,
LDFLAGS  := $(if $(filter asan,$(MODE)),-fsanitize=address$(comma)undefined)
Q        := $(if $(V),,@)

# ---- sources -----------------------------------------------------------------
have      = $(wildcard $(1))
BASE_SRC  := $(wildcard $(BASE:%=planner/base/%.c))
PLAN_SRC  := $(wildcard $(PLANNER:%=planner/%.c))
TRAIN_SRC := $(wildcard $(TRAIN:%=harness/train/%.c))
HARN_SRC  := $(wildcard $(HARNESS:%=harness/%.c))
LAYOUT_CMD := $(wildcard planner/cmd*.c planner/moe_layout.c)
BENCH_CMD  := $(wildcard harness/cmd*.c harness/moe_bench.c)
TRAIN_CMD  := $(wildcard harness/train/moe_train.c harness/train/cmd*.c)

obj       = $(1:%.c=$(B)/%.o)
PLANNER_OBJ := $(call obj,$(BASE_SRC) $(PLAN_SRC))
HARNESS_OBJ := $(call obj,$(HARN_SRC))
TRAIN_C     := $(TRAIN_SRC) $(TRAIN_CMD)
MPI_OBJ     := $(TRAIN_C:%.c=$(B)/mpi/%.o)
SMPI_OBJ    := $(TRAIN_C:%.c=$(B)/smpi/%.o)

PROGRAMS := $(if $(LAYOUT_CMD),$(B)/moe-layout) $(if $(BENCH_CMD),$(B)/moe-bench)
TRAINERS := $(if $(TRAIN_CMD),$(B)/moe-train $(B)/moe-train-smpi)
ifeq ($(MODE),asan)
TRAINERS :=
endif

.PHONY: all tests help deps run run-full reference test test-long check format check-format \
        check-deps cppcheck asan bench fuzz report install clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) $(TRAINERS) ## build the programs

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

$(B)/moe-layout: $(PLANNER_OBJ) $(call obj,$(LAYOUT_CMD))
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/moe-bench: $(PLANNER_OBJ) $(HARNESS_OBJ) $(call obj,$(BENCH_CMD))
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS)

$(B)/moe-train: $(PLANNER_OBJ) $(MPI_OBJ)
	$(Q)$(MPICC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS)

$(B)/moe-train-smpi: $(PLANNER_OBJ) $(SMPI_OBJ)
	$(Q)$(SMPICC) $(OPT_$(MODE)) -o $@ $^ $(LIBS) $(BLAS)

$(B)/mpi/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(CFLAGS) $(TRAIN_OPT) $(WARN) $(STRICT) -c -o $@ $<

$(B)/smpi/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(SMPICC) $(CFLAGS) $(TRAIN_OPT) $(filter-out -Werror -Wpedantic,$(WARN)) -DMOE_SMPI -c -o $@ $<

$(B)/double/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(STRICT) -DREAL_DOUBLE -c -o $@ $<

$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) -c -o $@ $<

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(STRICT) -c -o $@ $<

# ---- tests: each binary links its module and those before it ----------------
upto = $(if $(2),$(firstword $(2)) $(if $(filter $(1),$(firstword $(2))),,$(call upto,$(1),$(wordlist 2,99,$(2)))))
NO_MPI_ORDER := $(filter-out comm stage pipeline optim burst train_log,$(ORDER))
module_src = $(wildcard $(foreach m,$(call upto,$(1),$(NO_MPI_ORDER)),planner/base/$(m).c planner/$(m).c harness/train/$(m).c harness/$(m).c))
TEST_SRC := $(wildcard tests/test_*.c)
TESTS    := $(TEST_SRC:tests/%.c=$(B)/tests/%)
MPI_TEST_SRC := $(wildcard tests/mpi/test_*.c)
MPI_TESTS    := $(if $(filter asan,$(MODE)),,$(MPI_TEST_SRC:%.c=$(B)/%))

.SECONDEXPANSION:
$(B)/tests/test_%: $(B)/tests/test_%.o $$(call obj,$$(call module_src,$$*))
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS) -lcriterion

# units are checked in double, where differences show what a gradient should be
DOUBLE_OBJ := $(patsubst %,$(B)/double/harness/train/%.o,ops tensors attention experts layer data unit)
$(B)/tests/test_unit.o: CFLAGS += -DREAL_DOUBLE
$(B)/tests/test_unit: $(B)/tests/test_unit.o $(DOUBLE_OBJ) $(PLANNER_OBJ)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS) -lcriterion

# runs the trainer, and simulates what it recorded
$(B)/tests/test_train_sim: $(B)/tests/test_train_sim.o $(PLANNER_OBJ)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS) -lcriterion

$(B)/tests/mpi/%: $(B)/mpi/tests/mpi/%.o $(PLANNER_OBJ) $(filter-out %/moe_train.o,$(MPI_OBJ))
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS)

# ---- the two commands ----------------------------------------------------------
deps: ## install missing Debian packages
	@sh harness/install-deps.sh run test

LOCAL := local local-exact local-full local-pp2 standalone

run: ## install what is missing, build, run the local experiment to its table
	@sh harness/install-deps.sh run
	@$(MAKE) --no-print-directory all
	@$(B)/moe-bench run experiments/local.json; answer=$$?; \
	[ $$answer -gt 1 ] || $(B)/moe-bench report || exit; exit $$answer

# every local experiment is run, whatever the answer of the one before
run-full: ## all local experiments: every role, PP 2 by wall clock, MTP alone
	@sh harness/install-deps.sh run
	@$(MAKE) --no-print-directory all
	@no=0; for m in $(LOCAL); do \
	    $(B)/moe-bench run experiments/$$m.json || no=1; done; \
	$(B)/moe-bench report && exit $$no

# a missed bound is an answer; what did not run cannot be published
reference: ## run-full, then publish all results as reference data
	@$(MAKE) --no-print-directory run-full || true
	@for m in $(LOCAL); do \
	    $(B)/moe-bench publish experiments/$$m.json || exit; done
	@$(B)/moe-bench validate --update-baseline

test: ## install what is missing, build, run the tests
	@sh harness/install-deps.sh run test
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

tests: $(TESTS) $(MPI_TESTS)

# ---- checks ----------------------------------------------------------------------
C_FILES := $(shell git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null)

check: check-format check-deps cppcheck asan ## format, warnings, order, cppcheck, sanitizers
	@$(MAKE) --no-print-directory all

format: ## rewrite the sources with clang-format
	@clang-format -i $(C_FILES)

check-format:
	@sh harness/install-deps.sh check
	@clang-format --dry-run -Werror $(C_FILES)

check-deps: ## fail on an include against the module order
	@sh tests/check_deps.sh $(ORDER)

cppcheck:
	@sh harness/install-deps.sh check
	@cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
	    --enable=warning,performance,portability --suppress=missingInclude \
	    -Iplanner/base -Iplanner -Iharness -Iharness/train \
	    planner harness

asan: ## the unit tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory MODE=asan -j2 all tests
	@MODE=asan BUILD=build/asan sh tests/run.sh \
	    $(TEST_SRC:tests/%.c=build/asan/tests/%)

$(B)/tests/bench.o: CFLAGS += -D_DEFAULT_SOURCE
$(B)/tests/bench: $(B)/tests/bench.o $(call obj,$(addprefix harness/train/,blas.c ops.c))
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(BLAS)

bench: all $(B)/tests/bench ## speed: planning and the trainer's products, as ratios
	@$(B)/tests/bench $(B)

FUZZ_S   ?= 600
FUZZERS  := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LIB := $(patsubst %.c,build/fuzz/obj/%.o,$(BASE_SRC) $(PLAN_SRC))
FUZZ_CC  := clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 $(INCLUDE) \
            -DMOE_VERSION='"$(VERSION)"' -fno-sanitize-recover=all

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

build/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

fuzz: $(FUZZERS) ## fuzz the parsers, FUZZ_S seconds each
	@for f in $(FUZZERS); do \
	    name=$${f##*/fuzz_}; mkdir -p build/fuzz/corpus/$$name; \
	    $$f -max_total_time=$(FUZZ_S) -rss_limit_mb=4096 -verbosity=0 \
	        -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$name \
	        $$(find tests/fuzz/seeds/$$name -maxdepth 0 2>/dev/null) || exit 1; \
	done

# glibc, BLAS and the rest inside: for containers that have none of them
STATIC_LIBS := -Lbuild/static -lcjson -lcsv -lyaml -llapacke -lopenblas \
               -lgfortran -lquadmath -lmd -lm -lpthread
static: ## moe-layout and moe-bench for any x86-64 Linux, in build/static
	@sh harness/install-deps.sh run static
	@sh harness/static-cjson.sh build/static
	@$(MAKE) --no-print-directory build/static/moe-layout build/static/moe-bench

build/static/moe-layout: $(PLANNER_OBJ) $(call obj,$(LAYOUT_CMD))
	$(Q)$(CC) -static -o $@ $^ $(STATIC_LIBS)

build/static/moe-bench: $(PLANNER_OBJ) $(HARNESS_OBJ) $(call obj,$(BENCH_CMD))
	$(Q)$(CC) -static -o $@ $^ $(STATIC_LIBS)

install: all ## copy the programs to $(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/bin
	install $(PROGRAMS) $(TRAINERS) $(DESTDIR)$(PREFIX)/bin

clean: ## remove build/
	rm -rf build

-include $(shell find $(B) build/fuzz -name '*.d' 2>/dev/null)
