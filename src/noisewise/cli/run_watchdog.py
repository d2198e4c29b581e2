"""A watchdog: if the run itself is killed, which it cannot notice, its commands end all the same.

It is a small shell that reads which groups of processes have begun and ended. When the run is no more, the
system closes what it reads from, and it ends the groups that are left: they would go on measuring for nobody,
beside those of the next run.
"""

import subprocess
from contextlib import suppress
from pathlib import Path

_SCRIPT = """
all=' ' folder=$1
while read -r sign group; do
  case $sign in
    +) all="$all$group " ;;
    -) case $all in *" $group "*) all="${all%% $group *} ${all#* $group }" ;; esac ;;
  esac
done
set -- $all
if [ $# -gt 0 ]; then
  for group; do kill -s TERM -- "-$group"; done 2>/dev/null
  sleep 2
  for group; do kill -s KILL -- "-$group"; done 2>/dev/null
fi
rm -rf -- "$folder"
"""


class Watchdog:
    """Looks after groups of processes.

    Args:
        folder: For their files; it goes with the run.
    """

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "watchdog", str(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def begun(self, group: int) -> None:
        """A group that is to end with the run."""
        self._tell(f"+ {group}\n")

    def ended(self, group: int) -> None:
        """A group that is no more: its number may be used again."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """It ends by itself, and with it what is left."""
        assert self._shell.stdin is not None
        with suppress(OSError):
            self._shell.stdin.close()
        self._shell.wait()

    def _tell(self, line: str) -> None:
        assert self._shell.stdin is not None
        with suppress(OSError, ValueError):  # somebody has ended it: then there is none
            self._shell.stdin.write(line.encode())
            self._shell.stdin.flush()
