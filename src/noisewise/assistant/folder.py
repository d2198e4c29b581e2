"""The one folder whose files tools may read, and write new ones to."""

from pathlib import Path

CLOSED = (
    "`{name}` must be the text itself: this server opens no files. A person can let it, by starting it with "
    "--files FOLDER."
)


class FilesFolder:
    """Names of files in a folder as paths; whatever leads out of it is refused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        if not self.folder.is_dir():
            raise ValueError(f"--files must be a folder; there is none called {str(folder)!r}.")

    def to_read(self, name: str, given: str, *, folders: bool = False) -> str:
        """The path of a file that is there.

        Args:
            name: The parameter, for messages.
            given: The name of a file in the folder, with the sheet of a workbook after a #.
            folders: Whether it may also be a folder, whose files are read.
        """
        file, hash_sign, sheet = given.partition("#")
        path = self._inside(name, file)
        if folders and path.is_dir() and not hash_sign:
            self._refuse_links(name, path)
            return str(path)
        # No sheet has slashes in its name; a path that goes on after the # would.
        if not path.is_file() or "/" in sheet or "\\" in sheet:
            raise ValueError(f"`{name}` must be a file in the folder of this server; {given!r} is none.")
        return f"{path}{hash_sign}{sheet}"

    def to_write(self, name: str, given: str) -> str:
        """The path of a file that is not there yet: nothing is overwritten."""
        path = self._inside(name, given)
        if path.exists():
            raise ValueError(f"`{name}` must be a new file; {given!r} is there already: choose another name.")
        if not path.parent.is_dir():
            raise ValueError(f"`{name}` must be in a folder that is there; {given!r} is not.")
        return str(path)

    def _refuse_links(self, name: str, path: Path) -> None:
        for one in path.rglob("*"):
            if one.is_symlink() and self.folder not in one.resolve().parents:
                raise ValueError(
                    f"`{name}` must have nothing but files of this server's folder in it; "
                    f"{str(one.relative_to(self.folder))!r} leads out of it."
                )

    def _inside(self, name: str, given: str) -> Path:
        try:
            path = (self.folder / given).resolve()
        except (OSError, ValueError, RuntimeError):  # a circle of links, a zero byte
            path = None
        # Resolved first: links and .. count by where they lead to.
        if path is None or self.folder not in path.parents:
            raise ValueError(f"`{name}` must be a file in the folder of this server; {given!r} is not in it.")
        return path
