/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one capability that the daemon may have: to listen on a port below 1024. */
#ifndef VARIANTD_CAPABILITY_H
#define VARIANTD_CAPABILITY_H

/** Put CAP_NET_BIND_SERVICE into effect where the program's file has it as permitted only (`setcap
 * cap_net_bind_service=p`: such a program starts also where the capability is not available). Does
 * nothing otherwise, or for root. Call before threads are started. */
void capability_raise(void);
/** Give up all of them, before threads and programs come that would have them. Root stays root. */
void capability_drop(void);

#endif
