# SPDX-License-Identifier: GPL-3.0-or-later
# Tests. One program per directory of test/unit/AREA/test_NAME.c (check), test/tools/*.c helpers for tests,
# test/fuzz/AREA/fuzz_NAME.c (libFuzzer, clang), test/integration/AREA/*.bats, test/bench/*.c.
# Areas are those of lib, cmd and plugins; a file's name, without its area, is there once.
#
#   make check                          unit tests, and one integration test for each verb, daemon and engine
#   make check-all                      every test, sanitizers, both compilers, lint, packages, a short fuzz run
#   make check SECTIONS="unit asan"     some of it (test/run.sh says which there are)
#   make check-kernel KERNEL=VMLINUZ    what depends on the kernel, on that one in a virtual machine
#   make check-wheels                   what derive reads in published wheels, against NVIDIA's and LLVM's tools
#                                       (24 GB from the Python package index; WHEELS=DIR keeps them)
#   make check-random                   20,000 choices (CASES) by C, Go and Python, variantlib and uv
#   make wheel                          contrib/python as a wheel
#   make fuzz FUZZ_SECONDS=60           every fuzz target for so long
#   make BUILD/test/unit/AREA/run       the unit tests of a directory; it takes the names of files

OCV_FIXTURES ?= ../shared/fixtures
CASES ?= 20000
SECTIONS     ?=
FUZZ_SECONDS ?= 10
UNIT_SRC  := $(sort $(filter-out test/unit/header/%,$(wildcard test/unit/*/*.c)))
UNIT_BIN  := $(patsubst %/,$(BUILD)/%/run,$(sort $(dir $(UNIT_SRC))))
TOOL_SRC  := $(sort $(wildcard test/tools/*.c))
TOOL_BIN  := $(patsubst test/tools/%.c,$(BUILD)/test/tools/%,$(TOOL_SRC))
FUZZ_SRC  := $(sort $(wildcard test/fuzz/*/fuzz_*.c))
FUZZ_BIN  := $(patsubst %.c,$(BUILD)/test/fuzz/%,$(notdir $(FUZZ_SRC)))
BENCH_SRC := $(sort $(wildcard test/bench/*.c))
BENCH_BIN := $(patsubst test/bench/%.c,$(BUILD)/test/bench/%,$(BENCH_SRC))
ALL_A     := $(SETUP_A) $(COMMON_A) $(INTERNAL_A) $(REGISTRY_A) $(PROBE_A) $(CORE_A)
OUR_LIBS  := -lzstd -lz -lnghttp2 -lprotobuf-c -lcurl -lssl -ldl $(CORE_LIBS)
TEST_LIBS := -lcheck -lsubunit -lrt -lm $(OUR_LIBS)

.SECONDEXPANSION:
# the object of a fuzz target, by the program's name
test_obj = $(patsubst %.c,$(BUILD)/%.o,$(filter %/$(1).c,$(FUZZ_SRC)))

# The unit tests of a directory; those of programs are linked with the program's archive, UNIT_A_AREA.
UNIT_A_variantd   := $(BUILD)/libvariantd.a
UNIT_A_variantctl := $(BUILD)/cmd/variantctl/verify/known.o
UNIT_A_content    := $(BUILD)/plugins/content/confine.o
UNIT_A_cri-proxy  := $(CRI_PROXY_A) $(VERDICT_A)
UNIT_A_oci-hook   := $(BUILD)/liboci-hook.a $(VERDICT_A)
UNIT_A_snapshotter := $(SNAP_A) $(VERDICT_A)
$(BUILD)/test/unit/slim/run: | $(addprefix $(BUILD)/test/tools/,gpu_library gpu_library_stray gpu_library_unwrapped gpu_library_taken hip_library)
UNIT_LIBS_variantd := -lmicrohttpd
UNIT_LIBS_snapshotter := -lsqlite3
UNIT_LIBS_cri-proxy   := -lsqlite3
unit_obj = $(call obj,$(filter test/unit/$(1)/%,$(UNIT_SRC)) test/unit/suite.c)
$(UNIT_BIN): $(BUILD)/test/unit/%/run: $$(call unit_obj,$$*) $$(UNIT_A_$$*) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) $(UNIT_LIBS_$*) $(TEST_LIBS)

$(BUILD)/test/tools/%: $(BUILD)/test/tools/%.o $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) -lmicrohttpd -lz $(CORE_LIBS)

$(BUILD)/test/tools/cpuprobe: $(BUILD)/test/tools/cpuprobe.o $(PROBE_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)

# a stand-in for NVIDIA's libraries, linked under both names by the tests
$(BUILD)/test/tools/fake_nvml: $(BUILD)/test/tools/fake_nvml.o
	$(call quiet,LD,$@)$(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -ljansson -ldl

# libraries with device code; in two of them it is reached in other ways, too
GPU_LIBRARIES := $(addprefix $(BUILD)/test/tools/,gpu_library gpu_library_stray gpu_library_unwrapped gpu_library_taken)
$(BUILD)/test/tools/gpu_library_taken: GPU_FLAGS := -DGPU_TAKEN
$(BUILD)/test/tools/gpu_library_stray: GPU_FLAGS := -DGPU_STRAY
$(BUILD)/test/tools/gpu_library_unwrapped: GPU_FLAGS := -DGPU_UNWRAPPED
$(GPU_LIBRARIES): test/tools/library/gpu_library.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(CC) $(CFLAGS_ALL) $(GPU_FLAGS) -shared -o $@ $< $(LDFLAGS_ALL)
$(BUILD)/test/tools/hip_library: test/tools/library/hip_library.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(CC) $(CFLAGS_ALL) -shared -o $@ $< $(LDFLAGS_ALL)
TOOL_BIN += $(GPU_LIBRARIES) $(BUILD)/test/tools/hip_library

# a CRI client; its messages are in a .proto file of its own; "linux" is a field's name, and a macro
# in gnu11
$(BUILD)/test/tools/cri.pb-c.c: test/tools/cri.proto
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(BUILD)/test/tools/cri.pb-c.o: $(BUILD)/test/tools/cri.pb-c.c
	$(call quiet,CC,$<)$(CC) $(CFLAGS_ALL) -Ulinux -c $< -o $@
$(BUILD)/test/tools/cri.o: $(BUILD)/test/tools/cri.pb-c.c
$(BUILD)/test/tools/cri.o: CFLAGS_ALL += -Ulinux -I$(BUILD)/test/tools
$(BUILD)/test/tools/cri: $(BUILD)/test/tools/cri.o $(BUILD)/test/tools/cri.pb-c.o $(INTERNAL_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnghttp2 -lprotobuf-c $(CORE_LIBS)

$(BUILD)/test/tools/podresources $(BUILD)/test/tools/deviceplugin $(BUILD)/test/tools/criengine $(BUILD)/test/tools/cripods: %: %.o $(INTERNAL_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnghttp2 $(CORE_LIBS)

# what images run: nothing else is in them
$(BUILD)/test/tools/saybuild: test/tools/saybuild.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) -std=gnu11 -O2 $(WARN) $(WERROR) -D_GNU_SOURCE -static -s -o $@ $<

# the daemon without its main
VARIANTD_SRC := $(filter-out cmd/variantd/main.c,$(call sources,cmd/variantd cmd/variantd/*))
VARIANTD_A   := $(BUILD)/libvariantd.a
$(VARIANTD_A): $(call obj,$(VARIANTD_SRC))

# of the CRI proxy without its main
$(addprefix $(BUILD)/test/fuzz/fuzz_,cri_request cri_state workload_request workload_pods pod_resources): $$(call test_obj,$$(@F)) $(CRI_PROXY_A) $(VERDICT_A) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) -lsqlite3 $(OUR_LIBS)

# content-scan without its main
$(addprefix $(BUILD)/test/fuzz/fuzz_content_,layer archive): $$(call test_obj,$$(@F)) $(call obj,$(filter-out %/main.c,$(sort $(wildcard plugins/content/*.c)))) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) -larchive $(OUR_LIBS)

# the runtime hook without its main
HOOK_A := $(BUILD)/liboci-hook.a
$(HOOK_A): $(call obj,$(filter-out %/main.c,$(sort $(wildcard plugins/oci-hook/*.c))))
$(BUILD)/test/fuzz/fuzz_hook_state: $$(call test_obj,$$(@F)) $(HOOK_A) $(VERDICT_A) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(OUR_LIBS)

# the snapshotter without its main
SNAP_TEST_LIBS := -lsqlite3 -lnghttp2 -lprotobuf-c
$(BUILD)/test/fuzz/fuzz_snapshot_%: $$(call test_obj,$$(@F)) $(SNAP_A) $(VERDICT_A) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(SNAP_TEST_LIBS) $(OUR_LIBS)
# and a build that exits at a given point (OCV_CRASH_AT)
$(BUILD)/test/crash/%.o: plugins/containerd/snapshotter/%.c Makefile | $(GENERATED)
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(CFLAGS_ALL) -DOCV_CRASH_POINTS -MMD -MP -c $< -o $@
$(BUILD)/test/tools/snapshotter-crash: $(patsubst plugins/containerd/snapshotter/%.c,$(BUILD)/test/crash/%.o,$(SNAP_SRC)) $(COMMON_A) $(VERDICT_A) $(INTERNAL_A) $(CORE_A)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) $(SNAP_TEST_LIBS) $(CORE_LIBS)
TOOL_BIN += $(BUILD)/test/tools/snapshotter-crash

# needs CC=clang SAN=fuzz: -fsanitize=fuzzer provides main
$(BUILD)/test/fuzz/fuzz_%: $$(call test_obj,$$(@F)) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(OUR_LIBS)
$(BUILD)/test/fuzz/fuzz_route $(BUILD)/test/fuzz/fuzz_header: $$(call test_obj,$$(@F)) $(VARIANTD_A) $(ALL_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) -lmicrohttpd $(OUR_LIBS)

$(BUILD)/test/bench/bench_%: $(BUILD)/test/bench/bench_%.o $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)
$(BUILD)/test/bench/bench_cri: $(BUILD)/test/bench/bench_cri.o $(INTERNAL_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnghttp2 $(CORE_LIBS)
$(BUILD)/test/bench/bench_inflate: $(BUILD)/test/bench/bench_inflate.o
	$(call quiet,LD,$@)$(CC) -o $@ $^ $(LDFLAGS_ALL) -lzstd -lz
# static: a child's peak RSS starts at its parent's, and starting it costs least
$(filter-out $(BUILD)/test/bench/bench_%,$(BENCH_BIN)): $(BUILD)/test/bench/%: test/bench/%.c
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) -std=gnu11 -O2 $(WARN) $(WERROR) -D_GNU_SOURCE -static -o $@ $<

# compiled in half the time; lines of a stack are known
$(BUILD)/test/%.o: private OPT := -O1 -g1
$(BUILD)/test/%.o: private CFLAGS_ALL += -Wno-missing-prototypes

# ---- public headers: each compiled alone, as strict C11 and as C++ -------------------------------
PUBLIC_HEADERS := $(patsubst lib/include/%,%,$(wildcard lib/include/*.h lib/include/*/*.h))
HEADER_FLAGS   := -Wall -Wextra -Werror -Wpedantic -pedantic-errors -Ilib/include
HEADER_OK      := $(foreach h,$(PUBLIC_HEADERS),$(BUILD)/test/header/$(h).c.ok $(BUILD)/test/header/$(h).cc.ok)
$(BUILD)/test/header/%.c.ok: test/unit/header/header_alone.c $(wildcard lib/include/*.h lib/include/*/*.h)
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) -std=c11 -Wstrict-prototypes $(HEADER_FLAGS) -DHEADER='"$*"' -c $< -o $@
$(BUILD)/test/header/%.cc.ok: test/unit/header/header_alone.cc $(wildcard lib/include/*.h lib/include/*/*.h)
	@mkdir -p $(@D)
	$(call quiet,CXX,$*)$(CXX) -std=c++11 $(HEADER_FLAGS) -DHEADER='"$*"' -c $< -o $@

