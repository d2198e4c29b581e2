"""The encoding of a text: UTF-8, UTF-16, or what Windows writes in Western Europe; others are refused."""

import codecs
import re

#: A character of two or three bytes in UTF-8: where there is one, the text is UTF-8, and damaged.
_LONGER = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}")


def as_utf8(content: bytes, name: str) -> tuple[bytes, str | None]:
    """The content in UTF-8, without a mark at its beginning, with line feeds; and the encoding if guessed."""
    content, guess = _decoded(content, name)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ValueError(f"line {line} of {name} holds a byte 0.")
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return content, guess


def _decoded(content: bytes, name: str) -> tuple[bytes, str | None]:
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (unmarked := _utf16_of(content)) is not None:
        try:
            return content.decode("utf-16" if marked else unmarked or "utf-16").encode(), "UTF-16"
        except UnicodeError:
            raise ValueError(f"{name} is cut UTF-16: save it as UTF-8.") from None
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.isascii():
        return content, None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        return _western(content, name, line), "Windows-1252 (it is not UTF-8)"
    return content, None


def _utf16_of(content: bytes) -> str | None:
    """The order of bytes of UTF-16 without a mark: every other byte of plain letters is 0."""
    some = content[:400]
    half = len(some) // 2
    if len(content) % 2 or half < 4 or b"\0" not in some:
        return None
    if some[1::2].count(0) > 0.7 * half and not some[0::2].count(0):
        return "utf-16-le"
    return "utf-16-be" if some[0::2].count(0) > 0.7 * half and not some[1::2].count(0) else None


def _western(content: bytes, name: str, line: int) -> bytes:
    """Windows-1252, of which Latin-1's letters are a part."""
    if _LONGER.search(content):
        raise ValueError(f"line {line} of {name} is in another encoding than the rest: save it as UTF-8.")
    try:
        return content.decode("cp1252").encode()
    except UnicodeDecodeError:
        raise ValueError(f"line {line} of {name} is in another encoding: save it as UTF-8.") from None
