# SPDX-License-Identifier: GPL-3.0-or-later
# make, make demo, make check, make check-all, make lint, make bench, make docs, make abi, make clean
# make install DESTDIR= PREFIX=, make uninstall with the same
# BUILD=DIR builds elsewhere; SAN=asan|tsan|fuzz adds a sanitizer; WERROR= turns warnings back into
# warnings; V=1 prints whole commands. All processors are used unless -j says otherwise. What needs tests'
# tools (demo, check) is in test/test.mk.

ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
# $(call quiet,CC,FILE)COMMAND: one short line in place of the command
quiet = $(if $(filter 1,$(V)),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '$(1) $(2)';) )

VERSION  := $(shell cat VERSION)
ABI      := 1
BUILD    ?= build
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
DATADIR  ?= $(PREFIX)/share/ocivariant
LIBEXECDIR ?= $(PREFIX)/libexec/ocivariant
BASHDIR  ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR   ?= $(PREFIX)/share/zsh/site-functions
FISHDIR  ?= $(PREFIX)/share/fish/vendor_completions.d
CC       ?= cc
OPT      ?= -O2 -g
WERROR   ?= -Werror
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wconversion -Wno-unknown-warning-option -Wno-format-truncation
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread -fno-omit-frame-pointer
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANFLAGS := $(SAN_$(SAN)) $(if $(SAN),-DOCV_SANITIZED)

# Hardening: what this compiler takes of it, with these optimisations; sanitizers have their own ways.
# All code is position-independent, so programs are, too. test/hardened.sh looks at the result.
takes = $(shell echo 'int x;' | $(CC) -Werror $(OPT) $(1) -include stdlib.h -x c -c -o /dev/null - 2>/dev/null && echo '$(1)')
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE
HARDEN  := $(call takes,-fstack-protector-strong) $(call takes,-fstack-clash-protection) \
           $(or $(call takes,-fcf-protection=full),$(call takes,-mbranch-protection=standard)) \
           $(if $(SAN),,$(or $(call takes,$(FORTIFY)=3),$(call takes,$(FORTIFY)=2)))
HARDEN_LD := -Wl,-z,relro,-z,now,-z,noexecstack

CFLAGS_ALL = -std=gnu11 $(OPT) $(WARN) $(WERROR) $(SANFLAGS) $(HARDEN) -fPIC -fvisibility=hidden \
             -D_GNU_SOURCE -DOCV_VERSION='"$(VERSION)"' -DOCV_ABI='"$(ABI)"' \
             -I. -Ilib/include -I$(BUILD) $(CFLAGS)
LDFLAGS_ALL = $(SANFLAGS) $(HARDEN_LD) $(LDFLAGS)
PIE := -pie

# All that the core needs of libcrypto is SHA-2 and base64. Taken from libcrypto.a it is 50 KB; libcrypto.so takes
# as long to load as a probe of the machine does. LINK=shared takes the shared libraries everywhere, as distributions
# want it; so does a machine whose archive needs others (OpenSSL of Debian 13: zstd).
CRYPTO_USED := int SHA512_Init(void *c); int EVP_EncodeBlock(void *to, const void *from, int n); \
    int ocv(void *c) { return SHA512_Init(c) + EVP_EncodeBlock(c, c, 1); }
links = $(shell echo '$(2)' | $(CC) -shared -fPIC -Wl,-z,defs -o /dev/null -x c - -x none $(1) 2>/dev/null && echo '$(1)')
CRYPTO_LIBS   := $(or $(if $(SAN)$(filter shared,$(LINK)),,$(call links,-l:libcrypto.a,$(CRYPTO_USED))),-lcrypto)
DATA_LIBS     := -ljansson -lyaml
CORE_LIBS     := $(DATA_LIBS) -lcrypto -lpthread
# libcrypto first: symbols are looked for in this order, and half of all that are looked for are its own
REGISTRY_LIBS := -lcrypto -lssl -lcurl $(CORE_LIBS)
PROBE_LIBS    := -ldl $(CORE_LIBS)
# of what is started often
QUICK_LIBS    := $(DATA_LIBS) $(CRYPTO_LIBS) -lpthread

