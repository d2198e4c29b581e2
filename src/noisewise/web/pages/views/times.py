"""Times of the log as people read them."""

from datetime import datetime

from noisewise.core.support.words import duration, moment


def since(at: float | None, now: float) -> str:
    """How long ago something was."""
    if at is None:
        return "no event yet"
    seconds = now - at
    return "just now" if seconds < 60.0 else f"{duration(seconds)} ago"


def day_and_time(at: float) -> str:
    """A moment with its day, in UTC."""
    return f"{moment(at):%Y-%m-%d %H:%M:%S} UTC"


def short_time(at: datetime) -> str:
    """A moment without seconds."""
    return f"{at:%d %b %H:%M}"
