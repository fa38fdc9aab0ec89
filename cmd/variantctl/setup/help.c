/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup --help, and of each engine. */
#include "cmd/variantctl/setup/help.h"

#include "cmd/common/cli.h"

/* Options of every engine. */
#define SETUP_HELP                                                                       \
    "  --dry-run                print a diff, change nothing\n"                          \
    "  --status                 0: it works; 5: variantd does not answer or lacks the\n" \
    "                           registry, or a file is not as it was written\n"          \
    "  --uninstall              leave every file as it was; where others changed one\n"  \
    "                           since, take out only what the set-up put there\n"        \
    "  --format text|json       of --status\n"                                           \
    "  --listen HOST:PORT       where variantd listens (configuration `listen`)\n"       \
    "  --engine-version V       do not ask the program for its version\n"                \
    "  --root DIR               change the tree under DIR (image builders)\n"

const char setup_help[] =
    "Usage: variantctl setup containerd|docker|podman|crio [OPTIONS]\n"
    "       variantctl setup [ENGINE] --status|--uninstall\n"
    "\n"
    "Write the configuration that makes an engine ask variantd for tags. What is\n"
    "there is kept and backed up; a second run with other options changes the first\n"
    "one's result. --status and --uninstall without an engine: all that are set up.\n"
    "\n"
    "Options ('variantctl setup ENGINE --help' says more of one):\n"
    "  --registry HOST[:PORT]   for this registry; again for more\n"
    "  --fail-closed            never pull past variantd (containerd, podman, CRI-O)\n"
    "  --config-dir DIR, --engine-config FILE   where the engine's files are\n"
    "  --store classic|containerd   Docker's image store, if it is not found\n" SETUP_HELP
        CLI_COMMON_HELP "\n"
    "A mirrored tag always means this machine's platform: engines do not pass on\n"
    "--platform or `skopeo copy --all`. For another platform use a digest, vpull\n"
    "--platform or --label, or variantd's /raw/. An engine that also builds starts\n"
    "from images for this machine: variants, and with `cpu_levels: on` amd64 levels.\n"
    "\n"
    "Examples:\n"
    "  sudo variantctl setup docker --registry docker.io --dry-run\n"
    "  sudo variantctl setup podman --registry registry.example\n"
    "  sudo variantctl setup --status\n";

const char setup_help_containerd[] =
    "Usage: variantctl setup containerd [OPTIONS]\n"
    "\n"
    "Have containerd ask variantd for tags: a hosts.toml for each registry, and the\n"
    "directory of them in config.toml.\n"
    "What is there is kept and backed up; a second run with other options changes the\n"
    "first one's result.\n"
    "\n"
    "Options:\n"
    "  --registry HOST[:PORT]   for this registry; again for more (default: all)\n"
    "  --fail-closed            never pull past variantd\n"
    "  --config-dir DIR         directory of the hosts.toml files\n"
    "  --engine-config FILE     config.toml\n" SETUP_HELP CLI_COMMON_HELP "\n"
    "A tag then always means this machine's platform. For another one use a digest.\n"
    "\n"
    "Examples:\n"
    "  sudo variantctl setup containerd\n"
    "  sudo variantctl setup containerd --registry registry.example --fail-closed\n"
    "  sudo variantctl setup containerd --uninstall\n";

const char setup_help_docker[] =
    "Usage: variantctl setup docker [OPTIONS]\n"
    "\n"
    "Have Docker ask variantd for tags: a registry mirror in daemon.json, which is\n"
    "for docker.io; with containerd's image store a hosts.toml for each registry.\n"
    "What is there is kept and backed up; a second run with other options changes the\n"
    "first one's result.\n"
    "\n"
    "Options:\n"
    "  --registry HOST[:PORT]   docker.io; with containerd's store any\n"
    "  --config-dir DIR         directory of daemon.json\n"
    "  --engine-config FILE     daemon.json\n"
    "  --store classic|containerd   the image store, if it is not found\n" SETUP_HELP
        CLI_COMMON_HELP "\n"
    "A tag then always means this machine's platform, in builds, too.\n"
    "\n"
    "Examples:\n"
    "  sudo variantctl setup docker --registry docker.io --dry-run\n"
    "  sudo variantctl setup docker --registry docker.io --store classic\n"
    "  sudo variantctl setup docker --uninstall\n";

const char setup_help_podman[] =
    "Usage: variantctl setup podman [OPTIONS]\n"
    "\n"
    "Have podman (and buildah, skopeo) ask variantd for tags: a mirror for each\n"
    "registry in registries.conf.d. Not as root: for this user.\n"
    "What is there is kept and backed up; a second run with other options changes the\n"
    "first one's result.\n"
    "\n"
    "Options:\n"
    "  --registry HOST[:PORT]   for this registry; again for more\n"
    "  --fail-closed            never pull past variantd\n"
    "  --config-dir DIR         directory of registries.conf\n" SETUP_HELP CLI_COMMON_HELP "\n"
    "A tag then always means this machine's platform. For another one use a digest.\n"
    "\n"
    "Examples:\n"
    "  sudo variantctl setup podman --registry docker.io --registry registry.example\n"
    "  sudo variantctl setup podman --registry registry.example --fail-closed\n"
    "  sudo variantctl setup podman --uninstall\n";

const char setup_help_crio[] =
    "Usage: variantctl setup crio [OPTIONS]\n"
    "\n"
    "Have CRI-O ask variantd for tags: a mirror for each in registries.conf.d.\n"
    "What is there is kept and backed up; a second run with other options changes the\n"
    "first one's result.\n"
    "\n"
    "Options:\n"
    "  --registry HOST[:PORT]   for this registry; again for more\n"
    "  --fail-closed            never pull past variantd\n"
    "  --config-dir DIR         directory of registries.conf\n" SETUP_HELP CLI_COMMON_HELP "\n"
    "A tag then always means this machine's platform. For another one use a digest.\n"
    "\n"
    "Examples:\n"
    "  sudo variantctl setup crio --registry docker.io --registry registry.example\n"
    "  sudo variantctl setup crio --registry registry.example --fail-closed\n"
    "  sudo variantctl setup crio --uninstall\n";
