# SPDX-License-Identifier: GPL-3.0-or-later
"""What ai.backend.common.docker.ImageRef makes of the references on standard input: a line of JSON for each."""

import json
import sys

from ai.backend.common.docker import ImageRef

for reference in map(str.strip, sys.stdin):
    main, tags = ImageRef.from_image_str(reference, None, reference.split("/")[0]).tag_set
    print(json.dumps({"reference": reference, "main": main, "tags": {key: tags[key] for key in tags}}))
