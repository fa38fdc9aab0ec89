#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of slim.sh.

    slim.py tree SCANNER FROM TO TARGET   TO: the Python packages in FROM, whose libraries with device code are cut for TARGET
    slim.py run OUT [--cpu]               use torch, and bitsandbytes if it is there; results into the file OUT
    slim.py compare A B                   two of these"""
import ctypes
import glob
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile

PACKAGES = ("torch", "bitsandbytes", "triton")


def tree(scanner, source, target, sm):
    os.makedirs(target)
    for name in os.listdir(source):
        if name not in PACKAGES:
            os.symlink(f"{source}/{name}", f"{target}/{name}")
    for package in PACKAGES:
        if os.path.isdir(f"{source}/{package}"):
            subprocess.run(["cp", "-rs", f"{source}/{package}", target], check=True)
    for path in sorted(glob.glob(f"{target}/**/*.so*", recursive=True)):
        if path[len(target) + 1:].split("/")[0] not in PACKAGES or not os.path.isfile(path) or \
                b"nv_fatbin" not in open(path, "rb").read():
            continue
        with tempfile.TemporaryFile() as layer, tempfile.TemporaryFile() as out:
            layer.write(b"8\n+lib.so\0")
            layer.flush()
            with tarfile.open(fileobj=layer, mode="w|", bufsize=1 << 20) as tar:
                tar.add(os.path.realpath(path), "lib.so", recursive=False)
            layer.seek(0)
            run = subprocess.run([scanner, "--slim", sm, tempfile.gettempdir()], stdin=layer, stdout=out, stderr=subprocess.PIPE,
                                 check=True)
            out.seek(0)
            os.unlink(path)
            with tarfile.open(fileobj=out) as tar, open(path, "wb") as new:
                shutil.copyfileobj(tar.extractfile("lib.so"), new)
        said = json.loads(run.stderr)
        print(f"{said['before'] / 1e6:9.1f} MB {said['after'] / 1e6:9.1f} MB  {path[len(target) + 1:]}  {said['outcome']}")


def use(out, where="cuda"):
    import torch

    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    found = {}
    a, b = torch.randn(257, 513).to(where), torch.randn(513, 129).to(where)
    found["matmul"] = a @ b  # cuBLAS
    found["half"] = a.half() @ b.half() if where == "cuda" else a
    found["softmax"] = torch.softmax(a, 1)
    found["conv"] = torch.nn.functional.conv2d(a[None, None], b[None, None, :3, :3])  # cuDNN
    found["sort"] = torch.sort(a, 1).values
    found["sum"] = a.double().sum()
    if where == "cuda":
        found["jit"] = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x * x + 1; }")(a)
    if importlib.util.find_spec("bitsandbytes"):
        import bitsandbytes

        if where == "cuda":
            quantized, state = bitsandbytes.functional.quantize_4bit(a)
            found["quantized"] = quantized
            found["dequantized"] = bitsandbytes.functional.dequantize_4bit(quantized, state)
        else:
            found["bitsandbytes"] = bitsandbytes.__version__
            folder = os.path.dirname(bitsandbytes.__file__)
            found["loaded"] = sorted(os.path.basename(p) for p in glob.glob(f"{folder}/*cpu*.so") if ctypes.CDLL(p))
    if where == "cuda":
        torch.cuda.synchronize()
    found = {name: value.cpu().numpy().tobytes() if isinstance(value, torch.Tensor) else value for name, value in found.items()}
    with open(out, "wb") as file:
        pickle.dump(found, file)
    print(f"{len(found)} results by torch {torch.__version__} on {torch.cuda.get_device_name() if where == 'cuda' else 'the processor'}")


def compare(first, second):
    with open(first, "rb") as a, open(second, "rb") as b:
        a, b = pickle.load(a), pickle.load(b)
    wrong = [name for name in a if a[name] != b.get(name)]
    sys.exit(f"FAILED: other results for {', '.join(wrong)}" if wrong or len(a) != len(b) else 0)


if __name__ == "__main__":
    if sys.argv[1] == "tree":
        tree(*sys.argv[2:])
    elif sys.argv[1] == "run":
        use(sys.argv[2], "cpu" if "--cpu" in sys.argv else "cuda")
    else:
        compare(*sys.argv[2:])
