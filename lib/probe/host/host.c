/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that is probed: the one this runs on, a recorded tree, or a CPUID file.
 */
#include "lib/probe/host/host.h"
#include "lib/base/cleanup.h"

#include "gen/libexecdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* uname's machine -> GOARCH and platform variant. Source: containerd/platforms, Go's GOARCH list.
 */
static const struct {
    const char *machine, *architecture, *variant;
} machines[] = {
    {"x86_64", "amd64", NULL},    {"aarch64", "arm64", NULL}, {"riscv64", "riscv64", NULL},
    {"ppc64le", "ppc64le", NULL}, {"s390x", "s390x", NULL},   {"loongarch64", "loong64", NULL},
    {"i386", "386", NULL},        {"i486", "386", NULL},      {"i586", "386", NULL},
    {"i686", "386", NULL},        {"armv8l", "arm", "v8"},    {"armv7l", "arm", "v7"},
    {"armv6l", "arm", "v6"},      {"armv5tel", "arm", "v5"},  {"ppc64", "ppc64", NULL},
    {"mips", "mips", NULL},       {"mips64", "mips64", NULL},
};

#define CPUID_EXT_EDX_LM (1u << 29)

static int open_sources(const struct ocv_probe_options *options, struct ocv_probe_host *host,
                        struct ocv_error *err)
{
    struct utsname name;
    if (options->cpuid) {
        OCV_TRY(ocv_cpuid_read(options->cpuid, &host->cpuid, err));
        host->has_cpuid = true;
        bool lm = ocv_cpuid_word(&host->cpuid, 0x80000001, 0, OCV_EDX) & CPUID_EXT_EDX_LM;
        host->architecture = lm ? "amd64" : "386";
    } else if (options->sysroot) { /* a failure costs the CPU provider only */
        struct ocv_error *failure = &host->cpuinfo_error;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_CPUINFO_MAX);
        int status = ocv_sysroot_read(host->root, "proc/cpuinfo", &text, failure);
        if (status == OCV_ERR_NOT_FOUND) { /* a tree of devices only is read, too */
            *failure = (struct ocv_error){0};
            return OCV_OK;
        }
        if (status == OCV_OK)
            status = ocv_cpuinfo_parse(&text, &host->cpuinfo, failure);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        host->has_cpuinfo = status == OCV_OK;
        host->architecture = host->cpuinfo.architecture;
        host->variant = host->cpuinfo.variant;
    } else if (host->live && uname(&name) == 0) {
        for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
            if (strcmp(name.machine, machines[i].machine) == 0) {
                host->architecture = machines[i].architecture;
                host->variant = machines[i].variant;
            }
    }
    return OCV_OK;
}

int ocv_probe_host_open(const struct ocv_probe_options *options, struct ocv_probe_host *out,
                        struct ocv_error *err)
{
    /* a text of PCI devices is another machine's: nothing of this one belongs to it */
    bool devices_only = options->pci_dump && !options->sysroot;
    __attribute__((cleanup(ocv_probe_host_close))) struct ocv_probe_host host = {
        .root = -1,
        .live = !options->sysroot && !options->pci_dump,
        .deep = options->deep,
        .no_environment = options->no_environment,
        .whole_node = options->whole_node,
        .libexecdir = options->libexecdir,
        .datadir = options->datadir,
        .timeout_ms = options->timeout_ms ? options->timeout_ms : OCV_CHILD_TIMEOUT_MS,
        .pci_dump = options->pci_dump};
    if (!devices_only)
        OCV_TRY(ocv_sysroot_open(options->sysroot, &host.root, err));
    OCV_TRY(open_sources(options, &host, err));

    /* A failure disables the PCI providers only, except for a dump that the caller named. */
    const struct ocv_pci_source source = {
        .root = host.root, .libpci = host.live ? "/sys/bus/pci" : NULL, .dump = host.pci_dump};
    int status = ocv_pci_scan(&source, &host.pci, &host.pci_error);
    if (status < 0 && host.pci_dump)
        return ocv_error_set(err, status, "%s", host.pci_error.message);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    /* kernels for PCs and servers have it, with devices or without: a sandbox shows none of it */
    if (host.live && !host.pci_dump && !ocv_sysroot_directory(host.root, "sys/bus/pci") &&
        host.architecture && strcmp(host.architecture, "amd64") == 0)
        ocv_error_set(&host.pci_error, OCV_ERR_NOT_FOUND, "/sys/bus/pci is not shown here");
    *out = host;
    host = (struct ocv_probe_host){.root = -1};
    return OCV_OK;
}

void ocv_probe_host_close(struct ocv_probe_host *host)
{
    if (host->root >= 0)
        close(host->root);
    ocv_pci_list_free(&host->pci);
    ocv_cpuid_free(&host->cpuid);
    ocv_cpuinfo_free(&host->cpuinfo);
    host->root = -1;
}

bool ocv_probe_host_libexec(const struct ocv_probe_host *host, const char *name, char *path,
                            size_t size)
{
    int n;
    if (!host->libexecdir && host->datadir) {
        /* PREFIX/share/ocivariant: a tree that was moved keeps its programs at the same distance */
        n = snprintf(path, size, "%s/../../libexec/ocivariant/%s", host->datadir, name);
        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return true;
    }
    n = snprintf(path, size, "%s/%s", host->libexecdir ? host->libexecdir : OCV_DEFAULT_LIBEXECDIR,
                 name);
    return n > 0 && (size_t)n < size;
}

const char *ocv_probe_host_variable(const struct ocv_probe_host *host, const char *name)
{
    const char *text = host->live && !host->no_environment ? secure_getenv(name) : NULL;
    return text && *text ? text : NULL;
}

void ocv_probe_host_identity(const struct ocv_probe_host *host, char *hostname, char *boot_id,
                             size_t size)
{
    hostname[0] = boot_id[0] = '\0';
    if (host->live && host->has_cpuid)
        return; /* the devices of one machine with the name of another would mislead */
    ocv_sysroot_line(host->root, "proc/sys/kernel/random/boot_id", boot_id, size);
    if (host->live) {
        struct utsname name;
        if (uname(&name) == 0 && strlen(name.nodename) < size)
            memcpy(hostname, name.nodename, strlen(name.nodename) + 1);
        return;
    }
    if (!ocv_sysroot_line(host->root, "etc/hostname", hostname, size))
        ocv_sysroot_line(host->root, "proc/sys/kernel/hostname", hostname, size);
}