.SECONDARY:
.PHONY: deb rpm image wheel wheel-only check-all check-rest check-packages check-wheels check-random check-kernel abi tests tools fuzzers benches headers deps bench-deps check lint fuzz bench bench-quick demo ci print-cflags
tests: $(UNIT_BIN) $(TOOL_BIN)
tools: $(TOOL_BIN)
fuzzers: $(FUZZ_BIN)
benches: $(BENCH_BIN)
headers: $(HEADER_OK)

deps:
	@contrib/install-deps.sh

# Debian packages in BUILD/deb, RPM packages in BUILD/rpm; they are checked by a target of its own, which takes minutes and, for trees
# of Debian releases, the network
deb:
	@contrib/install-deps.sh --deb
	@OCV_BUILD=$(BUILD) contrib/deb.sh
rpm:
	@contrib/install-deps.sh --rpm
	@OCV_BUILD=$(BUILD) contrib/rpm.sh
# the container image, of the packages
image: deb
	@contrib/install-deps.sh --image
	@OCV_BUILD=$(BUILD) contrib/image.sh
check-packages:
	@contrib/install-deps.sh --packages
	@$(MAKE) --no-print-directory tools
	@OCV_BUILD=$(BUILD) test/packages.sh
# fetches 24 GB, one wheel after the other, and keeps few where WHEELS does not say where; ROCm's bundles are
# judged where clang-tools-19 is installed
check-wheels: $(BUILD)/libexec/content-scan all tools
	python3 test/wheels/check.py $(if $(WHEELS),$< $(WHEELS),--delete $< $(BUILD)/wheels)
	WHEELS=$(abspath $(or $(WHEELS),$(BUILD)/wheels)) OCV_BUILD=$(abspath $(BUILD)) bats test/wheels/images.bats

