# SPDX-License-Identifier: LGPL-3.0-or-later
import http.server
import json
import os
import socketserver
import stat
import tempfile
import threading
import unittest

import ocivariant
from ocivariant import Options, Platform, code
from ocivariant.errors import MAX_DOCUMENT, MAX_ENTRIES, MAX_VALUES
from ocivariant.profiles import Device

PROFILE = {
    "platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}, "namespaces": [
        {"namespace": "gpu", "features": [{"name": "arch", "values": ["90", "80"]}, {"name": "driver", "values": ["12"]}],
         "devices": [{"id": "0000:3b:00.0", "uuid": "GPU-1", "features": [{"name": "arch", "values": ["90", "80"]}]},
                     {"id": "0000:5e:00.0", "features": [{"name": "arch", "values": ["80"]}]},
                     {"id": "0000:00:02.0", "secondary": True, "features": [{"name": "arch", "values": ["70"]}]}]},
        {"namespace": "x86_64", "features": [{"name": "level", "values": ["v3", "v2", "v1"]}]}]}


def descriptor(place=0, **more):
    return {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1, "digest": f"sha256:{place:064x}", **more}


def variant(place, label, properties, platform="linux/amd64"):
    notes = {} if label is None else {"annotations": {"dev.ocivariant.label": label, "dev.ocivariant.properties": properties}}
    names = dict(zip(("os", "architecture", "variant"), platform.split("/"))) if platform else None
    return descriptor(place, platform=names, **notes)


def index_of(*entries, namespaces="gpu, x86_64"):
    return ocivariant.parse_index(json.dumps({"annotations": {"dev.ocivariant.namespaces": namespaces},
                                              "manifests": entries}).encode())


def host():
    return ocivariant.parse_profile(json.dumps(PROFILE).encode())


class Resolve(unittest.TestCase):
    INDEX = index_of(
        variant(0, None, None), variant(1, "a", "gpu :: arch :: 90", "linux/amd64/x-a"),
        variant(2, "b", "gpu::arch::80", "linux/amd64/x-b"), variant(3, "c", "x86_64 :: level :: v2", "linux/amd64/x-c"),
        variant(4, "d", "npu :: arch :: 1", "linux/amd64/x-d"), variant(5, "e", "gpu :: arch :: 80, x86_64 :: level :: v3", None),
        variant(6, "f", "gpu :: driver :: 13"), variant(7, None, None, "linux/arm64"), variant(8, None, None, "linux/amd64/v4"))

    def test_order(self):
        for options, want in (
                (Options(), [5, 2, 3, 0]), (Options(device_policy={"gpu": "any"}), [5, 1, 2, 3, 0]),
                (Options(device_policy={"gpu": "first"}), [1, 5, 2, 3, 0]), (Options(devices={"gpu": ["GPU-1"]}), [1, 5, 2, 3, 0]),
                (Options(devices={"gpu": ["9"]}), [3, 0]), (Options(disable=["gpu"]), [3, 0]),
                (Options(disable=["gpu::arch::80"]), [3, 0]), (Options(require=["x86_64::level"]), [5, 3]),
                (Options(namespace_priority=["x86_64"]), [5, 3, 2, 0]), (Options(label="c"), [3]), (Options(label="null"), [0]),
                (Options(platform=Platform("linux", "arm64")), [7])):
            with self.subTest(options):
                decision = ocivariant.resolve(self.INDEX, host(), options)
                self.assertEqual([entry.position for entry in decision.order], want)
                self.assertEqual(len(decision.order) + len(decision.rejected), 9)

    def test_rejection(self):
        one = ocivariant.resolve(index_of(variant(0, "a", "gpu :: arch :: 70")), host()).rejected[0]
        self.assertEqual((one.code, one.property, one.device, one.wanted, one.have),
                         (code.DEVICE, "gpu :: arch", "0000:3b:00.0", ["70"], ["90", "80"]))

    def test_options(self):
        for options in (Options(disable=["A"]), Options(require=["a::b::c::d"]), Options(namespace_priority=["a b"]),
                        Options(label="."), Options(label=""), Options(device_policy={"a": "some"}), Options(devices={"a": [""]})):
            with self.subTest(options), self.assertRaises(ocivariant.InvalidError):
                ocivariant.resolve(self.INDEX, host(), options)
        bare = ocivariant.parse_profile(b'{"namespaces": []}')
        with self.assertRaises(ocivariant.InvalidError) as raised:
            ocivariant.resolve(self.INDEX, bare)
        self.assertEqual(raised.exception.code, "invalid")
        decision = ocivariant.resolve(self.INDEX, bare, Options(platform=Platform("linux", "arm64")))
        self.assertEqual(decision.selected().position, 7)

    def test_comparer(self):
        decision = ocivariant.resolve(index_of(variant(0, None, None), variant(1, "a", "gpu :: arch :: 80"),
                                               variant(2, "b", "gpu :: arch :: 60")), host())
        comparer = ocivariant.Comparer(decision)
        plain, best, misfit = (ocivariant.Descriptor(digest=f"sha256:{place:064x}") for place in range(3))
        self.assertEqual([comparer.match(one) for one in (plain, best, misfit)], [True, True, False])
        self.assertTrue(comparer.less(best, plain) and comparer.less(plain, misfit))
        self.assertFalse(comparer.less(plain, best) or comparer.less(misfit, plain))


