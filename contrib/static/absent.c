/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replacements for functions that programs without shared libraries lack (link.sh). The loader: a
 * system library would bring that system's libc into the process, so none can be loaded, and names
 * of hosts and users come only from files and DNS. As a result only libpci's device names are
 * missing. The registry client is part of the program. */
#include "cmd/common/lazy/registry_load.h"

#include <dlfcn.h>
#include <nss.h>

static const char absent[] = "this program has no shared libraries";

void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    (void)handle;
    (void)name;
    return NULL;
}

int dlclose(void *handle)
{
    (void)handle;
    return -1;
}

char *dlerror(void)
{
    return (char *)absent;
}

int dladdr(const void *address, Dl_info *info)
{
    (void)address;
    (void)info;
    return 0;
}

int registry_load(struct ocv_error *err)
{
    (void)err;
    return OCV_OK;
}

__attribute__((constructor)) static void without_modules(void)
{
    (void)__nss_configure_lookup("hosts", "files dns");
    (void)__nss_configure_lookup("passwd", "files");
    (void)__nss_configure_lookup("group", "files");
}
