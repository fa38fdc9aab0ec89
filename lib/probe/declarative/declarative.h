/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarative providers: one YAML file describes the devices of one namespace
 * (schema/provider.schema.json; plugins/providers/README.md). A file is read into a tree
 * of nodes that know their line, the tree is checked once, and probing walks the checked tree. */
#ifndef OCV_DECLARATIVE_H
#define OCV_DECLARATIVE_H

#include "lib/base/format/yaml.h"
#include "lib/probe/result/result.h"

#define OCV_DECLARATION_SCHEMA "dev.ocivariant.provider/v1"
#define OCV_DECLARATION_MAX (64u * 1024) /**< bytes of a file */
#define OCV_DECLARATIONS_MAX 256u        /**< files of a directory */

/** What a file may hold (lib/base/format/yaml.h). */
struct ocv_yaml_rule;
extern const struct ocv_yaml_rule ocv_declaration_rule;

/** A checked file. */
struct ocv_declaration {
    struct ocv_yaml *tree; /**< NULL: a shipped file whose devices are absent */
    const char *ns;        /**< these four are borrowed from the tree or constant */
    const char *name;
    const char *version;
    const char *replaces; /**< a provider's name, or NULL */
    char *source;         /**< the file's name */
    bool replaced;        /**< another file replaces it */
};

/** Check a text against the schema: an unknown key, a wrong type, a value outside its pattern is
 *  OCV_ERR_CONFIG with file and line. */
int ocv_declaration_read(const char *source, const char *text, size_t len,
                         struct ocv_declaration *out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_declaration_free(struct ocv_declaration *declaration);

struct ocv_declarations {
    struct ocv_declaration *items; /**< by directory, then file name */
    size_t n;
};

/** Add every *.yaml file of a directory, by name. A directory that is not there has none. With a
 * host, files that the build knew and that ask for nothing the host has stay without a tree. */
int ocv_declarations_load(struct ocv_declarations *set, const char *directory,
                          const struct ocv_probe_host *host, struct ocv_error *err) OCV_WARN_UNUSED;
/** For a probe: the shipped files, then the administrator's, with `replaces` applied; or the file
 * to check. `builtin` are the providers that are compiled in. Two providers for one namespace, a
 *  replaced name that does not exist or has another namespace: OCV_ERR_CONFIG. */
int ocv_declarations_open(const struct ocv_probe_options *options,
                          const struct ocv_probe_host *host, const struct provider *const *builtin,
                          size_t n_builtin, struct ocv_declarations *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** True if a file replaces that provider. */
bool ocv_declarations_replace(const struct ocv_declarations *set, const struct provider *provider);
void ocv_declarations_free(struct ocv_declarations *set);

/** What plugins/providers/index.c notes of a file. */
struct ocv_known_file {
    const char *text; /**< the whole file */
    size_t len;
    const char *ns, *name, *version;
    const char *vendors; /**< of PCI, hexadecimal, separated by spaces */
    const char *classes; /**< of sysfs */
    bool devicetree;     /**< has a rule for platform devices */
};

/** The file with these very bytes, or NULL. */
const struct ocv_known_file *ocv_known_file(const char *text, size_t len);
/** False if no rule of the file can fit a device of the host. */
bool ocv_known_file_concerns(const struct ocv_known_file *known, const struct ocv_probe_host *host);

/** The text that the first readable one of a file's sources gives; relative paths are of `dir`.
 *  False if there is none or it is not printable ASCII. `sources` may be NULL. */
bool ocv_source_read(const struct ocv_probe_host *host, const struct ocv_yaml *sources,
                     const char *dir, char *out, size_t size);
/** Cut a text to the version at its beginning, in lower case: digits and letters with single dots
 *  between. False if it does not begin with a digit. */
bool ocv_source_version(char *text);
/** Names of units of memory, ascending by 1024. NULL past the end. */
const char *ocv_source_units(size_t i);
/** A number (decimal, or hexadecimal with 0x) of such units (NULL: bytes) in bytes. False if it is
 *  malformed, zero, or too large. */
bool ocv_source_bytes(const char *text, const char *unit, uint64_t *out);

#define OCV_DECLARED_DEVICES_MAX 1024u /**< of one namespace */

/** One device that a rule matched. */
struct ocv_declared {
    char id[288];  /**< PCI address, else "CLASS/ENTRY" or "platform/NAME" */
    char dir[320]; /**< its directory in sysfs */
    const struct ocv_yaml *rule;
    const struct ocv_yaml *class_rule; /**< the sysfs rule that knows it too, or NULL */
    char class_dir[320];               /**< the class entry of that */
    const struct ocv_pci_device *pci;  /**< NULL where it is not PCI */
    bool driven;                       /**< a driver that the file names is bound */
    bool lost;                         /**< and it does not answer on the bus */
    bool split; /**< into virtual functions, none of which is left for this host */
};

struct ocv_declared_list {
    struct ocv_declared *items;
    size_t n;
};

/** Every device of the machine that the file's rules match, PCI ones by address first. */
int ocv_declaration_match(const struct ocv_declaration *declaration,
                          const struct ocv_probe_host *host, struct ocv_declared_list *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Fill a namespace. No device: it stays absent. */
int ocv_declaration_probe(const struct ocv_declaration *declaration,
                          const struct ocv_probe_host *host, struct ocv_result *result,
                          struct ocv_error *err) OCV_WARN_UNUSED;

/* What the two halves of matching share: PCI (match.c), directories of sysfs
 * (class.c). */

struct ocv_matcher {
    const struct ocv_declaration *declaration;
    const struct ocv_probe_host *host;
    struct ocv_declared_list *out;
    struct ocv_error *err;
};

/** A new device, all zero; NULL and a status where there are too many, or no memory. */
struct ocv_declared *ocv_match_append(const struct ocv_matcher *m, int *status);
/** True if a device with this driver (empty: none) can serve builds. */
bool ocv_match_driver(const struct ocv_matcher *m, const char *driver);
/** True if a rule wants this number, or does not mention it. `digits`: leading zeros included. */
bool ocv_match_hex(const struct ocv_yaml *want, unsigned value, int digits);
/** The first PCI rule that fits, or NULL. */
const struct ocv_yaml *ocv_match_pci_rule(const struct ocv_matcher *m,
                                          const struct ocv_pci_device *device);
/** Devices of a rule on a class or on the device tree; none for other rules. */
int ocv_match_directories(const struct ocv_matcher *m, const struct ocv_yaml *rule);

#endif
