#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""pod_run.py MANIFEST DAEMONSET NODE DIR NAME IMAGE: run a DaemonSet's pod by podman as a kubelet would:
its init containers one after the other, then its container NAME, detached. NODE is the directory that
stands for the node's file system (hostPath), DIR has the pod's other volumes, IMAGE is run in place of the
one that the manifest names. What this does not know in the manifest is an error."""
import os
import re
import subprocess
import sys

import yaml

manifest, daemonset, node, directory, name, image = sys.argv[1:]
with open(manifest, encoding="utf-8") as file:
    objects = [o for o in yaml.safe_load_all(file) if o]
spec = next(o for o in objects if o["kind"] == "DaemonSet" and o["metadata"]["name"] == daemonset)["spec"]["template"]["spec"]
FIELDS = {"metadata.name": name, "metadata.namespace": "ocivariant", "metadata.uid": "1234", "spec.nodeName": "node-1",
          "status.hostIP": "127.0.0.1"}
if not spec["hostNetwork"] or spec["automountServiceAccountToken"]:
    sys.exit("the pod has the node's network, and no token of its own")


def volume_path(volume):
    """The directory that stands for a volume."""
    if "hostPath" in volume:
        path = node + volume["hostPath"]["path"]
        if volume["hostPath"]["type"] == "DirectoryOrCreate":
            os.makedirs(path, exist_ok=True)
        return path
    path = os.path.join(directory, volume["name"])
    os.makedirs(path, exist_ok=True)
    if "configMap" in volume:
        data = next(o for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == volume["configMap"]["name"])["data"]
        for key, text in data.items():
            with open(os.path.join(path, key), "w", encoding="utf-8") as out:
                out.write(text)
    elif "emptyDir" in volume:
        os.chmod(path, 0o777)
    elif "projected" not in volume:
        sys.exit(f"volume {volume}")
    return path


PATHS = {v["name"]: volume_path(v) for v in spec["volumes"]}


def command(container, options):
    """podman's arguments for a container."""
    security = container["securityContext"]
    known = {"runAsUser", "runAsGroup", "runAsNonRoot", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"}
    if set(security) - known or not security["readOnlyRootFilesystem"] or security["allowPrivilegeEscalation"]:
        sys.exit(f"securityContext {security}")
    if security.get("runAsNonRoot") and security["runAsUser"] == 0:
        sys.exit("root, and runAsNonRoot")
    out = ["podman", "run", *options, "--network=host", "--read-only", "--read-only-tmpfs=false",
           "--security-opt=no-new-privileges", f"--user={security['runAsUser']}:{security['runAsGroup']}"]
    out += [f"--cap-drop={c.lower()}" for c in security["capabilities"]["drop"]]
    out += [f"--cap-add={c}" for c in security["capabilities"].get("add", [])]
    env = {e["name"]: e.get("value") or FIELDS[e["valueFrom"]["fieldRef"]["fieldPath"]] for e in container.get("env", [])}
    out += [f"--env={key}={value}" for key, value in env.items()]
    out += [f"--volume={PATHS[m['name']]}:{m['mountPath']}:{'ro' if m.get('readOnly') else 'rw'}" for m in container["volumeMounts"]] \
        if "volumeMounts" in container else []
    entry = container.get("command", [])
    out += [f"--entrypoint={entry[0]}"] if entry else []
    return [*out, image, *entry[1:], *[re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], a) for a in container["args"]]]


for init in spec["initContainers"]:
    subprocess.run(command(init, ["--rm"]), check=True)
subprocess.run(command(spec["containers"][0], ["--detach", f"--name={name}"]), check=True)
