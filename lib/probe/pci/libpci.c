/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libpci. It reports errors through a callback that must not return and gets no context: ours jumps
 * to the guard of the session that is at work in this thread.
 *
 * Invariant: every call that can reach the callback runs inside guarded(), and after a jump the
 * session is only closed or asked for another device. What libpci holds at a jump is what
 * pci_cleanup() frees: the dump reader closes its file before it complains, and no scan that opens
 * a directory is used. Only its allocator's failure inside pci_alloc() is out of reach. */
#include "lib/probe/pci/pci_libpci.h"

#include <dlfcn.h>
#include <pci/pci.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SONAME "libpci.so.3"

struct api {
    struct pci_access *(*alloc)(void);
    void (*init)(struct pci_access *);
    void (*cleanup)(struct pci_access *);
    int (*set_param)(struct pci_access *, char *, char *);
    void (*scan_bus)(struct pci_access *);
    struct pci_dev *(*get_dev)(struct pci_access *, int, int, int, int);
    void (*free_dev)(struct pci_dev *);
    int (*read_block)(struct pci_dev *, int, u8 *, int);
    void (*set_name_list_path)(struct pci_access *, char *, int);
    char *(*lookup_name)(struct pci_access *, char *, int, int, ...);
};

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
    {"pci_alloc", offsetof(struct api, alloc)},
    {"pci_init", offsetof(struct api, init)},
    {"pci_cleanup", offsetof(struct api, cleanup)},
    {"pci_set_param", offsetof(struct api, set_param)},
    {"pci_scan_bus", offsetof(struct api, scan_bus)},
    {"pci_get_dev", offsetof(struct api, get_dev)},
    {"pci_free_dev", offsetof(struct api, free_dev)},
    {"pci_read_block", offsetof(struct api, read_block)},
    {"pci_set_name_list_path", offsetof(struct api, set_name_list_path)},
    {"pci_lookup_name", offsetof(struct api, lookup_name)},
};

struct ocv_libpci {
    void *handle;
    struct api api;
    struct pci_access *access;
    jmp_buf jump;
    char message[128];
    /* what the work in hand is about */
    enum ocv_libpci_method method;
    char *path;
    struct pci_dev *dev;
    unsigned bus, slot, function;
    unsigned char config[OCV_PCI_CONFIG];
    bool found;
    uint16_t vendor, device;
    char name[128];
};

/* The callback has no other way to its session. */
static _Thread_local struct ocv_libpci *at_work;

__attribute__((format(printf, 1, 2), noreturn)) static void on_error(char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(at_work->message, sizeof(at_work->message), format, args);
    va_end(args);
    longjmp(at_work->jump, 1);
}

__attribute__((format(printf, 1, 2))) static void on_warning(char *format, ...)
{
    (void)format; /* a library does not print; what it warns of shows in the result */
}

/* False with pci->message if libpci gave up. */
static bool guarded(struct ocv_libpci *pci, void (*work)(struct ocv_libpci *pci))
{
    struct ocv_libpci *const outer = at_work;
    at_work = pci;
    bool done = setjmp(pci->jump) == 0;
    if (done)
        work(pci);
    at_work = outer;
    return done;
}

static int load(struct ocv_libpci *pci, struct ocv_error *err)
{
    pci->handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!pci->handle)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s is not installed", SONAME);
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *symbol = dlsym(pci->handle, symbols[i].name);
        if (!symbol)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s lacks %s", SONAME, symbols[i].name);
        memcpy((char *)&pci->api + symbols[i].at, &symbol, sizeof(symbol));
    }
    return OCV_OK;
}

static void set_param(struct ocv_libpci *pci, const char *param, const char *value)
{
    /* both are copied or only read; a parameter that this release lacks needs no setting */
    (void)pci->api.set_param(pci->access, (char *)(uintptr_t)param, (char *)(uintptr_t)value);
}

static void init(struct ocv_libpci *pci)
{
    struct pci_access *access = pci->access;
    access->error = on_error;
    access->warning = on_warning;
    access->debug = on_warning;
    access->id_lookup_mode = 0; /* not even the cache of earlier network answers */
    set_param(pci, "hwdb.disable", "1");
    if (pci->method == OCV_LIBPCI_NAMES) {
        if (pci->path)
            pci->api.set_name_list_path(access, pci->path, 0);
        return;
    }
    access->method = pci->method == OCV_LIBPCI_DUMP ? PCI_ACCESS_DUMP : PCI_ACCESS_PROC_BUS_PCI;
    set_param(pci, pci->method == OCV_LIBPCI_DUMP ? "dump.name" : "proc.path", pci->path);
    pci->api.init(access);
}

