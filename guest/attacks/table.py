# SPDX-License-Identifier: GPL-2.0-only
"""Prints the attacks of attacks.toml as C: for each its function, its name, and the helpers that it has started."""

import sys
import tomllib
from pathlib import Path

for attack in tomllib.loads(Path(sys.argv[1]).read_text())["attack"]:
    name = attack["name"]
    helpers = " | ".join(f"NEEDS_{helper.upper()}" for helper in attack.get("helpers", [])) or "0"
    print(f'X({name.replace("-", "_")}, "{name}", {helpers})')
