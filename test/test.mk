# SPDX-License-Identifier: GPL-3.0-or-later
# Tests. One program per test/unit/test_NAME.c (check), test/tools/*.c helpers for tests,
# test/fuzz/fuzz_NAME.c (libFuzzer, clang), test/integration/*.bats, test/bench/*.c.
#
#   make check                          everything but fuzzing, lint and the second compiler
#   make check SECTIONS="unit asan"     some of it (test/run.sh says which there are)
#   make fuzz FUZZ_SECONDS=60           every fuzz target for so long
#   make BUILD/test/unit/test_NAME      one unit test

OCV_FIXTURES ?= ../shared/fixtures
SECTIONS     ?=
FUZZ_SECONDS ?= 10
UNIT_SRC  := $(sort $(wildcard test/unit/test_*.c))
UNIT_BIN  := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(UNIT_SRC))
TOOL_SRC  := $(sort $(wildcard test/tools/*.c))
TOOL_BIN  := $(patsubst test/tools/%.c,$(BUILD)/test/tools/%,$(TOOL_SRC))
FUZZ_SRC  := $(sort $(wildcard test/fuzz/fuzz_*.c))
FUZZ_BIN  := $(patsubst test/fuzz/%.c,$(BUILD)/test/fuzz/%,$(FUZZ_SRC))
BENCH_SRC := $(sort $(wildcard test/bench/*.c))
BENCH_BIN := $(patsubst test/bench/%.c,$(BUILD)/test/bench/%,$(BENCH_SRC))
ALL_A     := $(LINT_A) $(GRPC_A) $(SETUP_A) $(COMMON_A) $(EDIT_A) $(RECORDS_A) $(TAGS_A) $(CONFIG_A) $(REGISTRY_A) $(PROBE_A) $(CORE_A)
OUR_LIBS  := -lnghttp2 -lprotobuf-c -lcurl -lssl -ldl $(CORE_LIBS)
TEST_LIBS := -lcheck -lsubunit -lrt -lm $(OUR_LIBS)

$(BUILD)/test/unit/%: $(BUILD)/test/unit/%.o $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(TEST_LIBS)

$(BUILD)/test/tools/%: $(BUILD)/test/tools/%.o $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lmicrohttpd -lz $(CORE_LIBS)

$(BUILD)/test/tools/cpuprobe: $(BUILD)/test/tools/cpuprobe.o $(PROBE_A) $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)

# a stand-in for NVIDIA's libraries, linked as both by the tests
$(BUILD)/test/tools/fake_nvml: $(BUILD)/test/tools/fake_nvml.o
	$(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -ljansson -ldl

# a CRI client: messages described by a file of its own; "linux" is a field's name, and gnu11's macro
$(BUILD)/test/tools/cri.pb-c.c: test/tools/cri.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=$(<D) --c_out=$(@D) $<
$(BUILD)/test/tools/cri.pb-c.o: $(BUILD)/test/tools/cri.pb-c.c
	$(CC) $(CFLAGS_ALL) -Ulinux -c $< -o $@
$(BUILD)/test/tools/cri.o: $(BUILD)/test/tools/cri.pb-c.c
$(BUILD)/test/tools/cri.o: CFLAGS_ALL += -Ulinux -I$(BUILD)/test/tools
$(BUILD)/test/tools/cri: $(BUILD)/test/tools/cri.o $(BUILD)/test/tools/cri.pb-c.o $(GRPC_A) $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnghttp2 -lprotobuf-c $(CORE_LIBS)

# what images run: nothing else is in them
$(BUILD)/test/tools/saybuild: test/tools/saybuild.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) $(WERROR) -D_GNU_SOURCE -static -s -o $@ $<

# the daemon without its main
VARIANTD_SRC := $(filter-out cmd/variantd/main.c,$(call sources,cmd/variantd cmd/variantd/*))
VARIANTD_A   := $(BUILD)/libvariantd.a
$(VARIANTD_A): $(call obj,$(VARIANTD_SRC))
$(BUILD)/test/unit/test_variantd_%: $(BUILD)/test/unit/test_variantd_%.o $(VARIANTD_A) $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lmicrohttpd $(TEST_LIBS)

# a part of variantctl, which has no library
$(BUILD)/test/unit/test_verify_known: $(BUILD)/test/unit/test_verify_known.o $(call obj,cmd/variantctl/verify/known.c) $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(TEST_LIBS)

# the CRI proxy without its main
$(BUILD)/test/unit/test_cri_proxy $(BUILD)/test/unit/test_cri_proxy_parts $(BUILD)/test/unit/test_cri_proxy_storm: $(BUILD)/test/unit/%: $(BUILD)/test/unit/%.o $(CRI_PROXY_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(TEST_LIBS)
$(BUILD)/test/fuzz/fuzz_cri_request: $(BUILD)/test/fuzz/fuzz_cri_request.o $(CRI_PROXY_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(OUR_LIBS)

# the runtime hook without its main
HOOK_A := $(BUILD)/liboci-hook.a
$(HOOK_A): $(call obj,$(filter-out %/main.c,$(sort $(wildcard plugins/oci-hook/*.c))))
$(BUILD)/test/unit/test_oci_hook: $(BUILD)/test/unit/test_oci_hook.o $(HOOK_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(TEST_LIBS)
$(BUILD)/test/fuzz/fuzz_hook_state: $(BUILD)/test/fuzz/fuzz_hook_state.o $(HOOK_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(OUR_LIBS)

# the snapshotter without its main
SNAP_TEST_LIBS := -lsqlite3 -lnghttp2 -lprotobuf-c
$(BUILD)/test/unit/test_snapshotter_%: $(BUILD)/test/unit/test_snapshotter_%.o $(SNAP_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(SNAP_TEST_LIBS) $(TEST_LIBS)
$(BUILD)/test/fuzz/fuzz_snapshot_%: $(BUILD)/test/fuzz/fuzz_snapshot_%.o $(SNAP_A) $(VERDICT_A) $(ALL_A)
	$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(SNAP_TEST_LIBS) $(OUR_LIBS)
# and one that can be told where to die (OCV_CRASH_AT)
$(BUILD)/test/crash/%.o: plugins/containerd/snapshotter/%.c Makefile | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -DOCV_CRASH_POINTS -MMD -MP -c $< -o $@
$(BUILD)/test/tools/snapshotter-crash: $(patsubst plugins/containerd/snapshotter/%.c,$(BUILD)/test/crash/%.o,$(SNAP_SRC)) $(COMMON_A) $(VERDICT_A) $(GRPC_A) $(RECORDS_A) $(CONFIG_A) $(CORE_A)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(SNAP_TEST_LIBS) $(CORE_LIBS)
TOOL_BIN += $(BUILD)/test/tools/snapshotter-crash

# needs CC=clang SAN=fuzz: the driver's main comes with -fsanitize=fuzzer
$(BUILD)/test/fuzz/%: $(BUILD)/test/fuzz/%.o $(ALL_A)
	$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) $(OUR_LIBS)
$(BUILD)/test/fuzz/fuzz_route $(BUILD)/test/fuzz/fuzz_header: $(BUILD)/test/fuzz/fuzz_%: $(BUILD)/test/fuzz/fuzz_%.o $(VARIANTD_A) $(ALL_A)
	$(CC) -o $@ $^ -fsanitize=fuzzer $(LDFLAGS_ALL) -lmicrohttpd $(OUR_LIBS)

$(BUILD)/test/bench/bench_%: $(BUILD)/test/bench/bench_%.o $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)
$(BUILD)/test/bench/bench_cri: $(BUILD)/test/bench/bench_cri.o $(GRPC_A) $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnghttp2 $(CORE_LIBS)
# static: a child's peak RSS starts as its parent's, and starting it costs the least
$(filter-out $(BUILD)/test/bench/bench_%,$(BENCH_BIN)): $(BUILD)/test/bench/%: test/bench/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) $(WERROR) -D_GNU_SOURCE -static -o $@ $<

$(BUILD)/test/%.o: CFLAGS_ALL += -Wno-missing-prototypes

# ---- public headers: each compiled alone, as strict C11 and as C++ -------------------------------
PUBLIC_HEADERS := $(patsubst lib/include/%,%,$(wildcard lib/include/*.h lib/include/*/*.h))
HEADER_FLAGS   := -Wall -Wextra -Werror -Wpedantic -pedantic-errors -Ilib/include
HEADER_OK      := $(foreach h,$(PUBLIC_HEADERS),$(BUILD)/test/header/$(h).c.ok $(BUILD)/test/header/$(h).cc.ok)
$(BUILD)/test/header/%.c.ok: test/unit/header_alone.c $(wildcard lib/include/*.h lib/include/*/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 -Wstrict-prototypes $(HEADER_FLAGS) -DHEADER='"$*"' -c $< -o $@
$(BUILD)/test/header/%.cc.ok: test/unit/header_alone.cc $(wildcard lib/include/*.h lib/include/*/*.h)
	@mkdir -p $(@D)
	$(CXX) -std=c++11 $(HEADER_FLAGS) -DHEADER='"$*"' -c $< -o $@

.SECONDARY:
.PHONY: deb check-packages abi tests tools fuzzers benches headers deps bench-deps check lint fuzz bench bench-quick demo ci print-cflags
tests: $(UNIT_BIN) $(TOOL_BIN)
tools: $(TOOL_BIN)
fuzzers: $(FUZZ_BIN)
benches: $(BENCH_BIN)
headers: $(HEADER_OK)

deps:
	@contrib/install-deps.sh

# Debian packages in BUILD/deb; they are checked by a target of its own, which takes minutes and, for trees
# of Debian releases, the network
deb:
	@contrib/install-deps.sh --packages
	@OCV_BUILD=$(BUILD) contrib/deb.sh
check-packages:
	@contrib/install-deps.sh --packages
	@OCV_BUILD=$(BUILD) test/packages.sh

bench-deps:
	@contrib/install-deps.sh --bench

# run.sh builds what each section needs, in a directory of its own
check: deps
	@OCV_BUILD=$(BUILD) OCV_FIXTURES=$(OCV_FIXTURES) test/run.sh $(or $(SECTIONS),check)

lint: deps
	@OCV_BUILD=$(BUILD) test/run.sh lint

fuzz: deps
	@OCV_BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) test/run.sh fuzz

demo: deps
	@$(MAKE) --no-print-directory all tools
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
