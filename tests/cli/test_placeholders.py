"""Commands with placeholders: every value stays one argument, whatever it is."""
# ruff: noqa: E501 - tables of texts and sentences

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.cli.run_command import PLAIN, read_template

#: Names that have hurt others.
NASTY = [
    "a b", "'", '"', "`id`", "$(id)", "${HOME}", ";rm -rf x", "| cat", "&& id", "> x", "-rf", "--help", "*", "?",
    "~", "#x", "\\", "a\\'b", "{option}", "{{", "}", "%s", "!", "é ü 漢字 🙂", "$'\\n'", "\n", "a\nb", "\t", "'\"'",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(NASTY), st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
)


def of(arguments, shell=False, **values):
    return read_template(arguments, shell=shell).fill(values)


def test_values_stand_in_the_places_of_placeholders():
    assert of(["./m", "{option}", "--name={option}!"], option="a b") == ["./m", "a b", "--name=a b!"]
    assert of(["m", "{ option }"], option="x") == ["m", "x"]
    template = read_template(["m", "{col: learning rate }", "{out}.json"])
    assert template.columns == ("learning rate",)
    assert template.fill({"col:learning rate": "0.1", "out": "/t/o"}) == ["m", "0.1", "/t/o.json"]


@given(texts, texts)
def test_a_value_is_never_split_and_never_read_again(option, column):
    values = {"option": option, "col:x": column}
    filled = read_template(["m", "{option}", "x={col:x}{option}"]).fill(values)
    assert filled == ["m", option, f"x={column}{option}"]


def test_doubled_braces_are_plain_ones():
    assert of(["awk", "{{print $1}}"]) == ["awk", "{print $1}"]
    assert of(["m", '{{"name": "{option}"}}'], option="a") == ["m", '{"name": "a"}']
    assert of(["m", "{{{option}}}"], option="a") == ["m", "{a}"]
    assert of(["m", "{{option}}"]) == ["m", "{option}"]


@given(st.text("{}ab", max_size=8))
def test_a_text_with_all_braces_doubled_is_itself(text):
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert of(["m", doubled]) == ["m", text]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("{optoin}", "{optoin} in the argument '{optoin}' is not a placeholder; there are {option}, {minus}, {job}, "
         "{study}, {items}, {out}, {col:NAME}. Did you mean 'option'? Write {{ and }} for braces"),
        ("{}", "{} in the argument '{}' is not a placeholder"),
        ("{col:}", "{col:} in the argument '{col:}' is not a placeholder"),
        ("{col}", "{col} in the argument"),
        ("{Option}", "Did you mean 'option'?"),
        ("{print $1}", "{print $1} in the argument '{print $1}' is not a placeholder"),
        ("a{", "the argument 'a{' has a single {: double it, {{, if it is not part of a placeholder."),
        ("a}", "the argument 'a}' has a single }: double it, }}, if"),
        ("{option}}", "has a single }"),
        ("{a{option}", "has a single {"),
        ("{\x1b[31m}", r"{\x1b[31m}"),
    ],
)  # fmt: skip
def test_what_is_no_placeholder_is_refused(argument, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_template(["m", argument])


@pytest.mark.parametrize("arguments", [[], [""], ["  "]])
def test_there_must_be_a_command(arguments):
    with pytest.raises(ValueError, match=re.escape("there is no command to measure with: put it behind --")):
        read_template(arguments)


@pytest.mark.parametrize(
    "text",
    ["m {option} | tail -n 1", "echo '{option}'", "eval m {option}", "bash -c {option}", "echo $[ {option} ]",
     "m > {out}", "m --lr {col:lr}"],
)  # fmt: skip
def test_a_text_for_a_shell_has_no_placeholders(text):
    with pytest.raises(ValueError, match=r"must not stand in a text for a shell \(--shell\)"):
        read_template([text], shell=True)
    assert of(["m", "'a b'", "|", "awk", "'{{print $1}}'"], shell=True) == "m 'a b' | awk '{print $1}'"


@pytest.mark.parametrize(
    "arguments",
    [["sh", "-c", "m {option}"], ["/bin/bash", "-ec", "m '{option}'"], ["env", "A=1", "bash", "-x", "-c", "{job}"],
     ["zsh", "-c", "-x", "{option}"], ["su", "-c", "m {option}", "ann"], ["xargs", "sh", "-c", "{option}"], ["fish", "--command", "m {col:lr}"], ["bash", "-ce", "{out}"]],
)  # fmt: skip
def test_the_script_of_a_shell_has_no_placeholders(arguments):
    with pytest.raises(ValueError, match=r"must not stand in a text for a shell \(\w+ -c\)"):
        read_template(arguments)


@pytest.mark.parametrize(
    "text",
    ['bash -c "m $NOISEWISE_OPTION"', "eval $NOISEWISE_OPTION", '"eval" "$NOISEWISE_OPTION"',
     "ls | xargs sh -c $NOISEWISE_OPTION", 'su ann -c "./m $NOISEWISE_OPTION"', 'e\\val "m $NOISEWISE_OPTION"',
     '/bin/sh -ec "$NOISEWISE_OPTION"'],
)  # fmt: skip
def test_no_second_shell_reads_a_value(text):
    with pytest.raises(ValueError, match=r"must not be read by (eval|\w+ -c), which would run"):
        read_template([text], shell=True)
    with pytest.raises(ValueError, match=r"must not be read by"):
        read_template(["sh", "-c", text, "sh", "{option}"])


def test_a_second_shell_finds_values_in_its_environment():
    text = """bash -c './m "$NOISEWISE_OPTION"' | tail -n 1; echo "$NOISEWISE_OPTION" """
    assert of([text], shell=True) == text
    assert of(["sh", "-c", text]) == ["sh", "-c", text]


def test_a_script_takes_values_as_arguments():
    command = ["sh", "-c", './m "$1"', "sh", "{option}"]
    assert of(command, option="$(id)") == ["sh", "-c", './m "$1"', "sh", "$(id)"]
    assert of(["sh", "measure.sh", "-c", "x", "{option}"], option="a") == ["sh", "measure.sh", "-c", "x", "a"]


def test_all_placeholders_are_known():
    assert read_template(["m", *(f"{{{name}}}" for name in PLAIN)]).names == PLAIN
