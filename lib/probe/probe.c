/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile (schema/profile.schema.json): every provider is asked in turn, and one that fails
 * costs its own namespace only. */
#include "gen/datadir.h"
#include "gen/vocabulary.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/probe/executable/executable.h"
#include "lib/probe/providers/gpu.h"
#include "lib/probe/result/result.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define IDENTITY_MAX 256

static const struct provider *const providers[] = {
    &ocv_provider_x86_64,  &ocv_provider_aarch64, &ocv_provider_loongarch64, &ocv_provider_ppc64le,
    &ocv_provider_riscv64, &ocv_provider_s390x,   &ocv_provider_nvidia,      &ocv_provider_amd,
    &ocv_provider_intel,   &ocv_provider_vulkan,
};
#define N_PROVIDERS (sizeof(providers) / sizeof(*providers))

static const char *const status_names[] = {
    [OCV_RESULT_OK] = "ok",
    [OCV_RESULT_PARTIAL] = "partial",
    [OCV_RESULT_FAILED] = "failed",
    [OCV_RESULT_ABSENT] = "absent",
};

/* Text into an object; an empty or NULL text is left out. */
static int set_text(json_t *object, const char *key, const char *text, struct ocv_error *err)
{
    if (!text || !*text)
        return OCV_OK;
    return json_object_set_new(object, key, json_string(text)) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

/* Programs are for the card: an integrated GPU of another maker does not count beside it. */
static int yield_to_card(json_t *namespaces, const char *card, struct ocv_error *err)
{
    size_t i, k;
    json_t *ns, *device;
    char why[160];
    int status = OCV_OK;
    json_array_foreach(namespaces, i, ns)
    {
        const char *name = ocv_json_text(ns, "namespace");
        const char *source = ocv_json_text(json_object_get(ns, "provider"), "source");
        if (source && strcmp(source, "environment") == 0)
            continue; /* somebody wants it */
        snprintf(
            why, sizeof(why),
            "integrated, and does not count beside a card (%s); --device-policy %s=any counts it",
            card, name);
        json_array_foreach(json_object_get(ns, "devices"), k, device)
        {
            const char *integrated =
                ocv_json_text(json_object_get(device, "attributes"), "integrated");
            if (!integrated || strcmp(integrated, "true") != 0 ||
                json_is_true(json_object_get(device, "secondary")))
                continue;
            if (status == OCV_OK && json_object_set_new(device, "secondary", json_true()) < 0)
                status = ocv_error_nomem(err);
            if (status == OCV_OK)
                status = ocv_device_attribute(device, "reason", why, err);
        }
    }
    return status;
}

/* What all providers add to. */
struct answers {
    json_t *namespaces;
    const char *variant; /* of the platform */
    const char *card;    /* the first namespace with a card, or NULL */
};

/* Run one provider. */
static int ask_provider(const struct provider *provider, const struct ocv_probe_host *host,
                        struct answers *answers, struct ocv_error *err)
{
    struct ocv_error failure = {0};
    ocv_auto_json *features = json_array();
    ocv_auto_json *devices = json_array();
    struct ocv_result result = {
        .status = OCV_RESULT_ABSENT, .features = features, .devices = devices};
    int status;
    if (!features || !devices)
        return ocv_error_nomem(err);
    /* Where the files that name a sysroot's processor cannot be read, it is reported in the CPU
     * namespace of the running machine, which is the likeliest one. */
    struct utsname name;
    if (provider->cpu && host->cpuinfo_error.status < 0 && uname(&name) == 0 &&
        strcmp(name.machine, provider->ns) == 0)
        status = (failure = host->cpuinfo_error).status;
    else if (provider->declaration)
        status = ocv_declaration_probe(provider->declaration, host, &result, &failure);
    else
        status = provider->probe(host, &result, &failure);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    /* a machine has one architecture; five lines about others do not help */
    if (status == OCV_OK && result.status == OCV_RESULT_ABSENT &&
        (provider->cpu || provider->quiet))
        return OCV_OK;
    if (status < 0)
        result.status = OCV_RESULT_FAILED;
    if (result.variant)
        answers->variant = result.variant;
    /* the GPUs that a file describes are cards; the providers that are built in say so themselves
     */
    bool gpus = false;
    size_t i;
    json_t *device;
    for (i = 0; i < sizeof(ocv_vocabulary_gpu_namespaces) / sizeof(char *); i++)
        gpus = gpus || strcmp(ocv_vocabulary_gpu_namespaces[i], provider->ns) == 0;
    json_array_foreach(devices, i, device)
    {
        result.card = result.card || (provider->declaration && gpus &&
                                      !json_is_true(json_object_get(device, "secondary")));
    }
    if (!answers->card && result.card)
        answers->card = provider->ns;

    json_t *ns =
        json_pack("{s:s, s:{s:s, s:s}, s:s}", "namespace", provider->ns, "provider", "name",
                  provider->name, "kind", provider->kind, "status", status_names[result.status]);
    if (!ns || json_array_append_new(answers->namespaces, ns) < 0)
        return ocv_error_nomem(err);
    json_t *origin = json_object_get(ns, "provider");
    OCV_TRY(set_text(origin, "source", result.source, err));
    OCV_TRY(set_text(origin, "version", provider->version, err));
    OCV_TRY(set_text(ns, "error", status < 0 ? failure.message : result.note, err));
    OCV_TRY(set_text(ns, "driver", result.driver, err));
    if (result.guess && json_object_set_new(ns, "guess", json_true()) < 0)
        return ocv_error_nomem(err);
    if (json_object_set(ns, "features", features) < 0)
        return ocv_error_nomem(err);
    if (json_array_size(devices) && json_object_set(ns, "devices", devices) < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

/* The providers that are not built in. */
struct sources {
    struct ocv_declarations files;
    struct ocv_executables programs;
    bool check; /* the one file alone */
};

static int build_profile(const struct ocv_probe_host *host, const struct sources *sources,
                         json_t *profile, struct ocv_error *err)
{
    char hostname[IDENTITY_MAX], boot_id[IDENTITY_MAX], generated[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(generated, sizeof(generated), "%Y-%m-%dT%H:%M:%SZ", &tm);
    ocv_probe_host_identity(host, hostname, boot_id, IDENTITY_MAX);
    OCV_TRY(set_text(profile, "schema", "dev.ocivariant.profile/v1", err));
    OCV_TRY(set_text(profile, "generated", generated, err));
    OCV_TRY(set_text(profile, "hostname", hostname, err));
    OCV_TRY(set_text(profile, "boot_id", boot_id, err));
    if (host->pci_error.status != OCV_OK)
        OCV_TRY(set_text(profile, "pci_error", host->pci_error.message, err));

    ocv_auto_json *namespaces = json_array();
    struct answers answers = {.namespaces = namespaces, .variant = host->variant};
    if (!namespaces)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < N_PROVIDERS; i++)
        if (!sources->check && !ocv_declarations_replace(&sources->files, providers[i]) &&
            !ocv_executables_replace(&sources->programs, providers[i]->ns, providers[i]->name))
            OCV_TRY(ask_provider(providers[i], host, &answers, err));
    /* of most of the files' providers a machine has no device: `absent` reports them all the same
     */
    for (size_t i = 0; i < sources->files.n; i++) {
        const struct ocv_declaration *d = &sources->files.items[i];
        const struct provider provider = {.name = d->name,
                                          .ns = d->ns,
                                          .kind = "declarative",
                                          .version = d->version,
                                          .quiet = !sources->check,
                                          .declaration = d};
        if (d->tree && !d->replaced && !ocv_executables_replace(&sources->programs, d->ns, d->name))
            OCV_TRY(ask_provider(&provider, host, &answers, err));
    }
    if (answers.card)
        OCV_TRY(yield_to_card(namespaces, answers.card, err));
    OCV_TRY(ocv_executables_report(&sources->programs, namespaces, err));

    if (host->architecture) {
        json_t *platform =
            json_pack("{s:s, s:s}", "os", "linux", "architecture", host->architecture);
        if (!platform || json_object_set_new(profile, "platform", platform) < 0)
            return ocv_error_nomem(err);
        /* a 32-bit processor has instruction set flags, but 386 has no variants */
        if (strcmp(host->architecture, "386") != 0)
            OCV_TRY(set_text(platform, "variant", answers.variant, err));
    }
    return json_object_set(profile, "namespaces", namespaces) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

int ocv_probe(const struct ocv_probe_options *options, struct ocv_buffer *json,
              struct ocv_error *err)
{
    struct ocv_probe_host host;
    struct sources sources = {.check = options->check != NULL};
    json_t *profile = json_object();
    if (!profile)
        return ocv_error_nomem(err);
    int status = ocv_probe_host_open(options, &host, err);
    if (status == OCV_OK) {
        status = ocv_declarations_open(options, &host, providers, N_PROVIDERS, &sources.files, err);
        if (status == OCV_OK)
            status = ocv_executables_open(options, &host, &sources.files, providers, N_PROVIDERS,
                                          &sources.programs, err);
        if (status == OCV_OK)
            status = build_profile(&host, &sources, profile, err);
        if (status == OCV_OK && options->describe)
            status = ocv_pci_describe(
                &host, options->datadir ? options->datadir : OCV_DEFAULT_DATADIR, profile, err);
        ocv_probe_host_close(&host);
    }
    ocv_executables_free(&sources.programs);
    ocv_declarations_free(&sources.files);
    if (status == OCV_OK)
        status = ocv_pretty_append(profile, 0, json, err);
    if (status == OCV_OK)
        status = ocv_buffer_append(json, "\n", 1, err);
    json_decref(profile);
    return status;
}

int ocv_probe_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *names,
                         struct ocv_error *err)
{
    struct ocv_probe_host host;
    struct ocv_declarations files = {0};
    OCV_TRY(ocv_probe_host_open(options, &host, err));
    int status = ocv_declarations_open(options, &host, providers, N_PROVIDERS, &files, err);
    for (size_t i = 0; i < files.n && status == OCV_OK; i++)
        status = ocv_buffer_printf(names, err, "%s\n", files.items[i].ns);
    ocv_declarations_free(&files);
    ocv_probe_host_close(&host);
    return status;
}
