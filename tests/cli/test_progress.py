"""Progress is for people at a terminal: a bar on stderr there, not a byte anywhere else."""

import os
import pty
import subprocess
import sys

CODE = """
from olares_apps.cli.progress import progress
with progress("copying") as advance:
    for number in range(3):
        advance(number + 1, 3, f"revision [{number}]")
print("done")
"""


def test_without_a_terminal_nothing_is_shown() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_on_a_terminal_a_bar_goes_to_stderr_and_words_are_shown_as_they_are() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "revision [2]" in shown
    assert "3/3" in shown