sources = $(sort $(foreach d,$(1),$(wildcard $(d)/*.c)))
BASE_SRC     := $(call sources,lib/base lib/base/format lib/base/system)
CORE_SRC     := $(call sources,lib/core lib/core/resolve lib/layout lib/match)
REGISTRY_SRC := $(call sources,lib/registry lib/registry/auth lib/registry/signature)
PROBE_SRC    := $(call sources,lib/probe lib/probe/* lib/probe/providers/*)
COMMON_SRC   := $(call sources,cmd/common cmd/common/image cmd/common/progress)
LAZY_SRC     := $(call sources,cmd/common/lazy)
SETUP_SRC    := $(call sources,cmd/variantctl/setup cmd/variantctl/setup/*)
INTERNAL_SRC := $(call sources,lib/internal/* lib/internal/*/*)
CORE_INSIDE  := $(addprefix lib/core/,given_devices.c host_features.c image_user.c index_warn.c) \
                $(addprefix lib/core/resolve/,default.c entry.c sm_arch.c versions.c) $(addprefix lib/match/,name_table.c place_order.c)
# messages of containerd and kubelet: schema/proto/NAME.proto -> BUILD/gen/NAME.pb-c.[ch]
PROTO        := $(patsubst schema/proto/%.proto,%,$(sort $(wildcard schema/proto/*.proto)))
obj = $(patsubst %.c,$(BUILD)/%.o,$(1))

LIBS  := core registry probe
BASE_A     := $(BUILD)/libbase.a
CORE_A     := $(BUILD)/libocivariant.a
INTERNAL_A := $(BUILD)/libinternal.a
REGISTRY_A := $(BUILD)/libocivariant-registry.a
PROBE_A    := $(BUILD)/libocivariant-probe.a
COMMON_A   := $(BUILD)/libcommon.a
LAZY_A     := $(BUILD)/liblazy.a
SETUP_A    := $(BUILD)/libsetup.a
VERDICT_A  := $(BUILD)/libverdict.a
# of the core, but not of its interface
PROBE_CORE := lib/core/resolve/versions.c lib/core/resolve/sm_arch.c
SHARED     := $(BUILD)/libocivariant.so $(BUILD)/libocivariant-registry.so $(BUILD)/libocivariant-probe.so
PROGRAMS   := $(BUILD)/vpull $(BUILD)/variantctl $(BUILD)/variantd $(BUILD)/ocivariant-snapshotter $(BUILD)/ocivariant-cri-proxy
HELPERS    := $(BUILD)/libexec/nvml-query $(BUILD)/libexec/content-scan $(BUILD)/libexec/cri-images $(BUILD)/libexec/ocivariant-verifier $(BUILD)/libexec/ocivariant-oci-hook $(BUILD)/libexec/ocivariant-node-setup
UNITS      := $(patsubst contrib/systemd/%.in,$(BUILD)/%,$(sort $(wildcard contrib/systemd/*.in)))
PC         := $(BUILD)/ocivariant.pc $(BUILD)/ocivariant-registry.pc $(BUILD)/ocivariant-probe.pc
GENERATED  := $(BUILD)/gen/datadir.h $(BUILD)/gen/libexecdir.h $(BUILD)/gen/vocabulary.h $(BUILD)/gen/vocabulary-words.h $(BUILD)/gen/hints.h \
              $(BUILD)/gen/toolkits.h $(BUILD)/gen/content-rules.h $(BUILD)/gen/slim-vendors.h $(BUILD)/gen/config-facts.h $(BUILD)/gen/lint-rules.h $(BUILD)/gen/lint-facts.h $(BUILD)/gen/daemon-metrics.h \
              $(BUILD)/gen/device-drivers.h $(PROTO:%=$(BUILD)/gen/%.pb-c.h)

.PHONY: all
all: $(SHARED) $(CORE_A) $(REGISTRY_A) $(PROBE_A) $(PROGRAMS) $(HELPERS) $(PC) $(UNITS) $(BUILD)/50-ocivariant.json $(BUILD)/tag-index.json $(BUILD)/man/vpull.1

# ---- generated --------------------------------------------------------------------------------
# written only when it changes: PREFIX may be another one at `make install`
$(BUILD)/gen/datadir.h: always
	@mkdir -p $(@D)
	@echo '#define OCV_DEFAULT_DATADIR "$(DATADIR)"' > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

$(BUILD)/gen/libexecdir.h: always
	@mkdir -p $(@D)
	@echo '#define OCV_DEFAULT_LIBEXECDIR "$(LIBEXECDIR)"' > $@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# Run here: to build for another machine, GENERATE names the program of a build for this one.
GENERATE ?= $(BUILD)/generate
$(BUILD)/generate: $(sort $(wildcard schema/generate/*.[ch])) lib/base/format/yaml_tree.c $(addprefix lib/base/,buffer.c error.c file.c text.c) $(wildcard lib/base/*.h lib/base/format/*.h) Makefile
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(CFLAGS_ALL) $(PIE) -o $@ $(filter %.c,$^) $(LDFLAGS_ALL) $(CORE_LIBS)
$(BUILD)/gen/vocabulary-words.h: schema/vocabulary.yaml $(GENERATE) $(sort $(wildcard plugins/providers/*.yaml))
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)$(GENERATE) vocabulary-words $(filter %.yaml,$^) > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/lint-rules.h: $(wildcard lib/internal/lint/checks/*.c)
$(BUILD)/gen/%.h: schema/%.yaml $(GENERATE)
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)$(GENERATE) $* $< > $@.tmp && mv $@.tmp $@

# The same, as for TAGS_INDEX below.
PROVIDERS_INDEX ?= $(BUILD)/providers-index
$(BUILD)/providers-index: $(call obj,plugins/providers/index.c) $(CORE_A)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)
$(BUILD)/gen/providers.h: $(PROVIDERS_INDEX) $(sort $(wildcard plugins/providers/*.yaml))
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)$(PROVIDERS_INDEX) $(filter %.yaml,$^) > $@.tmp && mv $@.tmp $@
$(BUILD)/lib/probe/declarative/load.o: $(BUILD)/gen/providers.h

$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h: schema/proto/%.proto
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)protoc-c --c_out=$(BUILD)/gen --proto_path=schema/proto $<

$(BUILD)/gen/%.pb-c.o: $(BUILD)/gen/%.pb-c.c Makefile
	$(call quiet,CC,$<)$(CC) -std=gnu11 $(OPT) $(SANFLAGS) $(HARDEN) -fPIC -I$(BUILD)/gen -c $< -o $@

# ---- objects ----------------------------------------------------------------------------------
$(BUILD)/%.o: %.c Makefile VERSION | $(GENERATED)
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

# ---- libraries --------------------------------------------------------------------------------
# A program takes of an archive what it uses. The internal one is not installed; it knows some insides of the core
# that no library exports.
$(BASE_A): $(call obj,$(BASE_SRC))
$(CORE_A): $(call obj,$(BASE_SRC) $(CORE_SRC))
$(REGISTRY_A): $(call obj,$(REGISTRY_SRC))
$(PROBE_A): $(call obj,$(PROBE_SRC) $(PROBE_CORE))
$(INTERNAL_A): $(call obj,$(INTERNAL_SRC) $(CORE_INSIDE)) $(PROTO:%=$(BUILD)/gen/%.pb-c.o)
$(COMMON_A): $(call obj,$(COMMON_SRC))
$(LAZY_A): $(call obj,$(LAZY_SRC))
$(VERDICT_A): $(call obj,$(sort $(wildcard plugins/common/*.c)))
$(SETUP_A): $(call obj,$(SETUP_SRC))
%.a:
	@rm -f $@
	$(call quiet,AR,$@)ar rcs $@ $^

# soname link, version script: only ocv_ symbols leave
define shared
	$(call quiet,LD,$@)$(CC) -shared -Wl,-soname,$(notdir $@).$(ABI) -Wl,--version-script,lib/libocivariant.map -Wl,-z,defs \
	    -Wl,--as-needed -Wl,-Bsymbolic-functions -o $@.$(VERSION) $(1) $(LDFLAGS_ALL) $(2)
	@ln -sf $(notdir $@).$(VERSION) $@.$(ABI)
	@ln -sf $(notdir $@).$(VERSION) $@
	@mkdir -p $(BUILD)/lib && ln -sf ../$(notdir $@).$(VERSION) $(BUILD)/lib/$(notdir $@).$(ABI)
endef
$(BUILD)/libocivariant.so: $(call obj,$(CORE_SRC)) $(BASE_A) lib/libocivariant.map
	$(call shared,$(call obj,$(CORE_SRC)) $(BASE_A),$(QUICK_LIBS))
$(BUILD)/libocivariant-registry.so: $(call obj,$(REGISTRY_SRC)) $(BUILD)/libocivariant.so $(BASE_A)
	$(call shared,$(call obj,$(REGISTRY_SRC)),$(REGISTRY_LIBS) -L$(BUILD) -locivariant $(BASE_A) $(DATA_LIBS))
$(BUILD)/libocivariant-probe.so: $(call obj,$(PROBE_SRC) $(PROBE_CORE)) $(BUILD)/libocivariant.so $(BASE_A)
	$(call shared,$(call obj,$(PROBE_SRC) $(PROBE_CORE)),-L$(BUILD) -locivariant $(BASE_A) $(PROBE_LIBS))

# made every time: PREFIX may be another one at `make install`
.PHONY: always
$(PC): $(BUILD)/%.pc: contrib/%.pc.in VERSION Makefile always
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

$(BUILD)/%.service: contrib/systemd/%.service.in Makefile always
	@sed -e 's|@PREFIX@|$(PREFIX)|' $< > $@

# ---- programs: shared libraries in ../lib, as installed, found by a relative run path ----------
# One directory: the loader looks for every library in each, which for a second one is a tenth of a short command.
RPATH := -Wl,-rpath,'$$ORIGIN/../lib'
# those of all programs, in the order in which they use each other
PROGRAM_A := $(COMMON_A) $(INTERNAL_A)
# name, libraries that it needs beside the probe's and the core's
define program
$(BUILD)/$(1): $$(call obj,$$(filter-out $$(SETUP_SRC),$$(call sources,cmd/$(1) cmd/$(1)/*))) $(PROGRAM_A) $(BASE_A) $(SHARED)
	@mkdir -p $(BUILD)/bin
	$$(call quiet,LD,$$@)$$(CC) $$(PIE) -o $(BUILD)/bin/$(1) $$(filter %.o,$$^) $$(filter-out $(PROGRAM_A) $(BASE_A) $(LAZY_A),$$(filter %.a,$$^)) $(PROGRAM_A) $$(filter $(LAZY_A),$$^) $$(LDFLAGS_ALL) $$(RPATH) -L$(BUILD) -Wl,--as-needed \
	    $(2) -locivariant-probe -locivariant $(BASE_A) $(CRYPTO_LIBS) $(DATA_LIBS) -ldl -lpthread
	@ln -sf bin/$(1) $$@
endef
$(eval $(call program,vpull,))
$(eval $(call program,variantctl,))
# also of contrib/static/static.mk
# with a table of the provider of AMD, which the shared library keeps to itself
VARIANTCTL_A := $(SETUP_A) $(BUILD)/lib/probe/providers/amd/ids.o
$(BUILD)/variantctl: $(VARIANTCTL_A)
$(BUILD)/vpull $(BUILD)/variantctl: $(LAZY_A)
$(eval $(call program,variantd,-locivariant-registry -lmicrohttpd))

# ---- helpers: what opens a vendor's library, run by the probe in a process of its own -----------
$(BUILD)/libexec/nvml-query: $(call obj,$(sort $(wildcard plugins/nvml/*.c)))
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -ljansson -ldl -lpthread

# what reads archives that anybody may have made, run by variantctl
$(BUILD)/libexec/content-scan: $(call obj,$(sort $(wildcard plugins/content/*.c))) $(INTERNAL_A) $(CORE_A)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed -larchive -lzstd -lz -ljansson $(CRYPTO_LIBS) -lpthread

# what speaks HTTP/2 to a kubelet's runtime, run by variantctl
$(BUILD)/libexec/cri-images: $(call obj,$(sort $(wildcard plugins/cri-images/*.c))) $(INTERNAL_A) $(CORE_A)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed -lnghttp2 -lprotobuf-c $(CORE_LIBS)

# ---- hooks: run at every pull or container start, so they load as little as they can ------------
# static where that can be had: a third less to start, and it may be copied into containerd's directory
$(BUILD)/libexec/ocivariant-verifier: $(call obj,$(sort $(wildcard plugins/containerd/verifier/*.c))) $(VERDICT_A) $(INTERNAL_A) $(CORE_A)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(if $(SAN)$(filter shared,$(LINK)),,$(CC) -static-pie -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS) 2>/dev/null ||) \
	    $(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed $(CORE_LIBS)
$(BUILD)/libexec/ocivariant-oci-hook: $(call obj,$(sort $(wildcard plugins/oci-hook/*.c))) $(VERDICT_A) $(INTERNAL_A) $(CORE_A)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed $(QUICK_LIBS)
# ---- containerd's snapshotter: a daemon, and small ---------------------------------------------
SNAP_SRC := $(call sources,plugins/containerd/snapshotter plugins/containerd/snapshotter/*)
SNAP_A   := $(BUILD)/libsnapshotter.a
$(SNAP_A): $(call obj,$(filter-out %/snapshotter/main.c,$(SNAP_SRC)))
$(BUILD)/ocivariant-snapshotter: $(call obj,plugins/containerd/snapshotter/main.c) $(SNAP_A) $(COMMON_A) $(VERDICT_A) $(INTERNAL_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed -lnghttp2 -lprotobuf-c -lsqlite3 $(CORE_LIBS)
$(BUILD)/50-ocivariant.json: plugins/oci-hook/50-ocivariant.json.in Makefile always
	@sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|' $< > $@

# ---- the CRI image service's proxy ---------------------------------------------------------------
CRI_PROXY_SRC := $(sort $(wildcard plugins/containerd/cri-proxy/*.c plugins/containerd/cri-proxy/*/*.c))
CRI_PROXY_A   := $(BUILD)/libcri-proxy.a
$(CRI_PROXY_A): $(call obj,$(filter-out %/main.c,$(CRI_PROXY_SRC)))
$(BUILD)/ocivariant-cri-proxy: $(call obj,plugins/containerd/cri-proxy/main.c) $(CRI_PROXY_A) $(COMMON_A) $(VERDICT_A) $(INTERNAL_A) $(REGISTRY_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) -Wl,--as-needed -lnghttp2 -lsqlite3 $(REGISTRY_LIBS)

# ---- what a DaemonSet runs on a node before variantd -----------------------------------------------
comma        := ,
NODE_SETUP_A := $(BUILD)/libnode-setup.a
$(NODE_SETUP_A): $(call obj,$(filter-out %/main.c,$(sort $(wildcard plugins/kubernetes/*.c))))
$(BUILD)/libexec/ocivariant-node-setup: $(call obj,plugins/kubernetes/main.c) $(NODE_SETUP_A) $(PROGRAM_A) $(BASE_A) $(SHARED)
	@mkdir -p $(@D)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $(filter %.o %.a,$^) $(LDFLAGS_ALL) $(if $(RPATH),-Wl$(comma)-rpath$(comma)'$$ORIGIN/../../lib' -Wl$(comma)-rpath$(comma)'$$ORIGIN/..') -L$(BUILD) -Wl,--as-needed \
	    -locivariant-registry -locivariant-probe -locivariant $(CRYPTO_LIBS) $(DATA_LIBS) -ldl -lpthread

# ---- without shared libraries ------------------------------------------------------------------
include contrib/static/static.mk

# ---- tag rules: which repositories each file knows, so that the others need not be parsed ----------
# Run here: to build for another machine, TAGS_INDEX names the program of a build for this one.
TAGS_INDEX ?= $(BUILD)/tags-index
$(BUILD)/tags-index: $(call obj,plugins/tags.d/index.c) $(INTERNAL_A) $(CORE_A)
	$(call quiet,LD,$@)$(CC) $(PIE) -o $@ $^ $(LDFLAGS_ALL) $(CORE_LIBS)
$(BUILD)/tag-index.json: $(TAGS_INDEX) $(sort $(wildcard plugins/tags.d/*.yaml))
	$(call quiet,GEN,$@)$(TAGS_INDEX) $(filter %.yaml,$^) > $@.tmp && mv $@.tmp $@

# demo, check, lint, fuzz, bench
.PHONY: demo check lint fuzz bench bench-quick
include test/test.mk

# ---- manual pages, of what the programs say with --help and of the documentation -----------------
# as PROVIDERS_INDEX above: to build for another machine, HELP_OF is a build for this one
HELP_OF ?= $(BUILD)
MAN_SRC := contrib/man-pages $(shell awk '/^[a-z]/ { print $$3 }' contrib/man-pages)
$(BUILD)/man/vpull.1: $(PROGRAMS) $(HELPERS) contrib/man.sh contrib/man.awk contrib/man-page.awk $(MAN_SRC) contrib/debian/changelog VERSION
	$(call quiet,MAN,$(@D))contrib/man.sh $(HELP_OF) $(@D)

# ---- install ----------------------------------------------------------------------------------
.PHONY: install
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/ocivariant \
	    $(DESTDIR)$(DATADIR)/schema $(DESTDIR)$(PREFIX)/lib/docker/cli-plugins
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(LIBEXECDIR)/providers
	install -m 755 $(HELPERS) $(DESTDIR)$(LIBEXECDIR)
	ln -sf ../../../bin/vpull $(DESTDIR)$(PREFIX)/lib/docker/cli-plugins/docker-vpull
	cp -P $(foreach s,$(SHARED),$(s) $(s).$(ABI) $(s).$(VERSION)) $(DESTDIR)$(LIBDIR)
	install -m 644 $(CORE_A) $(REGISTRY_A) $(PROBE_A) $(DESTDIR)$(LIBDIR)
	install -m 644 lib/include/ocivariant.h lib/include/ocivariant-registry.h lib/include/ocivariant-probe.h \
	    $(DESTDIR)$(PREFIX)/include
	install -m 644 lib/include/ocivariant/*.h $(DESTDIR)$(PREFIX)/include/ocivariant
	install -m 644 $(PC) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(wildcard schema/*.json schema/*.yaml schema/*.md) $(DESTDIR)$(DATADIR)/schema
	install -d $(DESTDIR)$(DATADIR)/providers
	install -m 644 plugins/providers/*.yaml $(DESTDIR)$(DATADIR)/providers
	install -d $(DESTDIR)$(DATADIR)/profiles
	install -m 644 plugins/profiles/*.json $(DESTDIR)$(DATADIR)/profiles
	install -d $(DESTDIR)$(DATADIR)/tags.d
	install -m 644 plugins/tags.d/*.yaml $(DESTDIR)$(DATADIR)/tags.d
	install -m 644 $(BUILD)/tag-index.json $(DESTDIR)$(DATADIR)/tags.d/index.json
	install -d $(DESTDIR)$(DATADIR)/tags.d/authoring
	install -m 644 plugins/tags.d/authoring/*.yaml $(DESTDIR)$(DATADIR)/tags.d/authoring
	install -d $(DESTDIR)$(DATADIR)/docs $(DESTDIR)$(DATADIR)/hooks.d
	install -m 644 docs/lint.md $(DESTDIR)$(DATADIR)/docs
	install -m 644 $(BUILD)/50-ocivariant.json $(DESTDIR)$(DATADIR)/hooks.d
	install -d $(DESTDIR)$(DATADIR)/prometheus $(DESTDIR)$(DATADIR)/grafana $(DESTDIR)$(DATADIR)/slurm
	install -m 644 contrib/slurm/job_submit.lua $(DESTDIR)$(DATADIR)/slurm
	install -d $(DESTDIR)$(DATADIR)/backendai/ocivariant_backendai
	install -m 644 VERSION contrib/backendai/pyproject.toml contrib/backendai/*.patch $(DESTDIR)$(DATADIR)/backendai
	install -m 644 contrib/backendai/ocivariant_backendai/*.py $(DESTDIR)$(DATADIR)/backendai/ocivariant_backendai
	install -m 644 contrib/kubernetes/chart/files/rules.yaml $(DESTDIR)$(DATADIR)/prometheus/variantd.yaml
	install -m 644 contrib/kubernetes/chart/files/dashboard.json $(DESTDIR)$(DATADIR)/grafana/variantd.json
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 644 $(UNITS) contrib/systemd/*.socket contrib/systemd/*.timer $(DESTDIR)$(PREFIX)/lib/systemd/system
	for n in 1 5 7 8; do \
	    install -d $(DESTDIR)$(PREFIX)/share/man/man$$n && \
	    install -m 644 $(BUILD)/man/*.$$n $(DESTDIR)$(PREFIX)/share/man/man$$n || exit; \
	done
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	for program in $(notdir $(PROGRAMS)); do \
	    for file in bash:$(BASHDIR)/$$program zsh:$(ZSHDIR)/_$$program fish:$(FISHDIR)/$$program.fish; do \
	        sed "s/@PROGRAM@/$$program/g" contrib/completions/program.$${file%%:*} > $(DESTDIR)$${file#*:} && \
	        chmod 644 $(DESTDIR)$${file#*:} || exit; \
	    done || exit; \
	done

# what install writes is found by writing it elsewhere, so the two cannot differ; directories go when
# they bear our name and nothing else is in them
UNINSTALL := $(abspath $(BUILD))/uninstall
.PHONY: uninstall
uninstall:
	rm -rf $(UNINSTALL)
	$(MAKE) -s install DESTDIR=$(UNINSTALL)
	cd $(UNINSTALL) && find . ! -type d -exec sh -c 'for f; do rm -f "$(DESTDIR)/$$f"; done' sh {} +
	cd $(UNINSTALL) && find . -depth -type d -path '*ocivariant*' \
	    -exec sh -c 'for d; do rmdir "$(DESTDIR)/$$d" 2>/dev/null || true; done' sh {} +
	rm -rf $(UNINSTALL)

# ---- documentation: what is generated of it ----------------------------------------------------
# docs/lint.md, docs/metrics.md and the keys in docs/configuration.md are part of the tree, and tests compare
# them with their tables; where doxygen is installed, the reference of the public headers, too
.PHONY: docs
docs: $(BUILD)/vpull $(GENERATE)
	contrib/destinations-docs.sh $(BUILD)/vpull
	$(GENERATE) lint-page schema/lint-rules.yaml > docs/lint.md.tmp && mv docs/lint.md.tmp docs/lint.md
	$(GENERATE) metrics-page schema/daemon-metrics.yaml > docs/metrics.md.tmp && mv docs/metrics.md.tmp docs/metrics.md
	contrib/keys-docs.sh > docs/configuration.md.tmp && mv docs/configuration.md.tmp docs/configuration.md
	@mkdir -p $(BUILD)/docs
	@if command -v doxygen >/dev/null; then \
	    (cat contrib/doxygen.conf && echo 'PROJECT_NUMBER = $(VERSION)' && echo 'OUTPUT_DIRECTORY = $(BUILD)/docs') | doxygen - && \
	    echo '$(BUILD)/docs/html/files.html'; \
	else \
	    echo 'doxygen is not installed: pages in docs only'; \
	fi

.PHONY: clean
clean:
	rm -rf build build-*
