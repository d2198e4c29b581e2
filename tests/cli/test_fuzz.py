"""Commands handed junk: a documented exit code or one sentence; never a traceback, never bad JSON."""

import json
import random
import shlex

import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app

#: 0 done, 1 a check that does not hold, 2 bad input, 3 not yet.
DOCUMENTED = (0, 1, 2, 3, 4)
REFUSED = (ValueError, KeyError, TypeError, OSError)
JUNK = ["", " ", "nan", "inf", "-1", "0", "1e300", "1e-320", "0,4", "1;2", "a\nb", "\x1b[2J", "x" * 1500,
        "=1+1", "\u202e", "--", "None", "ask-1", "m-1", "12.34(5)", "0.1/0.2", "1,2,3", "9" * 20]  # fmt: skip
TABLES = [
    "option,value,se\nA,1,0.1\nB,2,0.1\n",
    "option,value,se,key\nA,1,0.1,k1\nB,2,0.1,k1\n",
    "option,value,se\nA,1\n",
    "option;value;se\nA;1,5;0,1\n",
    "option,value,se\nA,1,\n",
    "option,value,nonsense\nA,1,2\n",
    "job,option,value,se\nask-1,,1.5,0.1\n",
    "job,option,plus,minus,block,value,se\nask-1,A,,,Tue,1.5,0.1\nask-2,,A,B,,0.5,0.1\n",
    "job,plus,minus,block,value,se\nask-2,A,B,,0.5,0.1\n",
    "",
    "option\n",
    '"option,value\n',
    "option,value,se\nA,1e300,1\n",
]


def strict(text):
    """JSON without NaN and infinities."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Fuzzer:
    """A store, and commands with good and bad arguments."""

    def __init__(self, seed, store):
        self.random, self.store = random.Random(seed), str(store)

    def some(self, *good):
        return self.random.choice(good) if self.random.random() < 0.75 else self.random.choice(JUNK)

    def extras(self):
        """Some options with arguments."""
        names = shlex.split("--se --var --sd --n --ci --values --block --key --note --cost --by")
        good = {"--se": "0.1", "--var": "0.1", "--sd": "0.3", "--n": "3", "--ci": "0,3", "--values": "1;2"}
        chosen = self.random.sample(names, self.random.choice([0, 1, 1, 2]))
        return [part for name in chosen for part in (name, self.some(good.get(name, "text"), "0.5"))]

    def command(self):
        """The arguments of one command, and what stands on standard input."""
        some, store = self.some, self.store
        table = self.random.choice(TABLES)
        options = [
            (["tell", store, some("A", "B"), some("1.0", "2(1)"), *self.extras()], None),
            (["tell", store, some("ask-1", "ask-2"), some("1.0"), *self.extras()], None),
            (["ask", store, "-n", some("1", "2"), "--by", some("eve")], None),
            (["ask", store, "--lease", some("1"), "--sigma", some("0.1")], None),
            (["ask", store, "-n", some("1", "3"), "--block", some("Tue")], None),
            (["ask", store, "--probe", some("option", "difference")], None),
            (["import", store, "-"], table),
            (["import", store, "-", "--map", some("value=value", "value=value,se=se", "se=-")], table),
            (["void", store, some("m-1", "k1"), some("wrong")], None),
            (["amend", store, some("m-1"), some("typo"), "--value", some("1.5"), *self.extras()], None),
            (["release", store, some("ask-1"), "--failed", some("cracked")], None),
            (["release", store, some("ask-1"), some("ask-2")], None),
            (["exclude", store, some("C"), some("gone")], None),
            (["exclude", store, some("C"), "--undo"], None),
            (["add", store, some("D", "E"), some("F")], None),
            (["switch", store, "--extra-scatter", some("0.1", "estimate", "0")], None),
            (["export", store, "--what", some("measurements", "options", "events")], None),
            *[([name, store], None) for name in ("status", "certify", "check", "worth")],
        ]
        return self.random.choice(options)


@pytest.mark.parametrize("seed", range(5))
def test_every_command_ends_well_or_with_one_sentence(seed, tmp_path):
    store = tmp_path / "s.db"
    nw.create_study(store, options=["A", "B", "C"], eps=0.5)
    fuzzer = Fuzzer(seed, store)
    for _ in range(25):
        arguments, stdin = fuzzer.command()
        before = nw.load_study(store).events()
        result = CliRunner().invoke(app, [*arguments, "--json"], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            # What `main` turns into one sentence and exit code 2.
            assert isinstance(result.exception, REFUSED), (arguments, result.exception)
            assert str(result.exception.args[0])
        else:
            assert result.exit_code in DOCUMENTED, (arguments, result.output)
        if result.exit_code in (0, 3) and not isinstance(result.exception, REFUSED):
            strict(result.stdout)
        else:
            assert nw.load_study(store).events() == before, arguments
        assert "Traceback" not in result.output
    study = nw.load_study(store)
    strict(study.certificate().to_json())
    for name in ("status", "check", "certify"):
        said = CliRunner().invoke(app, [name, str(store)], catch_exceptions=False)
        assert said.exit_code in DOCUMENTED
        assert "\x1b" not in said.output
