/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace amd, what its files and tests share. A target is written as KFD writes it,
 * 10000 * major + 100 * minor + stepping: 90402 is gfx942. */
#ifndef OCV_AMD_H
#define OCV_AMD_H

#include "lib/probe/providers/gpu.h"

#define OCV_KFD_PROPERTIES_MAX 16384u /**< bytes of a file of a node; the kernel: a page */
#define OCV_KFD_NODES_MAX 1024u       /**< entries of the topology's directory that are looked at */
#define OCV_KFD_BANKS_MAX 16u         /**< memory banks of a node */

enum {
    OCV_AMD_INTEGRATED = 1 << 0, /**< shares a package with the processor, and its memory */
    OCV_AMD_COMPUTE = 1 << 1,    /**< built for computing: comes before graphics cards */
    OCV_AMD_SRAMECC = 1 << 2,    /**< code for it may depend on SRAM ECC */
    OCV_AMD_XNACK = 1 << 3,      /**< code for it may depend on XNACK */
    OCV_AMD_RETRY = 1 << 4,      /**< the driver turns XNACK on by default */
    OCV_AMD_UNSETTLED = 1 << 5,  /**< that differs between kernels or steppings */
    OCV_AMD_NO_RETRY = 1 << 6,   /**< KFD never turns XNACK on */
};

/** Name as compilers write it, "gfx942". False if no such target can exist. */
bool ocv_amd_name(unsigned target, char *out, size_t size);
/** Generic target that covers it, as a property value ("gfx9_4_generic"), or NULL. */
const char *ocv_amd_generic(unsigned target);
/** The same of a name as compilers write it, "gfx942". */
const char *ocv_amd_generic_of(const char *name);
/** OCV_AMD_* of a target, 0 if it is not in the table. */
unsigned ocv_amd_traits(unsigned target);
/** Target of a graphics core's IP version and of a PCI device; 0 if unknown. */
unsigned ocv_amd_of_ip(uint64_t major, uint64_t minor, uint64_t revision);
unsigned ocv_amd_of_device(uint16_t device, bool *guess);

struct ocv_kfd_node {
    unsigned number;
    unsigned target; /**< 0: the kernel is too old to say */
    uint32_t device;
    uint32_t domain;
    uint32_t location; /**< bus << 8 | device << 3 | function or partition */
    uint64_t capability;
    bool has_capability; /**< the kernel showed it */
    uint64_t unique_id;
    uint64_t memory; /**< bytes, 0 unknown */
    bool with_cpu;   /**< the node is a processor as well */
};

struct ocv_kfd {
    bool present; /**< the kernel has a topology */
    struct ocv_kfd_node *nodes;
    size_t n;      /**< nodes with an AMD GPU, by number */
    size_t hidden; /**< nodes that may not be read */
    size_t broken; /**< nodes that make no sense */
};

/** Read `properties` of a node. 1: a GPU of AMD; 0: no such GPU; -1: makes no sense. */
int ocv_kfd_parse(const char *text, size_t len, struct ocv_kfd_node *out);
/** Read the topology; a node that cannot be read costs that node only. */
int ocv_kfd_read(const struct ocv_probe_host *host, struct ocv_kfd *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_kfd_free(struct ocv_kfd *kfd);

#define OCV_AMD_GPUS_MAX 256u /**< GPUs of a machine; more are not looked at */

/** Why a GPU serves no build. */
enum ocv_amd_state {
    OCV_AMD_USABLE,
    OCV_AMD_UNKNOWN,      /**< no target is known for it */
    OCV_AMD_NO_DRIVER,    /**< amdgpu is not bound */
    OCV_AMD_OTHER_DRIVER, /**< something else is */
    OCV_AMD_NOT_IN_KFD,   /**< amdgpu is, but computing is refused */
    OCV_AMD_NO_KFD,       /**< amdgpu is, and the kernel has no KFD */
    OCV_AMD_LOST,         /**< amdgpu is, and it does not answer on the bus */
};

struct ocv_amd_gpu {
    char address[24];
    const struct ocv_pci_device *pci; /**< NULL: not on the PCI bus that is seen here */
    const struct ocv_kfd_node *node;  /**< first node, or NULL */
    uint16_t device;                  /**< PCI id */
    unsigned nodes;                   /**< partitions, 1 if there are none */
    unsigned target;                  /**< 0 unknown */
    char name[16];                    /**< of the target, or empty */
    enum ocv_amd_state state;
    uint64_t memory;
    unsigned index; /**< by PCI address */
    bool integrated;
    bool guess; /**< target from a table's range */
    bool secondary;
};

struct ocv_amd_machine {
    struct ocv_kfd kfd;
    bool node;  /**< of the whole node: what the cgroup keeps from this process counts */
    bool whole; /**< the kernel's modules are seen: what they do not show is not there */
    struct ocv_amd_gpu gpus[OCV_AMD_GPUS_MAX]; /**< most capable first */
    size_t n;
    size_t usable;
    bool card; /**< one that is usable is not integrated */
};

int ocv_amd_scan(const struct ocv_probe_host *host, struct ocv_amd_machine *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/** Why a GPU that is not usable serves no build. */
void ocv_amd_reason(const struct ocv_amd_machine *m, const struct ocv_amd_gpu *gpu, char *out,
                    size_t size);
/** Set the namespace's status and its note. */
void ocv_amd_set_status(const struct ocv_probe_host *host, const struct ocv_amd_machine *m,
                        struct ocv_result *result);

struct ocv_rocm_version {
    unsigned major, minor; /**< major 0: none */
};

/** "6.4.1-83" and the like. */
bool ocv_rocm_parse(const char *text, struct ocv_rocm_version *out);
/** Version of the ROCm tree: $ROCM_PATH (of this machine only), /opt/rocm, the newest /opt/rocm-*.
 */
struct ocv_rocm_version ocv_rocm_read(const struct ocv_probe_host *host);
/** Add rocm_version and rocm_version_lower_bound. */
int ocv_rocm_add(struct ocv_result *result, struct ocv_rocm_version version,
                 struct ocv_error *err) OCV_WARN_UNUSED;

#define OCV_AMD_USER_SPACES_MAX 160u /**< versions of ROCm that are listed */

/** A kernel driver, and which ROCm it is for. */
struct ocv_amd_driver {
    const char *release; /**< "30.10"; NULL: not known */
    struct ocv_rocm_version oldest, tested;
    bool own;   /**< AMD's package, which has versions of its own; else the kernel's */
    bool guess; /**< no source names this version */
};

/** Driver of the machine, by sys/module/amdgpu/version. */
struct ocv_amd_driver ocv_amd_driver(const struct ocv_probe_host *host);
/** The same by that text; NULL: the driver of the kernel, which shows none. */
struct ocv_amd_driver ocv_amd_driver_of(const char *version);
/** True if user spaces that run on other GPUs do not run on this target. */
bool ocv_amd_bounded(const struct ocv_amd_driver *driver, unsigned target);
/** Versions of ROCm that a container may bring, best first: what was tested with the driver from
 * the newest down, then newer ones. Target 0: of any GPU. Returns how many. */
size_t ocv_amd_user_spaces(const struct ocv_amd_driver *driver, unsigned target,
                           struct ocv_rocm_version out[OCV_AMD_USER_SPACES_MAX]);

#endif
