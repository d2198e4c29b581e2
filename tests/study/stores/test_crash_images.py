"""Images of a crash: the file and its write-ahead log cut at random bytes, as a power cut may leave them.

With ``durable=True`` every acknowledged event is on the disk: an image that holds all bytes up to the last
acknowledged one must show them all. Any image shows a whole beginning of the log, or is said to be damaged.
"""

import random
import shutil

import pytest
from tests.support.effort import effort

import noisewise as nw

ENDINGS = ("", "-wal")
#: Values tell which event is which, and how many were told together.
BEFORE, CHUNKS = 25, [1, 1, 3, 1, 7, 2, 1, 1, 5, 1]


def record(folder):
    """A study told in pieces; after each, how long file and log were, and how many were acknowledged."""
    path = folder / "live.db"
    first = nw.create_study(path, options=["A", "B"], eps=0.1)
    for value in range(BEFORE):
        first.tell(option="A", value=float(value), se=0.1)
    first._log.storage.close()  # so far, everything is in the file
    store = nw.open_store(path, durable=True)
    study, told = nw.load_study(store), BEFORE
    points = [((path.stat().st_size, 0), BEFORE)]
    for chunk in CHUNKS * 2:
        study.tell_many(
            {"option": ["A"] * chunk, "value": [float(told + i) for i in range(chunk)], "se": [0.1] * chunk}
        )
        told += chunk
        points.append((size(path), told))
    return path, store, points


def size(path):
    return tuple(path.with_name(path.name + ending).stat().st_size for ending in ENDINGS)


def cut(path, image, lengths):
    """A copy of the file and its log, each cut to a length; what was in shared memory is gone."""
    for ending, length in zip(ENDINGS, lengths, strict=True):
        content = path.with_name(path.name + ending).read_bytes()
        image.with_name(image.name + ending).write_bytes(content[:length])


def remove(image):
    for ending in ("", "-wal", "-shm"):
        image.with_name(image.name + ending).unlink(missing_ok=True)


def values_in(image):
    """What an image shows, or the sentence that refuses it."""
    try:
        study = nw.load_study(image)
        values = [event.body["value"] for event in study.events()]
        study._log.storage.close()
    except (ValueError, OSError, KeyError) as refusal:
        return str(refusal)
    return values


def whole_pieces():
    lengths = list(range(BEFORE + 1))
    for chunk in CHUNKS * 2:
        lengths.append(lengths[-1] + chunk)
    return set(lengths)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """A study at work, with its log."""
    path, store, points = record(tmp_path_factory.mktemp("crash"))
    copy = path.with_name("frozen.db")
    for ending in ENDINGS:
        shutil.copy(path.with_name(path.name + ending), copy.with_name(copy.name + ending))
    store.close()
    return copy, points


def test_an_image_shows_a_beginning_of_what_was_told_or_is_damaged(crashed, tmp_path):
    path, points = crashed
    chance, (whole, log) = random.Random(0), points[-1][0]
    shown = {"all": 0, "beginning": 0, "damaged": 0}
    for number in range(effort(60, 200)):
        # Two in three with the whole file, which only a checkpoint changes.
        lengths = (whole if number % 3 else chance.randrange(whole), chance.randrange(log + 1))
        durable = max(
            (told for (file, end), told in points if file <= lengths[0] and end <= lengths[1]), default=0
        )
        image = tmp_path / f"image{number}.db"
        cut(path, image, lengths)
        values = values_in(image)
        remove(image)
        if isinstance(values, str):
            assert "\n" not in values
            assert lengths[0] < whole, f"a whole file with a log cut at {lengths[1]} was refused: {values}"
            shown["damaged"] += 1
            continue
        assert values == [float(i) for i in range(len(values))], "not a beginning of the log"
        assert len(values) in whole_pieces(), "half of what was told together"
        assert len(values) >= durable, f"{durable} were acknowledged and on the disk; {len(values)} are there"
        shown["all" if len(values) == points[-1][1] else "beginning"] += 1
    assert shown["beginning"] > effort(15, 50)
    assert shown["damaged"] > effort(6, 20)


def test_a_torn_page_in_the_log_ends_it_there(crashed, tmp_path):
    """A power cut may also leave sectors of the log unwritten: zeros, or what was there before."""
    path, points = crashed
    chance, (whole, log) = random.Random(1), points[-1][0]
    for number in range(30):
        image = tmp_path / f"torn{number}.db"
        cut(path, image, (whole, log))
        wal = image.with_name(image.name + "-wal")
        content, place = bytearray(wal.read_bytes()), chance.randrange(32, log)
        content[place : place + 512] = bytes(min(512, log - place))
        wal.write_bytes(content)
        study = nw.load_study(image)
        values = [event.body["value"] for event in study.events()]
        study._log.storage.close()
        remove(image)
        assert values == [float(i) for i in range(len(values))]
        assert len(values) in whole_pieces()
        before = max(told for (_, end), told in points if end <= place)
        assert len(values) >= before
