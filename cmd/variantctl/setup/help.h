/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `variantctl setup --help` prints. */
#ifndef OCV_SETUP_HELP_H
#define OCV_SETUP_HELP_H

/** Of the verb, and of `setup ENGINE`. */
extern const char setup_help[], setup_help_containerd[], setup_help_docker[], setup_help_podman[],
    setup_help_crio[];

#endif
