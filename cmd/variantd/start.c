/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/instance/instance.h"
#include "cmd/variantd/node/node.h"
#include "cmd/variantd/variantd.h"
#include "lib/base/cleanup.h"
#include "lib/internal/records/records.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void daemon_log_choose(const struct ocv_config *config)
{
    static const char *const means[] = {
        [OCV_CHOOSE_SHADOW] = "variants are resolved, logged and counted, and not served",
        [OCV_CHOOSE_OFF] = "variants are not resolved"};
    enum ocv_choose choose = ocv_config_choose(config);
    if (choose != OCV_CHOOSE_ON)
        log_line(LOG_LEVEL_WARNING, "choose is %s: %s", ocv_choose_name(choose), means[choose]);
    for (int i = OCV_CHOOSE_ON; i <= OCV_CHOOSE_OFF; i++)
        if (i != (int)choose &&
            ocv_config_any_repository(config, "choose", ocv_choose_name((enum ocv_choose)i)))
            log_line(LOG_LEVEL_INFO, "choose is %s for some repositories",
                     ocv_choose_name((enum ocv_choose)i));
}

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount" /* as in every pod */

/* Raise CAP_NET_BIND_SERVICE if the program file has it as permitted only (`setcap
 * cap_net_bind_service=p`: such a program also starts where the capability is not available). */
static void capability_raise(void)
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

/* Before threads and programs are started, which would inherit them. Root keeps its own. */
static void capability_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (geteuid() == 0)
        return;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) < 0)
        log_line(LOG_LEVEL_WARNING, "cannot drop capabilities: %s", strerror(errno));
}

int daemon_start(struct daemon *d, struct ocv_error *err)
{
    ocv_auto(settings) settings = NULL;
    ocv_auto(instance) instance = NULL;
    struct listening mirror = {.fd = -1};
    int unix_fd = -1;
    OCV_TRY(notify_listen_socket(&unix_fd, err));
    OCV_TRY(daemon_read_settings(d, &settings, err));
    log_setup(settings->log_json, d->cli.verbose, settings->access_log);
    /* what is recorded without its repository would speak for any */
    size_t n = ocv_record_discard_old(settings->records);
    if (n)
        log_line(
            LOG_LEVEL_INFO,
            "%zu records of an earlier version are discarded, as they do not name a repository: %s",
            n, settings->records);
    /* Hooks, verify and the review after a driver's change know only what is recorded. */
    int fault = settings_records_fault(settings);
    if (fault)
        log_line(LOG_LEVEL_WARNING,
                 "choices are not recorded: cannot write to %s: %s; state_dir names another "
                 "directory, and a service needs it as StateDirectory=",
                 settings->records, strerror(fault));
    OCV_TRY(metrics_new(&d->metrics, err));
    capability_raise();
    OCV_TRY(restart_listen(&d->restart, settings, &mirror, err));
    ocv_auto_fd int fd = mirror.fd;
    capability_drop();
    OCV_TRY(instance_new(ocv_steal(&settings), d->metrics, NULL, &instance, err));
    OCV_TRY(unknown_names(instance, NULL, err));
    metrics_config_read(d->metrics, true);
    mirror.fd = ocv_fd_steal(&fd);
    OCV_TRY(server_new(ocv_steal(&instance), d->metrics, &mirror, unix_fd, &d->server, err));
    if (!restart_serves(&d->restart))
        return ocv_error_set(err, OCV_ERR_IO, "cannot listen on %s: %s", mirror.address,
                             strerror(errno));
    const struct taint_options taints = {.account = ACCOUNT,
                                         .key = d->startup_taint,
                                         .after_ms = d->taint_after_ms,
                                         .metrics = d->metrics};
    if (d->startup_taint)
        OCV_TRY(taint_remover_new(&taints, &d->taints, err));
    return d->announce ? announcer_new(ACCOUNT, &d->announcer, err) : OCV_OK;
}
