# SPDX-License-Identifier: GPL-3.0-or-later
# Tests. One program per test/unit/test_NAME.c (check), test/tools/*.c helpers for tests,
# test/fuzz/fuzz_NAME.c (libFuzzer, clang), test/integration/*.bats.

OCV_FIXTURES ?= ../shared/fixtures
UNIT_SRC  := $(sort $(wildcard test/unit/test_*.c))
UNIT_BIN  := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(UNIT_SRC))
TOOL_SRC  := $(sort $(wildcard test/tools/*.c))
TOOL_BIN  := $(patsubst test/tools/%.c,$(BUILD)/test/tools/%,$(TOOL_SRC))
FUZZ_SRC  := $(sort $(wildcard test/fuzz/fuzz_*.c))
TEST_LIBS := -lcheck -lsubunit -lrt -lm -lpci -lcurl -ldl $(CORE_LIBS)

$(BUILD)/test/unit/%: $(BUILD)/test/unit/%.o $(COMMON_A) $(REGISTRY_A) $(PROBE_A) $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) $(TEST_LIBS)

$(BUILD)/test/tools/%: $(BUILD)/test/tools/%.o $(CORE_A)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lmicrohttpd -lz $(CORE_LIBS)

$(BUILD)/test/%.o: CFLAGS_ALL += -Itest/unit -Wno-missing-prototypes
.SECONDARY:
.PHONY: tests tools
tests: $(UNIT_BIN)
tools: $(TOOL_BIN)
