/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace nvidia, what its files and tests share. The machine is looked at (scan.c, tegra.c),
 * NVIDIA's libraries correct what was seen if they are asked (nvml.c, merge.c), it is decided what
 * counts (state.c) and whether its driver drives it (driven.c), and the namespace is written
 * (nvidia.c, sm.c). */
#ifndef OCV_NVIDIA_H
#define OCV_NVIDIA_H

#include "lib/probe/result/result.h"

#define OCV_NVIDIA_GPUS_MAX 256u /**< GPUs of a machine; more are not looked at */
#define OCV_NVIDIA_SM_MIN 50u    /**< compute capability 5.0: below it the provider lists nothing */
#define OCV_NVIDIA_CUDA_MIN 11u  /**< CUDA majors of the published provider's lists */
#define OCV_NVIDIA_CUDA_MAX 15u
#define OCV_NVIDIA_MINOR_MAX 20u
#define OCV_NVIDIA_TEXT_MAX 96u /**< longest name or UUID that NVML gives, with its NUL */

struct ocv_cuda_version {
    unsigned major, minor; /**< major 0: unknown */
};

/** Compute capability of a PCI device as 10 * major + minor, 0 if unknown. `*guess`: by the block
 *  of ids that a chip was given, not by its own. */
unsigned ocv_nvidia_sm(uint16_t device, bool *guess);
/** True for a capability that only GPUs on the chip of a processor have. */
bool ocv_nvidia_integrated(unsigned sm);
/** The CUDA version that a driver for desktops and servers supports. `*newer`: the driver is newer
 *  than the table, whose newest entry is given. */
struct ocv_cuda_version ocv_nvidia_cuda(unsigned driver_major, bool *newer);
/** True for a GPU that NVIDIA makes for data centres: it may run the user space of a newer driver
 *  than its own (package cuda-compat). */
bool ocv_nvidia_data_centre(uint16_t device, unsigned sm);
/** The driver's branch: of its version, or where that is unknown (0), of the CUDA version that it
 *  supports. 0 where it is older than the table. */
unsigned ocv_nvidia_branch(unsigned driver_major, struct ocv_cuda_version cuda);
/** The i-th branch whose user space runs on a driver of `branch`, 0 past the last: its own and
 * older ones downwards, then newer ones upwards, which only data-centre GPUs run. */
unsigned ocv_nvidia_user_space(unsigned branch, bool data_centre, size_t i);
/** The driver branches that run GPUs of a compute capability: the first and the last one, 0 where
 *  no driver that the lists are made for is too old or too new. */
void ocv_nvidia_branches(unsigned sm, unsigned *first, unsigned *last);

/** What programs can do with a GPU. */
enum ocv_nvidia_state {
    OCV_NVIDIA_USABLE,
    OCV_NVIDIA_NO_CODE, /**< driven, but nothing is listed for its kind: unknown, or too old */
    /* no CUDA program of this machine runs on what follows */
    OCV_NVIDIA_OTHER_DRIVER,   /**< bound to a driver that is not known to compute */
    OCV_NVIDIA_EXCLUDED,       /**< NVIDIA's driver was configured to leave it out */
    OCV_NVIDIA_NOT_LOADED,     /**< no NVIDIA driver is loaded */
    OCV_NVIDIA_VGPU_HOST,      /**< the driver is the vGPU manager's */
    OCV_NVIDIA_MISMATCH,       /**< its libraries are of another version */
    OCV_NVIDIA_DRIVER_TOO_OLD, /**< for any CUDA version that is listed */
    OCV_NVIDIA_DRIVER_TOO_NEW,
    OCV_NVIDIA_GPU_TOO_NEW, /**< for the driver */
    OCV_NVIDIA_GPU_TOO_OLD,
    OCV_NVIDIA_UNBOUND,
    OCV_NVIDIA_HIDDEN, /**< NVIDIA's library does not show it */
    OCV_NVIDIA_LOST,   /**< it does not answer on the bus */
};

struct ocv_nvidia_gpu {
    const struct ocv_pci_device *pci; /**< NULL where the bus does not show it */
    char id[24];                      /**< PCI address, "tegra", or "gpuN" */
    char name[OCV_NVIDIA_TEXT_MAX];
    char uuid[OCV_NVIDIA_TEXT_MAX];
    char virtualization[16]; /**< "passthrough", "vgpu", ...; empty: none, or unknown */
    uint64_t memory;         /**< bytes, 0 unknown */
    unsigned sm;             /**< 0 unknown */
    unsigned index;          /**< by PCI address */
    int mig;                 /**< 1 on, 0 off, -1 unknown */
    unsigned mig_instances;
    char mig_uuids[512]; /**< of the instances, ", " between them */
    bool guess;          /**< sm comes from a range of ids */
    bool integrated;
    bool driven;   /**< a driver for CUDA has it, as far as files show */
    bool excluded; /**< the driver leaves it out */
    bool shown;    /**< NVIDIA's library shows it */
    bool hidden;   /**< it shows others and not this one */
    bool lost;     /**< it does not answer on the bus */
    enum ocv_nvidia_state state;
    bool secondary;
};

