"""Addresses and messages without passwords and other secrets."""

import re
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
#: What an address of PostgreSQL may show; the value of any other parameter is hidden.
HARMLESS = frozenset(
    (
        "host", "hostaddr", "port", "dbname", "user", "sslmode", "application_name", "connect_timeout",
        "target_session_attrs", "gssencmode", "channel_binding", "client_encoding",
    )
)  # fmt: skip
# Up to the last @ before a blank: a password may hold one that was not encoded.
_USER = re.compile(r"(://[^:/?#\s@]*):[^\s/?#]*@")
_PARAMETER = re.compile(r"([?&;\s'\"]|^)([A-Za-z_]+)=([^&\s'\"]+)")
_SECRET = re.compile(r"pass|secret|token|key|pwd", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """An address, or a text with one in it, with its secrets hidden."""
    address = "://" in text

    def hide(found: re.Match[str]) -> str:
        before, name, value = found.groups()
        secret = _SECRET.search(name) or (address and before in ("?", "&") and name not in HARMLESS)
        return f"{before}{name}={HIDDEN if secret else value}"

    return _PARAMETER.sub(hide, _USER.sub(rf"\1:{HIDDEN}@", text))


def without(text: str, secrets: list[str]) -> str:
    """A message in which these secrets are hidden, also as an address would write them."""
    for secret in secrets:
        for written in {secret, unquote(secret), quote(secret), quote(secret, safe=""), quote_plus(secret)}:
            if len(written) > 1:
                text = text.replace(written, HIDDEN)
    return text
