"""Whether a file is on another machine's disk."""

from pathlib import Path

#: File systems on which locks and shared memory of different machines do not meet.
NETWORK = frozenset(
    (
        "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "9p", "ceph",
        "glusterfs", "lustre", "beegfs", "gpfs", "ncpfs", "fuse.sshfs", "fuse.glusterfs",
        "fuse.ceph", "fuse.s3fs", "fuse.rclone", "davfs", "virtiofs",
    )
)  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The kind of network file system that holds the path; None on a local one, or where Linux is not."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    target = path.absolute().resolve()
    best, kind = Path("/"), ""
    for line in lines:
        # "36 35 98:0 /root /mount/point options - type source": blanks in names are written \040.
        left, _, right = line.partition(" - ")
        place = Path(left.split()[4].replace("\\040", " "))
        if target.is_relative_to(place) and len(place.parts) >= len(best.parts):
            best, kind = place, right.split()[0]
    return kind if kind in NETWORK else None