struct ocv_nvidia_machine {
    struct ocv_nvidia_gpu *gpus; /**< room for OCV_NVIDIA_GPUS_MAX */
    size_t n;
    char driver[64]; /**< version of the kernel's module, empty if unknown */
    bool loaded;     /**< a driver for CUDA is loaded, be its version known or not */
    struct ocv_cuda_version cuda;
    bool newer;       /**< the driver is newer than what is known */
    bool tegra;       /**< a Tegra: Jetson, IGX, Drive */
    bool wsl;         /**< Windows Subsystem for Linux 2 */
    char library[64]; /**< version of the driver's libraries that are installed, or empty */
    bool denied;      /**< this user may not open the driver's device */
    bool vgpu_host;   /**< the driver lends GPUs to virtual machines */
    bool answered;    /**< NVIDIA's library showed a GPU */
    bool mismatch;    /**< it says that the module is of another version */
    bool force_driver, force_code; /**< the environment says what the driver, what GPUs can do */
    unsigned virtual_functions;    /**< of SR-IOV, which belong to virtual machines */
    const char *source;            /**< "sysfs", "device-tree", "nvml", "libcuda" */
    char trouble[240]; /**< what NVIDIA's libraries could not find out, for an operator */
};

/** Look at files. OCV_ERR_NOMEM only. */
int ocv_nvidia_scan(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The GPU of a Tegra, and the CUDA version of its release (tegra.c). */
void ocv_nvidia_scan_tegra(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m);
/** Instances of a GPU in MIG mode (mig.c); `minor` is the number of its device node. */
void ocv_nvidia_scan_mig(const struct ocv_probe_host *host, unsigned minor,
                         struct ocv_nvidia_gpu *gpu);
/** A new GPU at the end, NULL when there is no room. */
struct ocv_nvidia_gpu *ocv_nvidia_add_gpu(struct ocv_nvidia_machine *m, const char *id);
/** Decide which GPUs count and put them in order: what counts first, most capable first. */
void ocv_nvidia_rank(struct ocv_nvidia_machine *m);
/** Why no GPU of the machine runs CUDA programs, OCV_NVIDIA_USABLE if the driver is not the reason.
 */
enum ocv_nvidia_state ocv_nvidia_driver_state(const struct ocv_nvidia_machine *m);
/** True where no CUDA program of this machine runs on the GPU: it must never count. */
bool ocv_nvidia_barred(const struct ocv_nvidia_gpu *gpu);
/** Why that is, and what to do about it: a sentence without the GPU's name; empty otherwise. */
void ocv_nvidia_why(const struct ocv_nvidia_machine *m, const struct ocv_nvidia_gpu *gpu, char *out,
                    size_t size);
/** Set the status and the note for operators. */
void ocv_nvidia_set_status(const struct ocv_nvidia_machine *m, struct ocv_result *result);

#define OCV_NVML_OUTPUT_MAX (512u * 1024) /**< bytes of nvml-query's answer */
#define OCV_NVML_DEVICES_MAX OCV_NVIDIA_GPUS_MAX
#define OCV_NVML_MIG_MAX 16u /**< instances of a GPU */

/** A call that failed. */
struct ocv_nvml_failure {
    char call[64]; /**< empty: none failed */
    char name[48]; /**< of the code, "LIB_RM_VERSION_MISMATCH" */
    long code;
};

struct ocv_nvml_device {
    struct ocv_nvidia_gpu gpu;       /**< id: PCI address as the kernel writes it, or empty */
    bool readable;                   /**< there was a handle for it */
    struct ocv_nvml_failure failure; /**< the first one among those that matter */
};

struct ocv_nvml_answer {
    bool cuda_library; /**< libcuda answered, not NVML */
    bool none;         /**< neither library is installed */
    bool compat;       /**< the CUDA version is that of a forward compatibility package */
    bool counted;      /**< the libraries reported the number of GPUs */
    char driver[64];
    struct ocv_cuda_version cuda;
    char hung[64];    /**< the call that did not return, or empty */
    unsigned time_ms; /**< that all calls together had */
    struct ocv_nvml_failure failure;
    struct ocv_nvml_device *devices;
    size_t n;
};

/** Read nvml-query's answer. Not one: OCV_ERR_DATA. */
int ocv_nvml_parse(const char *text, size_t len, struct ocv_nvml_answer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_nvml_free(struct ocv_nvml_answer *answer);
/** Run nvml-query. */
int ocv_nvml_ask(const struct ocv_probe_host *host, struct ocv_nvml_answer *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Correct what was seen by what the libraries say. */
void ocv_nvidia_merge(struct ocv_nvidia_machine *m, const struct ocv_nvml_answer *answer);

/** Add both lists of CUDA versions. */
int ocv_nvidia_add_cuda(struct ocv_result *result, struct ocv_cuda_version cuda,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Add sm_arch to the namespace, or to `device` if it is not NULL. Below the minimum: nothing. A
 *  `guess` says nothing of code for one chip or family only. */
int ocv_nvidia_add_sm(struct ocv_result *result, json_t *device, unsigned sm, bool guess,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Add forward_compatibility to the namespace, or to `device` if it is not NULL. */
int ocv_nvidia_add_user_spaces(struct ocv_result *result, json_t *device, unsigned branch,
                               bool data_centre, struct ocv_error *err) OCV_WARN_UNUSED;
/** Values of the overriding environment variables; false if malformed. */
bool ocv_nvidia_force_cuda(const char *text, struct ocv_cuda_version *out);
bool ocv_nvidia_force_sm(const char *text, unsigned *out);

#endif
