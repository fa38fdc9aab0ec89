/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether variants are chosen (`choose`), for all images or for those of a repository. */
#ifndef OCV_CONFIG_CHOOSE_H
#define OCV_CONFIG_CHOOSE_H

#include "lib/internal/config/config.h"

/** From most to least. */
enum ocv_choose {
    OCV_CHOOSE_ON,
    OCV_CHOOSE_SHADOW, /**< resolve, log and count; answer as for an ordinary image */
    OCV_CHOOSE_OFF     /**< do not even resolve */
};

const char *ocv_choose_name(enum ocv_choose choose);
/** The mode of that name; `on` for NULL and for any other text. */
enum ocv_choose ocv_choose_of(const char *name);
/** What `choose` says in a configuration (NULL: on); in one of ocv_config_for_reference, for the
 *  images of that repository. */
enum ocv_choose ocv_config_choose(const struct ocv_config *config);
/** The same for a reference as text; NULL or malformed: for all images. */
enum ocv_choose ocv_config_choose_text(const struct ocv_config *config, const char *reference);

/** Whether each pod may get its own build (`workload` of a repository). */
enum ocv_workload { OCV_WORKLOAD_OFF, OCV_WORKLOAD_ANNOTATIONS, OCV_WORKLOAD_DEVICES };

/** What a configuration of ocv_config_for_reference says; off for any other, and where `choose` is
 *  not on. */
enum ocv_workload ocv_config_workload(const struct ocv_config *config);

#endif
