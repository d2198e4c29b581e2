"""Where a client finds its token, and which file it does not trust."""

import pytest

from noisewise.client.opening import find_token, is_address, read_address

LAB = read_address("https://host.example/lab")


def write(path, text, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def sent(*arguments):
    """The token that would be sent."""
    found = find_token(*arguments)
    assert "nw_" not in repr(found)
    return None if found is None else found.header.removeprefix("Bearer ")


def test_the_argument_goes_before_the_environment_before_the_file(tmp_path):
    write(tmp_path / "noisewise" / "client-tokens", "https://host.example/lab nw_file\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert sent(LAB, None, env) == "nw_file"
    named = write(tmp_path / "mine", "nw_named\n")
    assert sent(LAB, None, env | {"NOISEWISE_TOKEN_FILE": str(named)}) == "nw_named"
    assert sent(LAB, None, env | {"NOISEWISE_TOKEN": " nw_said\n"}) == "nw_said"
    assert sent(LAB, "nw_given", env | {"NOISEWISE_TOKEN": "nw_said"}) == "nw_given"
    assert sent(LAB, named, env) == "nw_named"


def test_a_token_of_the_file_goes_to_its_own_server_only(tmp_path):
    lines = (
        "# mine",
        "https://host.example nw_all",
        "https://host.example/lab nw_lab",
        "https://other nw_other",
    )
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    write(tmp_path / "noisewise" / "client-tokens", "\n".join(lines))
    found = {
        address: sent(read_address(address), None, env)
        for address in (
            "https://host.example/lab", "https://host.example/lab/two", "https://host.example/labor",
            "https://host.example:444/lab", "http://host.example/lab", "https://host.example.evil/lab",
        )
    }  # fmt: skip
    assert list(found.values()) == ["nw_lab", "nw_lab", "nw_all", None, None, None]


def test_a_file_that_others_can_read_is_refused(tmp_path):
    with pytest.raises(PermissionError, match="chmod 600"):
        sent(LAB, write(tmp_path / "t", "nw_secret", 0o644))


@pytest.mark.parametrize("text", ["nw_a nw_b\n", "nw_a\nnw_b\n", "two words\nhttps://x y\n"])
def test_a_file_that_is_none_is_refused_without_showing_it(tmp_path, text):
    with pytest.raises(ValueError, match="must have lines with an address") as caught:
        sent(LAB, write(tmp_path / "t", text))
    assert "nw_" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "a b", "a\r\nHost: evil", "ä" * 10])
def test_what_no_header_can_carry_is_no_token(token):
    with pytest.raises(ValueError, match="must be a token") as caught:
        sent(LAB, token, {})
    assert token == "" or token not in str(caught.value)


def test_addresses_are_read_as_people_write_them():
    assert str(read_address("HTTPS://Host.Example:443/lab/")) == "https://host.example/lab"
    assert str(read_address("http://[::1]:8321")) == "http://[::1]:8321"
    assert read_address("http://[::1]:8321").on_this_machine
    assert not read_address("http://localhost.evil.example").on_this_machine
    assert [is_address(one) for one in ("https://x", "http://x", "x.db", "postgresql://x", None)] == [
        True, True, False, False, False,
    ]  # fmt: skip