# choices at random by C, Go and Python, and by variantlib and uv where OCV_VARIANTLIB and OCV_UV name them; uv takes
# most of the hour
check-random: all
	cd contrib/go/ocivariant && go build -o $(abspath $(BUILD))/ocivariant-vectors ./cmd/ocivariant-vectors
	BUILD=$(BUILD) VARIANTCTL=$(BUILD)/variantctl test/spec/random-compare $(CASES) -- $(BUILD)/ocivariant-vectors test/spec/c-adapter
	$(if $(OCV_VARIANTLIB),VARIANTCTL=$(BUILD)/variantctl $(OCV_VARIANTLIB) test/oracles/order.py $(CASES))
	$(if $(OCV_UV),UV=$(OCV_UV) VARIANTCTL=$(BUILD)/variantctl python3 test/oracles/order_uv.py $(CASES))

# what depends on the kernel, on another one: KERNEL=VMLINUZ (test/kernel.sh)
KERNEL_TESTS := variantctl/test_setup_tree base/test_spawn base/test_unix_socket variantd/test_variantd_listen \
    variantd/test_variantd_server variantd/test_variantd_stream variantd/test_variantd_workers
check-kernel: $(sort $(foreach t,$(KERNEL_TESTS),$(BUILD)/test/unit/$(dir $(t))run))
	@OCV_BUILD=$(BUILD) test/kernel.sh $(KERNEL) $(KERNEL_TESTS)

