#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# On a machine with a GPU of NVIDIA: libraries that `variantctl slim` cut give the results of the original.
#
#   test/gpu/slim.sh [PACKAGES]     PACKAGES: where Python has torch and, if there, bitsandbytes (default: where it is installed)
#   test/gpu/slim.sh --import [PACKAGES]   on any machine: they are imported, and used on the processor
#
# Needs python3 with torch, and $OCV_BUILD/libexec/content-scan. The packages are cut in a directory of their own: for
# this GPU, and for another one, which has to give an error of CUDA and no crash. At most 8 minutes.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
scanner=${OCV_BUILD:-$top/build}/libexec/content-scan
place=$(mktemp -d "${TMPDIR:-/tmp}/slim.XXXXXX")
trap 'rm -rf "$place"' EXIT
only_import=
if [ "${1:-}" = --import ]; then
    only_import=1
    shift
fi
packages=${1:-$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')}
export CUDA_MODULE_LOADING=EAGER PYTHONDONTWRITEBYTECODE=1 CUBLAS_WORKSPACE_CONFIG=:4096:8

run() # NAME PACKAGES: its results, in $place/NAME
{
    PYTHONPATH=$2 timeout 240 python3 "$top/test/gpu/slim.py" run "$place/$1" ${only_import:+--cpu}
}

if [ -n "$only_import" ]; then
    sm=sm_80
else
    sm=$(PYTHONPATH=$packages python3 -c 'import torch; print("sm_%d%d" % torch.cuda.get_device_capability())')
fi
echo "cut for $sm:"
python3 "$top/test/gpu/slim.py" tree "$scanner" "$packages" "$place/own" "$sm"
run fat "$packages"
run slim "$place/own"
python3 "$top/test/gpu/slim.py" compare "$place/fat" "$place/slim"
[ -z "$only_import" ] || exit 0

other=sm_75
[ "$sm" != sm_75 ] || other=sm_90
echo "cut for $other, which this GPU is not:"
python3 "$top/test/gpu/slim.py" tree "$scanner" "$packages" "$place/other" "$other"
status=0
run other "$place/other" >"$place/log" 2>&1 || status=$?
grep -aoE 'CUDA error: [a-z ]+|no kernel image is available[a-z ]*' "$place/log" | head -1
if [ "$status" != 1 ] || ! grep -qaE 'no kernel image|CUDA error|cudaError' "$place/log"; then
    cat "$place/log"
    echo "FAILED: exit status $status in place of an error of CUDA"
    exit 1
fi
echo "passed"
