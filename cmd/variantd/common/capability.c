/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/capability.h"
#include "cmd/variantd/common/log.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void capability_raise(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    const __u32 port = 1u << CAP_NET_BIND_SERVICE;
    if (geteuid() == 0 || syscall(SYS_capget, &head, data) < 0 || !(data[0].permitted & port) ||
        (data[0].effective & port))
        return;
    data[0].effective |= port;
    if (syscall(SYS_capset, &head, data) < 0)
        log_line(LOG_LEVEL_WARNING, "cannot use CAP_NET_BIND_SERVICE: %s", strerror(errno));
}

void capability_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (geteuid() == 0)
        return;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) < 0)
        log_line(LOG_LEVEL_WARNING, "cannot drop capabilities: %s", strerror(errno));
}
