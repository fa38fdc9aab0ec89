# SPDX-License-Identifier: LGPL-3.0-or-later
"""The vectors of the format. OCV_VECTORS names their directory."""
import glob
import json
import os
import unittest

from .vectors import answer_to

from .short_forms import expand, make_strings

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.environ.get("OCV_VECTORS") or os.path.join(HERE, "..", "..", "..", "schema", "spec", "vectors")


class Vectors(unittest.TestCase):
    def test_vectors(self):
        files = sorted(glob.glob(os.path.join(VECTORS, "*.jsonl")))
        if not files:
            self.skipTest(f"no vectors in {VECTORS}")
        for name in files:
            with open(name, encoding="utf-8") as lines:
                for line in lines:
                    vector = json.loads(line)
                    with self.subTest(vector["id"]):
                        self.assertEqual(answer_to(expand(vector)), make_strings(vector["want"]), vector["rules"])


if __name__ == "__main__":
    unittest.main()
