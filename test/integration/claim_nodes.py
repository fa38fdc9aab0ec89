#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of fourteen kinds for claim_cluster.bats: DIR/objects.json for kubectl, with DeviceClasses and with
ResourceSlices as the vendors' drivers publish them, and DIR/KIND.json, the profile that variantctl would
make there; DIR/gang has the same for a job, DIR/labelled the profile of a node whose driver publishes nothing."""
import json
import os
import sys

TEGRA = (53, 62, 72, 87)


def nvidia(sm, cuda):
    """What the provider lists for a capability and the CUDA version of a driver."""
    major, minor = cuda
    lower = [f"{m}.{n}" if n >= 0 else f"{m}" for m in range(major, 10, -1)
             for n in range(minor if m == major else 9, -2, -1)]
    upper = [f"{m}.{n}" if n >= 0 else f"{m}" for m in range(14, major, -1) for n in range(9, -2, -1)]
    upper += [f"{major}.{n}" for n in range(9, minor, -1)]
    real = range(sm, (sm if sm in TEGRA else sm // 10 * 10) - 1, -1)
    arch = (["90a_real"] if sm == 90 else []) + [f"{n}_real" for n in real]
    arch += [f"{n}_virtual" for n in range(sm, 49, -1)]
    return {"nvidia": {"cuda_version_lower_bound": lower, "cuda_version_upper_bound": upper, "sm_arch": arch}}


def gpu(name, sm, cuda, driver):
    return ("gpu.nvidia.com", {
        "type": {"string": "gpu"}, "productName": {"string": name}, "brand": {"string": "Nvidia"},
        "cudaComputeCapability": {"version": f"{sm // 10}.{sm % 10}.0"},
        "driverVersion": {"version": driver}, "cudaDriverVersion": {"version": "%d.%d.0" % cuda}},
        nvidia(sm, cuda))


KINDS = {
    "h100new": gpu("NVIDIA H100 80GB HBM3", 90, (13, 0), "580.65.6"),
    "h100": gpu("NVIDIA H100 80GB HBM3", 90, (12, 8), "570.124.6"),
    "h100old": gpu("NVIDIA H100 80GB HBM3", 90, (12, 2), "535.161.8"),
    "a100": gpu("NVIDIA A100-SXM4-80GB", 80, (12, 8), "570.124.6"),
    "v100": gpu("Tesla V100-SXM2-32GB", 70, (12, 4), "550.90.7"),
    "mi300": ("gpu.amd.com", {
        "type": {"string": "amdgpu"}, "productName": {"string": "AMD_Instinct_MI300X_OAM"},
        "family": {"string": "AI"}, "cardIndex": {"int": 0}, "driverVersion": {"version": "6.12.12"}},
        {"amd": {"gfx_arch": ["gfx942", "gfx9_4_generic"], "rocm_user_space": ["7.0", "6.4"]}}),
    "gaudi": ("gaudi.intel.com", {"model": {"string": "Gaudi3"}, "healthy": {"bool": True}},
              {"habana": {"arch": ["gaudi3"]}}),
    "atom": ("npu.rebellions.ai", {
        "type": {"string": "npu"}, "productName": {"string": "RBLN-CA25"}, "driverVersion": {"string": "2.0.1"}},
        {"rebellions": {"arch": ["atom_max"]}}),
    "arc": ("gpu.intel.com", {
        "model": {"string": "Intel Arc B580"}, "family": {"string": "Arc B"}, "pciId": {"string": "0xe20b"}, "driver": {"string": "xe"}},
        {"intel": {"device_ip": ["20.1.0"]}}),
    "tpu": ("tpu.google.com", {"tpuGen": {"string": "v6e"}, "index": {"int": 0}}, {"tpu": {"arch": ["v6e"], "present": ["true"]}}),
    "wormhole": ("tenstorrent.com", {"chipArch": {"string": "wormhole"}, "boardType": {"string": "n300"}},
                 {"tenstorrent": {"arch": ["wormhole"]}}),
    "h100v2": gpu("NVIDIA H100 80GB HBM3", 90, (12, 8), "570.124.6"),
    "vfio": ("gpu.nvidia.com", {"type": {"string": "vfio"}, "deviceID": {"string": "2330"}}, {}),
}
DRIVERS = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "gaudi.intel.com", "npu.rebellions.ai", "tpu.google.com",
           "tenstorrent.com")


def levels(kind):
    return ["v2", "v1"] if kind.endswith("v2") else ["v3", "v2", "v1"]


def node(kind, **more):
    labels = {"kubernetes.io/hostname": kind, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    labels.update({f"feature.node.kubernetes.io/cpu-cpuid.X86_64_{level.upper()}": "true" for level in levels(kind)})
    labels.update(more)
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": kind, "labels": labels},
            "status": {"capacity": {"cpu": "64", "memory": "512Gi", "pods": "110"},
                       "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
                       "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                       "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}


def device_slice(kind, driver, attributes, count=32):
    devices = [{"name": f"device-{n}", "attributes": attributes} for n in range(count)]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": kind},
            "spec": {"driver": driver, "nodeName": kind, "devices": devices,
                     "pool": {"name": kind, "generation": 1, "resourceSliceCount": 1}}}


def profile(kind, lists):
    lists = dict(lists, x86_64={"level": levels(kind)})
    namespaces = [{"namespace": ns, "features": [{"name": f, "values": v} for f, v in features.items()]}
                  for ns, features in lists.items()]
    return {"schema": "dev.ocivariant.profile/v1", "hostname": kind,
            "platform": {"os": "linux", "architecture": "amd64", "variant": levels(kind)[0]}, "namespaces": namespaces}


def write(name, content):
    path = f"{sys.argv[1]}/{name}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


items = [{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": d},
          "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{d}'"}}]}} for d in DRIVERS]
for kind, (driver, attributes, lists) in KINDS.items():
    items += [node(kind), device_slice(kind, driver, attributes)]
    write(f"{kind}.json", json.dumps(profile(kind, lists)))
items.append(node("rngd", **{"furiosa.ai/npu.product": "rngd"}))
write("labelled/rngd.json", json.dumps(profile("rngd", {"furiosa": {"arch": ["renegade"]}})))
write("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

# for a job: sixteen nodes of two kinds, each with one device
items, fleet = [], []
for kind in ("a100", "h100"):
    driver, attributes, lists = KINDS[kind]
    for name in (f"gang-{kind}-{n}" for n in range(16)):
        items += [node(name), device_slice(name, driver, attributes, 1)]
        fleet.append({"name": name, "profile": profile(name, lists)})
write("gang/objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
write("gang/fleet.jsonl", "".join(json.dumps(line) + "\n" for line in fleet))
