# SPDX-License-Identifier: GPL-2.0-only
"""Makes a picture of a recorded session: an SVG with text in it, which loads nothing from elsewhere.

The session is what a terminal of 100 columns got from the commands that it names. Record one of them with

    script -qec 'stty cols 100; ./portcullis attack user-pte --mode enforce 2>/dev/null' session.ansi

and take away what script says of itself. Then make the picture, by a Python that has rich:

    python3 docs/images/picture.py docs/images/user-pte.ansi
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 102
FONT = re.compile(r"@font-face \{.*?\}\n", re.DOTALL)  # rich has the picture load fonts of another site


def picture_of(session: str) -> str:
    """The SVG of a session with a terminal's colours."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(session), soft_wrap=True)
    made = console.export_svg(title="portcullis", theme=MONOKAI, unique_id="session")
    return FONT.sub("", made).replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    source = Path(sys.argv[1])
    source.with_suffix(".svg").write_text(picture_of(source.read_text()))
