/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verbs.h"

static const struct verb all[] = {
    {"probe", "what this machine, or a recorded one, can run", cmd_probe},
    {"resolve", "choose in an index, as JSON for programs", cmd_resolve},
    {"explain", "choose in an index, as a table for people", cmd_resolve},
    {"coverage", "which machines of a fleet get which variant", cmd_coverage},
    {"match", "which nodes of a fleet run a job, all with one build", cmd_match},
    {"export", "what this machine supports, as schedulers take it", cmd_export},
    {"fleet", "pack the profiles of a fleet, generate one for tests", cmd_fleet},
    {"index", "make, edit, show, compare and copy indexes with variants", cmd_index},
    {"derive", "what an image can run on, by the code in it", cmd_derive},
    {"slim", "make variants with the code of one GPU each, of an image with all", cmd_slim},
    {"claim", "Kubernetes and Slurm requirements of an image", cmd_claim},
    {"lint", "check indexes, their images and tags", cmd_lint},
    {"tags", "read published tags by rule files: parse, plan, check", cmd_tags},
    {"lock", "record the digest that each machine gets of each image", cmd_lock},
    {"vocabulary", "what properties mean, and which provider gives them", cmd_vocabulary},
    {"images", "the images here that have variants, and what to do", cmd_images},
    {"verify", "check that the images on this node still fit it", cmd_verify},
    {"setup", "have containerd, Docker, podman or CRI-O ask variantd", cmd_setup},
    {NULL, NULL, NULL},
};

static const struct verb_elsewhere elsewhere[] = {
    {"pull", "vpull IMAGE pulls the variant that fits"},
    {"ls", "variantctl index show IMAGE lists what an index holds"},
    {"list", "variantctl index show IMAGE lists what an index holds"},
    {"inspect", "variantctl index show IMAGE lists what an index holds"},
    {"show", "variantctl index show"},
    {"create", "variantctl index create"},
    {"add", "variantctl index add"},
    {"rm", "variantctl index remove"},
    {"remove", "variantctl index remove"},
    {"annotate", "variantctl index annotate"},
    {"diff", "variantctl index diff"},
    {"copy", "variantctl index copy"},
    {"push", "variantctl index copy"},
    {"parse", "variantctl tags parse"},
    {"plan", "variantctl tags plan"},
    {"check", "variantctl lint IMAGE checks an index, variantctl tags check a rule file"},
    {NULL, NULL},
};

static const char registry_help_end[] =
    "\n"
    "Credentials are those of docker and podman (docker login); other settings of a\n"
    "registry are in the configuration, under `registries`.\n"
    "\n"
    "Examples:\n"
    "  vpull --tls-verify=false registry.example/app:1.0\n"
    "  variantctl index show --insecure registry.example registry.example/app:1.0\n"
    "  printf 'user:password' | vpull --creds-stdin registry.example/app:1.0\n";

static void print_registry_help(void)
{
    struct ocv_options options = {0};
    ocv_options_add(&options, cli_registry_options, NULL);
    puts("Options of every command that uses a registry, vpull and variantctl:\n");
    ocv_options_print(&options, stdout);
    fputs(registry_help_end, stdout);
}

static void print_machine_help(void)
{
    puts("Options of every command that chooses for a machine, vpull and variantctl:\n");
    cli_print_machine_help();
    puts("\n"
         "All but --platform are also keys of the configuration. 'variantctl probe' shows the\n"
         "devices and properties of a machine; 'variantctl vocabulary' explains them.\n"
         "\n"
         "Examples:\n"
         "  vpull --dry-run --device-policy nvidia=any registry.example/app:1.0\n"
         "  variantctl explain --override nvidia::sm_arch=90_real registry.example/app:1.0\n"
         "  variantctl resolve --platform linux/arm64 registry.example/app:1.0");
}

static const struct verb_topic topics[] = {
    {"registry", "options of commands that use registries", print_registry_help},
    {"machine", "options of commands that choose for a machine", print_machine_help},
    {NULL, NULL, NULL},
};

static const char end[] =
    "\n"
    "Options:\n"
    "  -h, --help, --version\n"
    "\n"
    "Run 'variantctl help VERB' for a verb's own options, 'variantctl help registry'\n"
    "for those of all that use registries, 'variantctl help machine' for those of all\n"
    "that choose, 'variantctl VERB --help-all' for everything.\n"
    "\n"
    "Examples:\n"
    "  variantctl probe\n"
    "  variantctl explain registry.example/app:1.0\n"
    "  variantctl index show registry.example/app:1.0\n";

int main(int argc, char **argv)
{
    const struct verbs verbs = {
        .usage = "Usage: variantctl VERB [OPTIONS]\n\n"
                 "Choose the image that was built for this machine, and see why.\n\nVerbs:\n",
        .list = all,
        .end = end,
        .elsewhere = elsewhere,
        .topics = topics,
    };
    struct cli cli;
    cli_init(&cli, "variantctl");
    return cli_quit(&cli, verbs_run(&cli, &verbs, argc, argv));
}