int ocv_libpci_open(struct ocv_libpci **out, enum ocv_libpci_method method, const char *path,
                    struct ocv_error *err)
{
    struct ocv_libpci *pci = calloc(1, sizeof(*pci));
    if (!pci)
        return ocv_error_nomem(err);
    pci->method = method;
    int status = path && !(pci->path = strdup(path)) ? ocv_error_nomem(err) : load(pci, err);
    if (status == OCV_OK && !(pci->access = pci->api.alloc()))
        status = ocv_error_nomem(err);
    if (status == OCV_OK && !guarded(pci, init))
        status = ocv_error_set(err, OCV_ERR_DATA, "%s", pci->message);
    if (status < 0) {
        ocv_libpci_close(pci);
        pci = NULL;
    }
    *out = pci;
    return status;
}

static void cleanup(struct ocv_libpci *pci)
{
    pci->api.cleanup(pci->access);
}

void ocv_libpci_close(struct ocv_libpci *pci)
{
    if (!pci)
        return;
    if (pci->access)
        (void)guarded(pci, cleanup);
    if (pci->handle)
        dlclose(pci->handle);
    free(pci->path);
    free(pci);
}

static void scan_bus(struct ocv_libpci *pci)
{
    pci->api.scan_bus(pci->access);
}

static void read_config(struct ocv_libpci *pci)
{
    pci->found = pci->api.read_block(pci->dev, 0, pci->config, (int)sizeof(pci->config)) != 0;
}

int ocv_libpci_scan(struct ocv_libpci *pci, struct ocv_pci_scan *scan, struct ocv_error *err)
{
    if (!guarded(pci, scan_bus))
        return ocv_error_set(err, OCV_ERR_DATA, "%s", pci->message);
    int status = OCV_OK;
    for (struct pci_dev *dev = pci->access->devices; dev && status == OCV_OK; dev = dev->next) {
        struct ocv_pci_device device = {0};
        snprintf(device.address, sizeof(device.address), "%04x:%02x:%02x.%x", (unsigned)dev->domain,
                 dev->bus, dev->dev, (unsigned)dev->func);
        pci->dev = dev;
        if (guarded(pci, read_config) && pci->found && ocv_pci_decode(pci->config, &device))
            status = ocv_pci_append(scan, &device, err);
        else
            status = ocv_pci_broken(scan, err);
    }
    return status;
}

static void read_one(struct ocv_libpci *pci)
{
    pci->dev = pci->api.get_dev(pci->access, 0, (int)pci->bus, (int)pci->slot, (int)pci->function);
    read_config(pci);
}

bool ocv_libpci_read(struct ocv_libpci *pci, unsigned bus, unsigned slot, unsigned function,
                     unsigned char config[OCV_PCI_CONFIG])
{
    pci->bus = bus;
    pci->slot = slot;
    pci->function = function;
    pci->dev = NULL;
    bool read = guarded(pci, read_one) && pci->found;
    if (pci->dev) /* not in the list that the session frees */
        pci->api.free_dev(pci->dev);
    if (read)
        memcpy(config, pci->config, OCV_PCI_CONFIG);
    return read;
}

static void lookup(struct ocv_libpci *pci)
{
    const char *name = pci->api.lookup_name(pci->access, pci->name, (int)sizeof(pci->name),
                                            PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE |
                                                PCI_LOOKUP_NO_NUMBERS | PCI_LOOKUP_NO_HWDB,
                                            pci->vendor, pci->device);
    pci->found = name == pci->name; /* else NULL, or a remark on the buffer's size */
}

bool ocv_libpci_name(struct ocv_libpci *pci, uint16_t vendor, uint16_t device, char *out,
                     size_t size)
{
    pci->vendor = vendor;
    pci->device = device;
    if (!guarded(pci, lookup) || !pci->found || strlen(pci->name) >= size)
        return false;
    memcpy(out, pci->name, strlen(pci->name) + 1);
    return true;
}
