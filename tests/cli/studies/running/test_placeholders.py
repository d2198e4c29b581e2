"""Commands with placeholders: every value stays one argument, whatever it is, also behind a shell."""
# ruff: noqa: E501 - tables of texts and sentences

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.cli.studies.running.placeholders import PLAIN, read_template

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
        ("{optoin}", "{optoin} in the argument '{optoin}' is no placeholder; there are {option}, {minus}, {job}, "
         "{study}, {items}, {out}, {col:NAME}. Did you mean 'option'? Write {{ and }} for braces"),
        ("{}", "{} in the argument '{}' is no placeholder"),
        ("{col:}", "{col:} in the argument '{col:}' is no placeholder"),
        ("{col}", "{col} in the argument"),
        ("{Option}", "Did you mean 'option'?"),
        ("{print $1}", "{print $1} in the argument '{print $1}' is no placeholder"),
        ("a{", "the argument 'a{' has a single {: double it, {{, if it is no part of a placeholder."),
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


ECHO = f"{sys.executable} -c 'import sys, json; print(json.dumps(sys.argv[1:]))'"


def heard(command):
    """The arguments that a program is given by a shell."""
    import json

    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_behind_a_shell_every_value_is_one_word():
    """All at once: a process for each would take long."""
    values = {"option": "", "job": "", "study": ""}
    names = [name for name in values]
    for three in zip(*[iter([*NASTY, "x", "y"])] * 3, strict=False):
        values = dict(zip(names, three, strict=True))
        assert heard(of([ECHO, "{option}", "--a={job}b{study}"], shell=True, **values)) == [
            three[0], f"--a={three[1]}b{three[2]}"
        ]  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from("'\"\\$`;&|()<>{}*?~#! \n\tab-é"), min_size=1, max_size=6),
        min_size=3,
        max_size=3,
    )
)
def test_behind_a_shell_no_mix_of_signs_gets_out(three):
    values = dict(zip(("option", "job", "study"), three, strict=True))
    assert heard(of([ECHO, "{option}", "{job}", "{study}"], shell=True, **values)) == three


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("echo '{option}'", "within quotes"),
        ('echo "a {option}"', "within quotes"),
        ("echo 'it'\\''s' \"{option}\"", "within quotes"),
        ("echo \\{option}", "behind a backslash"),
        ("echo 1 # {option}", "in a comment"),
        ("x=`id` m {option}", "in a text with backquotes"),
        ("cat <<EOF\n{option}\nEOF", "in a text with a here-document"),
        ("echo $(( {option} ))", "in a text with arithmetic"),
        ("echo $[ {option} ]", "in a text with arithmetic"),
        ("echo $(\\\n( {option} ))", "in a text with arithmetic"),
        ("(( x = {option} ))", "in a text with arithmetic"),
        ("[[ {option} -eq 1 ]] && m", "in a text with [[ ... ]]"),
        ("echo ${{x:-{option}}}", "within ${...}"),
        ("echo ${{x:{option}}}", "within ${...}"),
        ("echo ${{x:-${{y:-{option}}}}}", "within ${...}"),
        ("a[{option}]=1", "within brackets"),
        ("eval m {option}", "in a text with 'eval'"),
        ("x=1; eval m {option}", "in a text with 'eval'"),
        ("let x={option}", "in a text with 'let'"),
        ("declare -i x={option}", "in a text with 'declare'"),
        ("unset {option}", "in a text with 'unset'"),
        ("printf -v {option} x", "in a text with 'printf -v'"),
        ("[ -v {option} ] && m", "in a text with '[ -v'"),
        ("test -v {option}", "in a text with 'test -v'"),
        ("(m)#x {option}", "in a comment"),
        ("cat <<-EOF\n{option}\nEOF", "in a text with a here-document"),
        ("cat <<< {option}", "in a text with a here-document"),
        ("echo $'x' {option}", "in a text with $'...'"),
        ('echo "$(m)" {option}', "in a text with $(...) within quotes"),
    ],
)
def test_behind_a_shell_a_placeholder_stands_between_words(text, where):
    with pytest.raises(ValueError, match=re.escape(f"with --shell, {{option}} must not stand {where}")):
        read_template([text], shell=True)
    read_template(
        [text.replace("{option}", "x")], shell=True
    )  # without placeholders, all is the person's own


@pytest.mark.parametrize(
    "text",
    ["m {option} | tail -n 1", "a 'b c' {option} \"d\"", "m a\\ b {option}", "m $(m {option})", "m a#b {option}",
     "# all\nm {option}", "m \"it's\" {option}", "m '`' '$((' {option}", "m {option} > {out}; cat {out}",
     "awk '{{print $1}}' {option}", "[ -f {option} ] && m", "${{HOME}}/m {option}", "grep -v {option} x",
     "printf '%s' {option}", "m evaluate {option}", "m 'eval' {option}", "for x in {option}; do m $x; done"],
)  # fmt: skip
def test_behind_a_shell_much_is_allowed(text):
    read_template([text], shell=True)


def test_a_quote_that_is_not_closed_is_refused():
    with pytest.raises(ValueError, match="a quote that is not closed"):
        read_template(["m {option} 'a"], shell=True)


def test_all_placeholders_are_known():
    assert read_template(["m", *(f"{{{name}}}" for name in PLAIN)]).names == PLAIN
