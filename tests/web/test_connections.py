"""What is written to a connection: together where it belongs together, and all of it."""

import asyncio

from noisewise.web.connections import GatheredWrites


class Line:
    """A transport that notes what is done with it."""

    def __init__(self):
        self.done = []

    def write(self, data):
        self.done.append(data)

    def close(self):
        self.done.append("closed")

    def is_closing(self):
        return "closed" in self.done


def test_a_head_and_a_body_are_sent_together():
    async def answer():
        line = Line()
        gathered = GatheredWrites(line)
        gathered.write(b"head ")
        gathered.write(b"")
        gathered.write(bytearray(b"body"))
        assert line.done == []
        await asyncio.sleep(0)
        gathered.write(b"next")
        await asyncio.sleep(0)
        return line.done

    assert asyncio.run(answer()) == [b"head body", b"next"]


def test_what_was_written_is_sent_before_the_end():
    async def answer():
        line = Line()
        gathered = GatheredWrites(line)
        gathered.write(b"last words")
        gathered.close()
        assert gathered.is_closing()
        await asyncio.sleep(0)
        return line.done

    assert asyncio.run(answer()) == [b"last words", "closed"]