# the Python package, contrib/python, as wheel and sdist in BUILD/wheel
wheel:
	@contrib/install-deps.sh --wheel
	@$(MAKE) --no-print-directory wheel-only
wheel-only:
	@rm -rf $(BUILD)/wheel && mkdir -p $(BUILD)/wheel && cp -r contrib/python $(BUILD)/wheel/source
	@cd $(BUILD)/wheel/source && for python in python3 /usr/bin/python3; do \
	    ! $$python -c 'import setuptools, wheel' 2>/dev/null || break; done; \
	    $$python -c 'import setuptools.build_meta as build; print(build.build_wheel("..")); print(build.build_sdist(".."))' \
	    >../log 2>&1 || { cat ../log; false; }
	@rm -r $(BUILD)/wheel/source && ls $(BUILD)/wheel/*.whl $(BUILD)/wheel/*.tar.gz

bench-deps:
	@contrib/install-deps.sh --bench

# run.sh builds what each section needs, in a directory per section. Engines are installed where a section
# starts them.
check:
	@echo 'make check: installs what is missing with apt, then builds and tests ($(or $(SECTIONS),4 to 8 minutes on two processors))'
	@contrib/install-deps.sh $(if $(filter-out build unit,$(or $(SECTIONS),check)),$(if $(filter-out build unit smoke check,$(or $(SECTIONS),check)),,--tests),--unit)
	@OCV_BUILD=$(BUILD) OCV_FIXTURES=$(OCV_FIXTURES) test/run.sh $(or $(SECTIONS),check)
# check-rest: what check leaves out
check-all check-rest: deps
	@contrib/install-deps.sh --packages
	@OCV_BUILD=$(BUILD) OCV_FIXTURES=$(OCV_FIXTURES) test/run.sh $(@:check-%=%)

lint: deps
	@OCV_BUILD=$(BUILD) test/run.sh lint

mutate: all tests tools
	@OCV_BUILD=$(BUILD) test/mutate $(MUTANTS)

fuzz: deps
	@OCV_BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) test/run.sh fuzz

# only what it shows
demo:
	@contrib/install-deps.sh --build-only
	@$(MAKE) --no-print-directory $(addprefix $(BUILD)/,vpull variantctl variantd libexec/nvml-query test/tools/mkimage)
	@BUILD=$(BUILD) contrib/demo.sh

bench: bench-deps
	@$(MAKE) --no-print-directory all tools benches
	@OCV_BUILD=$(BUILD) test/bench/report.sh

bench-quick: bench-deps
	@$(MAKE) --no-print-directory all tools benches
	@OCV_BUILD=$(BUILD) QUICK=1 test/bench/run.sh

# the description of the libraries' interface (test/abi.sh compares)
abi: all
	@OCV_BUILD=$(BUILD) test/abi.sh --write

# for clang-tidy and cppcheck
print-cflags: $(GENERATED) $(BUILD)/gen/providers.h
	$(info $(CFLAGS_ALL)) @:
