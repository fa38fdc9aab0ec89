/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libpci. It reports errors through a callback that must not return and gets no context: ours jumps
 * to the guard of the session that is at work in this thread.
 *
 * Invariant: every call that can reach the callback runs inside guarded(), and after a jump the
 * session is only closed or asked for another device. What libpci holds at a jump is what
 * pci_cleanup() frees: the sysfs back end closes a file before it complains, and pci_scan_bus(),
 * which would leave its directory open, is not used. Only its allocator's failure inside
 * pci_alloc() is out of reach. */
#include "lib/probe/pci/pci_internal.h"

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
    struct pci_dev *(*get_dev)(struct pci_access *, int, int, int, int);
    void (*free_dev)(struct pci_dev *);
    int (*fill_info)(struct pci_dev *, int); /* NULL: older than the fields that we read */
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
    {"pci_get_dev", offsetof(struct api, get_dev)},
    {"pci_free_dev", offsetof(struct api, free_dev)},
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
    bool names; /* else devices */
    char *path;
    struct pci_dev *dev;
    unsigned domain, bus, slot, function;
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
static bool run_guarded(struct ocv_libpci *pci, void (*work)(struct ocv_libpci *pci))
{
    struct ocv_libpci *const outer = at_work;
    at_work = pci;
    bool done = setjmp(pci->jump) == 0;
    if (done)
        work(pci);
    at_work = outer;
    return done;
}

static int load_library(struct ocv_libpci *pci, struct ocv_error *err)
{
    /* it stays mapped: to unmap it and load it again for names costs more than its pages */
    pci->handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!pci->handle)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s is not installed", SONAME);
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *symbol = dlsym(pci->handle, symbols[i].name);
        if (!symbol)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s lacks %s", SONAME, symbols[i].name);
        memcpy((char *)&pci->api + symbols[i].at, &symbol, sizeof(symbol));
    }
#ifdef PCI_FILL_SUBSYS
    /* the release that gave struct pci_dev its class extension and subsystem */
    void *fill_info = dlvsym(pci->handle, "pci_fill_info", "LIBPCI_3.8");
    memcpy(&pci->api.fill_info, &fill_info, sizeof(fill_info));
#endif
    if (!pci->names && !pci->api.fill_info)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s is older than 3.8", SONAME);
    return OCV_OK;
}

static void set_param(struct ocv_libpci *pci, const char *param, const char *value)
{
    /* both are copied or only read; a parameter that this release lacks needs no setting */
    (void)pci->api.set_param(pci->access, (char *)(uintptr_t)param, (char *)(uintptr_t)value);
}

static void init_access(struct ocv_libpci *pci)
{
    struct pci_access *access = pci->access;
    access->error = on_error;
    access->warning = on_warning;
    access->debug = on_warning;
    access->id_lookup_mode = 0; /* not even the cache of earlier network answers */
    set_param(pci, "hwdb.disable", "1");
    if (pci->names) {
        if (pci->path)
            pci->api.set_name_list_path(access, pci->path, 0);
        return;
    }
    access->method = PCI_ACCESS_SYS_BUS_PCI; /* left to itself it goes on to I/O ports */
    set_param(pci, "sysfs.path", pci->path);
    pci->api.init(access);
}

int ocv_libpci_open(struct ocv_libpci **out, bool names, const char *path, struct ocv_error *err)
{
    struct ocv_libpci *pci = calloc(1, sizeof(*pci));
    if (!pci)
        return ocv_error_nomem(err);
    pci->names = names;
    int status =
        path && !(pci->path = strdup(path)) ? ocv_error_nomem(err) : load_library(pci, err);
    if (status == OCV_OK && !(pci->access = pci->api.alloc()))
        status = ocv_error_nomem(err);
    if (status == OCV_OK && !run_guarded(pci, init_access))
        status = ocv_error_set(err, OCV_ERR_DATA, "%s", pci->message);
    if (status < 0) {
        ocv_libpci_close(pci);
        pci = NULL;
    }
    *out = pci;
    return status;
}

static void clean_up_access(struct ocv_libpci *pci)
{
    pci->api.cleanup(pci->access);
}

void ocv_libpci_close(struct ocv_libpci *pci)
{
    if (!pci)
        return;
    if (pci->access)
        (void)run_guarded(pci, clean_up_access);
    if (pci->handle)
        dlclose(pci->handle);
    free(pci->path);
    free(pci);
}

static void fill_device(struct ocv_libpci *pci)
{
#ifdef PCI_FILL_SUBSYS
    int wanted = PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CLASS_EXT;
    pci->dev = pci->api.get_dev(pci->access, (int)pci->domain, (int)pci->bus, (int)pci->slot,
                                (int)pci->function);
    if (!pci->dev)
        return;
    pci->found = (pci->api.fill_info(pci->dev, wanted) & wanted) == wanted;
    if (pci->found && pci->dev->device_class >> 8 != OCV_PCI_BRIDGE)
        (void)pci->api.fill_info(pci->dev, PCI_FILL_SUBSYS);
#else
    (void)pci; /* no session is opened for devices */
#endif
}

static void copy_fields(const struct pci_dev *dev, struct ocv_pci_device *out)
{
#ifdef PCI_FILL_SUBSYS
    out->vendor = dev->vendor_id;
    out->device = dev->device_id;
    out->class_code = (uint32_t)dev->device_class << 8 | dev->prog_if;
    if (dev->device_class >> 8 == OCV_PCI_BRIDGE)
        return;
    out->revision = dev->rev_id == 0xff ? 0 : dev->rev_id; /* ff: read from nowhere */
    if (dev->known_fields & PCI_FILL_SUBSYS) {
        out->subsystem_vendor = dev->subsys_vendor_id;
        out->subsystem_device = dev->subsys_id;
    }
#else
    (void)dev, (void)out;
#endif
}

bool ocv_libpci_read(struct ocv_libpci *pci, const char *address, struct ocv_pci_device *out)
{
    /* DDDD:BB:SS.F; numbers that are too large belong to no device */
    unsigned *const parts[] = {&pci->domain, &pci->bus, &pci->slot, &pci->function};
    static const char ends[] = {':', ':', '.', '\0'};
    pci->found = false;
    pci->dev = NULL;
    for (size_t i = 0; i < sizeof(ends); i++) {
        char *end;
        *parts[i] = (unsigned)strtoul(address, &end, 16);
        if (end == address || *end != ends[i])
            return false;
        address = end + 1;
    }
    bool found = run_guarded(pci, fill_device) && pci->found;
    if (found)
        copy_fields(pci->dev, out);
    if (pci->dev) /* not in the list that the session frees */
        pci->api.free_dev(pci->dev);
    return found;
}

static void look_up_name(struct ocv_libpci *pci)
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
    if (!run_guarded(pci, look_up_name) || !pci->found || strlen(pci->name) >= size)
        return false;
    memcpy(out, pci->name, strlen(pci->name) + 1);
    return true;
}
