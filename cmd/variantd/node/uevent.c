/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/node/node.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 8192 /* the kernel's own limit is 2048 of environment and a path */

/* Subsystems whose events are frequent and never concern accelerators. Events of any other
 * subsystem count: which classes vendors use is not known here. */
static const char *const noise[] = {
    "net",       "queues",    "block",  "bdi",       "tty",    "vc",        "input",        "hid",
    "mem",       "usb",       "sound",  "backlight", "leds",   "thermal",   "power_supply", "scsi",
    "bluetooth", "workqueue", "cgroup", "slab",      "rfkill", "ieee80211", "vtconsole",
};

static const char *value_of(const char *message, size_t len, const char *key)
{
    size_t n = strlen(key);
    for (size_t at = 0; at < len; at += strnlen(message + at, len - at) + 1)
        if (len - at > n && memcmp(message + at, key, n) == 0)
            return message + at + n;
    return NULL;
}

bool uevent_matters(const char *message, size_t len, char *why, size_t size)
{
    if (len == 0 || message[len - 1] != '\0')
        return false;
    const char *action = value_of(message, len, "ACTION=");
    const char *subsystem = value_of(message, len, "SUBSYSTEM=");
    const char *path = value_of(message, len, "DEVPATH=");
    if (!action || !subsystem || !path)
        return false;
    for (size_t i = 0; i < sizeof(noise) / sizeof(*noise); i++)
        if (strcmp(subsystem, noise[i]) == 0)
            return false;
    const char *name = strrchr(path, '/');
    snprintf(why, size, "uevent: %.16s %.32s %.64s", action, subsystem, name ? name + 1 : path);
    return true;
}

int uevent_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

bool uevent_read(int fd, char *why, size_t size)
{
    char message[MESSAGE_MAX + 1];
    bool matters = false;
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t from_len = sizeof(from);
        ssize_t len =
            recvfrom(fd, message, MESSAGE_MAX, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno == ENOBUFS) { /* events were lost: assume that they matter */
            snprintf(why, size, "uevent: too many to follow");
            matters = true;
            continue;
        }
        if (len <= 0)
            return matters;
        if (from.nl_pid != 0) /* only messages of the kernel count */
            continue;
        message[len] = '\0';
        if (!matters)
            matters = uevent_matters(message, (size_t)len + 1, why, size);
    }
}
