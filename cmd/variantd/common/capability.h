/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The only capability that the daemon may have: to listen on a port below 1024. */
#ifndef VARIANTD_CAPABILITY_H
#define VARIANTD_CAPABILITY_H

/** Raise CAP_NET_BIND_SERVICE if the program file has it as permitted only (`setcap
 *  cap_net_bind_service=p`: such a program also starts where the capability is not available). Does
 *  nothing otherwise, or for root. Call before threads are started. */
void capability_raise(void);
/** Drop all capabilities. Call before starting threads and programs, which would inherit them. Root
 *  keeps its own. */
void capability_drop(void);

#endif