class Read(unittest.TestCase):
    def test_entry_codes(self):
        label, properties = "dev.ocivariant.label", "dev.ocivariant.properties"
        for entry, want in (
                ({"mediaType": "text/plain", "size": 1, "digest": "sha256:1"}, code.MALFORMED),
                ({"mediaType": "text/plain", "size": 1, "digest": "blake3:1"}, code.MEDIA_TYPE), (7, code.MALFORMED),
                (descriptor(platform="x"), code.MALFORMED), (descriptor(platform=None), code.NONE),
                (dict(descriptor(), size=1.0), code.MALFORMED), (dict(descriptor(), size=True), code.MALFORMED),
                (descriptor(annotations=[]), code.MALFORMED), (descriptor(artifactType="application/spdx+json"), code.ARTIFACT),
                (descriptor(platform={"os": "unknown", "architecture": "unknown"}), code.UNKNOWN_PLATFORM),
                (descriptor(annotations={"vnd.docker.reference.type": "x"}), code.ATTESTATION),
                (descriptor(annotations={label: "a"}), code.PROPERTIES_MISSING),
                (descriptor(annotations={properties: "a :: f :: 1"}), code.LABEL_MISSING),
                (descriptor(annotations={label: "A", properties: ""}), code.BAD_LABEL),
                (descriptor(annotations={label: "a", properties: "a"}), code.BAD_PROPERTIES),
                (descriptor(annotations={label: "a", properties: ""}), code.EMPTY_NOT_NULL),
                (descriptor(annotations={label: "null", properties: "a::f::1"}), code.NULL_WITH_PROPERTIES)):
            with self.subTest(entry):
                self.assertEqual(index_of(entry).entries[0].code, want)

    def test_malformed_indexes(self):
        deep = b"[" * 3000 + b"]" * 3000
        for data in (b"", b"[]", b"{", b'{"manifests": {}}', b'{"layers": []}', b'{"manifests": [], "layers": []}',
                     b'{"manifests": [], "a": 1, "a": 2}', b'{"manifests": [], "a": "\xff"}', b'{"manifests": [], "a": "\\u0000"}',
                     b'{"manifests": [], "a": "\\ud800"}', b'{"manifests": [], "a": "\\udc00\\ud800"}', b'{"manifests": [], "a": NaN}',
                     b'{"manifests": [], "a": 9223372036854775808}', b'{"manifests": [], "a": 1e999}', b'\xef\xbb\xbf{"manifests": []}',
                     b'{"manifests": [], "annotations": []}', b'{"manifests": [], "mediaType": "text/plain"}', b'{"manifests": []} x',
                     b'{"manifests": null}', b'{"manifests": [], "a": ' + deep + b"}", b'{"manifests": [' + b"{}," * MAX_ENTRIES + b"{}]}",
                     b'{"manifests": [], "a": "' + b"a" * MAX_DOCUMENT + b'"}', b'{"manifests": [], "a": [' + b"0," * MAX_VALUES + b"0]}"):
            with self.subTest(data[:60]), self.assertRaises(ocivariant.DataError):
                ocivariant.parse_index(data)
        for end in (b"", b"\\"):  # a string that is not closed; quadratic time would be hours
            with self.subTest(end), self.assertRaises(ocivariant.DataError):
                ocivariant.parse_index(b'{"a": "' + b'\\"' * (MAX_DOCUMENT // 4) + end)
        ocivariant.parse_index(b"{}", "application/vnd.oci.image.index.v1+json; charset=utf-8")
        ocivariant.parse_index(b'{"manifests": [], "a": "\\\\ud800\\ud83d\\ude00"}')

    def test_malformed_profiles(self):
        for data in (b"", b"[]", b"{}", b'{"namespaces": {}}', b'{"namespaces": [1]}', b'{"namespaces": [], "schema": "x"}',
                     b'{"namespaces": [], "platform": 1}', b'{"namespaces": [{"namespace": "A"}]}',
                     b'{"namespaces": [{"namespace": "a"}, {"namespace": "a"}]}',
                     b'{"namespaces": [{"namespace": "a", "features": [{"name": "f"}, {"name": "f"}]}]}',
                     b'{"namespaces": [{"namespace": "a", "features": [{"name": "f", "values": ["-"]}]}]}',
                     b'{"namespaces": [{"namespace": "a", "devices": [1]}]}',
                     b'{"namespaces": [{"namespace": "a", "devices": [{"id": 1}]}]}'):
            with self.subTest(data), self.assertRaises(ocivariant.DataError):
                ocivariant.parse_profile(data)

    def test_properties(self):
        self.assertEqual([str(one) for one in ocivariant.parse_properties("b::f::1,a :: g::2 , a::f::x.y,a::g::2")],
                         ["a :: f :: x.y", "a :: g :: 2", "b :: f :: 1"])
        self.assertEqual(ocivariant.parse_properties(" \t"), [])
        for text in ("a::f::1,", "a:::f::1", "a::f::1::2", "A::f::1", "a::f::1\n\x00", "a::f::1," * 511 + "a::f::1",
                     "a" * 3995 + "::f::1"):
            with self.subTest(text[:20]), self.assertRaises(ocivariant.DataError):
                ocivariant.parse_properties(text)

    def test_labels(self):
        for label, read, write in (("a", True, True), ("cu12.8_x", True, True), ("a..b", True, False), ("_a", True, False),
                                   (".", False, False), ("", False, False), ("A", False, False), ("a\n", False, False),
                                   ("a" * 48, True, True), ("a" * 49, True, False), ("a" * 64, False, False)):
            with self.subTest(label):
                self.assertEqual((ocivariant.readable_label(label), ocivariant.valid_label(label)), (read, write))

    def test_references(self):
        for text, whole in (("app", "docker.io/library/app:latest"), ("[::1]:5000/a/b:1", "[::1]:5000/a/b:1"),
                            ("a@sha256:" + "0" * 64, "docker.io/library/a@sha256:" + "0" * 64)):
            self.assertEqual(str(ocivariant.parse_reference(text)), whole)
        for text in ("", "a:", "A", "a:1\n", "a.b:\u0661/c", "0" * 64, "a@sha256:0"):
            with self.subTest(text), self.assertRaises(ocivariant.InvalidError):
                ocivariant.parse_reference(text)

    def test_platforms(self):
        def platform_of(text):
            return Platform(*text.split("/"))
        for machine, entry, place, why in (
                ("linux/amd64/v3", "linux/amd64/v3", 0, code.NONE), ("linux/amd64/v3", "linux/x86_64", 2, code.NONE),
                ("linux/amd64/v3", "linux/amd64/v4", -1, code.PLATFORM_VARIANT), ("linux/amd64", "linux/386", 0, code.NONE),
                ("linux/amd64", "windows/amd64", -1, code.PLATFORM), ("linux/amd64", "linux/arm64", -1, code.PLATFORM),
                ("linux/arm64/v9.2", "linux/arm64/v8.7", 3, code.NONE), ("linux/arm64/v8.2", "linux/arm64/v9", -1, code.PLATFORM_VARIANT),
                ("linux/arm64", "linux/arm/v6", 2, code.NONE), ("linux/arm/v6", "linux/arm", -1, code.PLATFORM_VARIANT),
                ("linux/arm", "linux/arm/x-a", 0, code.NONE), ("linux/riscv64/a", "linux/riscv64", 1, code.NONE)):
            with self.subTest((machine, entry)):
                self.assertEqual(ocivariant.match_platform(platform_of(machine), platform_of(entry)), (place, why))

    def test_device_names(self):
        device = Device("0000:3b:00.0", "GPU-Aa", 2, False, [])
        for name, want in (("2", True), ("02", True), ("3", False), ("0000:3B:00.0", True), ("00000000:3B:00.0", True), ("3b:00.0", True),
                           ("gpu-aa", True), ("", False), ("00.0", False), ("9" * 5000, False)):
            with self.subTest(name[:20]):
                self.assertEqual(device.answers_to(name), want)


class Handler(http.server.BaseHTTPRequestHandler):
    ANSWERS = {"/v1/profile": (200, json.dumps(PROFILE)), "/v1/resolve?ref=app%3A1.0": (200, '{"source": "index"}'),
               "/v1/resolve?ref=bad": (400, "{}"), "/v1/resolve?ref=late": (502, "{}"), "/v1/resolve?ref=odd": (200, "[")}

    def do_GET(self):
        status, body = self.ANSWERS.get(self.path, (404, "{}"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass

    def address_string(self):
        return ""


class Client(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.socket = os.path.join(directory.name, "s")

    def test_socket(self):
        client = ocivariant.Client(self.socket)
        with self.assertRaises(ocivariant.NotFoundError):
            client.profile()
        server = socketserver.ThreadingUnixStreamServer(self.socket, Handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.assertEqual(client.profile().platform.variant, "v3")
        self.assertEqual(client.resolve("app:1.0"), {"source": "index"})
        for reference, kind in (("none", ocivariant.NotFoundError), ("bad", ocivariant.InvalidError),
                                ("late", ocivariant.NetworkError), ("odd", ocivariant.DataError)):
            with self.subTest(reference), self.assertRaises(kind):
                client.resolve(reference)

    def test_program(self):
        program = os.path.join(self.directory, "variantctl")
        with self.assertRaises(ocivariant.NotFoundError):
            ocivariant.profile(self.socket, program)
        for script, fails in ((f"printf '%s' '{json.dumps(PROFILE)}'", False), ("echo no >&2; exit 1", True)):
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(program, stat.S_IRWXU)
            if fails:
                with self.assertRaisesRegex(ocivariant.Error, "no"):
                    ocivariant.profile(self.socket, program)
            else:
                self.assertEqual(ocivariant.profile(self.socket, program).platform.architecture, "amd64")


if __name__ == "__main__":
    unittest.main()
