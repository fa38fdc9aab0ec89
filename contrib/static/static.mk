# SPDX-License-Identifier: GPL-3.0-or-later
# Programs without shared libraries, in BUILD/static (make static), and the archive of them for hosts without
# packages (make tarball). README.md says what cannot be had so.

STATIC      := $(BUILD)/static/vpull $(BUILD)/static/variantctl $(BUILD)/static/ocivariant-oci-hook
STATIC_LIBS := -lcurl -lnghttp2 -lssl -lcrypto -lzstd -lz $(DATA_LIBS) -lpthread

$(BUILD)/static/vpull: $(call obj,$(call sources,cmd/vpull cmd/vpull/*) contrib/static/absent.c)
$(BUILD)/static/variantctl: $(call obj,$(filter-out $(SETUP_SRC),$(call sources,cmd/variantctl cmd/variantctl/*)) contrib/static/absent.c) $(VARIANTCTL_A)
$(BUILD)/static/ocivariant-oci-hook: $(call obj,$(sort $(wildcard plugins/oci-hook/*.c))) $(VERDICT_A)
$(STATIC): $(PROGRAM_A) $(REGISTRY_A) $(PROBE_A) $(CORE_A) contrib/static/link.sh
	@mkdir -p $(@D)
	contrib/static/link.sh $@ $(CC) -static-pie $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDFLAGS_ALL) $(STATIC_LIBS)

# the vendor's library is loaded at run time, so the C library must be the host's
$(BUILD)/static/nvml-query: $(call obj,$(sort $(wildcard plugins/nvml/*.c)))
	@mkdir -p $(@D)
	$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -l:libjansson.a -ldl -lpthread

.PHONY: static
static: $(STATIC) $(BUILD)/static/nvml-query $(BUILD)/libexec/ocivariant-verifier

.PHONY: tarball
tarball:
	@contrib/install-deps.sh --build-only
	@OCV_BUILD=$(BUILD) contrib/static/tarball.sh
