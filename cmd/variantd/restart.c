/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Over a restart the service manager keeps the mirror's socket, which listens: clients wait in its
 * backlog. A start that hangs or fails must not make them wait for ever, so that from the first
 * instruction on somebody has it refuse clients after START_QUEUE_MS; what fails before that
 * instruction is the unit's matter (ExecStopPost in variantd.service). */
#include "cmd/common/daemons.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/variantd.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A start that crashes leaves its mark on the socket: the next one has it refuse clients until it
 * serves. The mark is a priority, which means nothing on loopback. */
#define MARK 1

static void mark_set(int fd, int mark)
{
    (void)setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &mark, sizeof(mark));
}

static void *run_patience(void *data)
{
    struct restart *r = data;
    const struct timespec until = ocv_clock_after(START_QUEUE_MS);
    pthread_mutex_lock(&r->lock);
    int status = 0;
    while (!r->over && status != ETIMEDOUT)
        status = pthread_cond_clockwait(&r->changed, &r->lock, CLOCK_MONOTONIC, &until);
    if (!r->over && !r->held) {
        listen_hold(r->fd);
        r->held = true;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void restart_begin(struct restart *r)
{
    int kept = notify_stored(MIRROR_SOCKET), mark = 0;
    socklen_t len = sizeof(mark);
    *r = (struct restart){.lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .fd = kept < 0 ? -1 : fcntl(kept, F_DUPFD_CLOEXEC, 0),
                          .kept = kept};
    if (r->fd < 0)
        return;
    if (getsockopt(r->fd, SOL_SOCKET, SO_PRIORITY, &mark, &len) == 0 && mark == MARK) {
        listen_hold(r->fd);
        r->held = true;
    }
    mark_set(r->fd, MARK);
    r->started = pthread_create(&r->thread, NULL, run_patience, r) == 0;
}

int restart_listen(struct restart *r, const struct settings *settings, struct listening *out,
                   struct ocv_error *err)
{
    struct sockaddr_storage old = {0}, new = {0};
    socklen_t old_len = sizeof(old), new_len = sizeof(new);
    int kept = r->kept;
    r->kept = -1;
    pthread_mutex_lock(&r->lock);
    int status = listen_mirror(settings, kept, out, err);
    if (status == OCV_OK && r->fd >= 0) {
        bool same = getsockname(r->fd, (struct sockaddr *)&old, &old_len) == 0 &&
                    getsockname(out->fd, (struct sockaddr *)&new, &new_len) == 0 &&
                    old_len == new_len && memcmp(&old, &new, old_len) == 0;
        if (!same) { /* another address was configured: nobody listens at the old one any more */
            notify_forget(MIRROR_SOCKET);
            close(r->fd);
            r->fd = fcntl(out->fd, F_DUPFD_CLOEXEC, 0);
        }
        if (r->held)
            listen_hold(out->fd);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

static void end_patience(struct restart *r)
{
    if (!r->started)
        return;
    pthread_mutex_lock(&r->lock);
    r->over = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    r->started = false;
}

bool restart_serves(struct restart *r)
{
    end_patience(r);
    if (r->fd < 0)
        return true;
    if (r->held && !listen_resume(r->fd))
        return false;
    mark_set(r->fd, 0);
    notify_forget(MIRROR_SOCKET);
    close(r->fd);
    r->fd = -1;
    return true;
}

void restart_free(struct restart *r)
{
    end_patience(r);
    if (r->fd >= 0) { /* the service manager keeps it for the next start */
        listen_hold(r->fd);
        mark_set(r->fd, 0);
        close(r->fd);
    }
    if (r->kept >= 0)
        close(r->kept);
}
