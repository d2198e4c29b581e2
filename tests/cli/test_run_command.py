"""``noisewise run`` as people use it: real commands, real output, every refusal."""
# ruff: noqa: E501 - scripts and sentences

import json
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import commands
from tests.support.commands import run as typed

import noisewise as nw
from noisewise.cli.app import main
from noisewise.cli.run_command import read_template

#: Prints logs, and then the value of an option with its error.
MEASURE = """#!/bin/sh
echo "measuring $1" >&2
echo "starting"
case "$1" in A) echo "1.0(1)";; B) echo "2.0 ± 0.1";; *) echo '{"value": 0.1, "se": 0.1}';; esac
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a study of three options and a command."""
    monkeypatch.chdir(tmp_path)
    script(MEASURE)
    nw.create_study("s.db", options=["A", "B", "C"], eps=0.5)
    return tmp_path


def script(text, name="measure"):
    Path(name).write_text(text)
    Path(name).chmod(0o755)


def told(store="s.db", name=None):
    return nw.load_study(store, name).frame("measurements")


def reasons(store="s.db"):
    return [event.body["reason"] for event in nw.load_study(store).events() if event.kind == "fail"]


def refused(monkeypatch, capsys, line):
    monkeypatch.setattr(sys, "argv", ["noisewise", *shlex.split(line)])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert said.out == ""
    return left.value.code, said.err.strip()


def test_a_command_measures_until_the_certificate_allows_to_stop():
    found = plain("run", "s.db", "--json", "-j", 3, "--", "./measure", "{option}")
    assert found["schema"] == "noisewise.run/1"
    assert (found["certificate"]["option"], found["certificate"]["reached"]) == ("B", True)
    assert (found["failed"], found["failures"], found["made"]) == (0, [], False)
    assert found["measured"] == len(told()) >= 3
    assert set(told().select("option", "value", "se").rows()) == {
        ("A", 1.0, 0.1),
        ("B", 2.0, 0.1),
        ("C", 0.1, 0.1),
    }
    assert nw.load_study("s.db").pending == []
    done = typed("run", "s.db", "--", "./measure", "{option}")
    assert done.exit_code == 0
    assert done.stdout.startswith("0 measurements in ")
    assert "B is the best of 3" in done.stdout


def plain(*arguments):  # --json must stand before the command
    done = typed(*arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_exit_code_says_whether_it_is_reached():
    command = ["--", "./measure", "{option}"]
    assert typed("run", "s.db", "--budget", 1, *command).exit_code == 3
    assert typed("run", "s.db", "--until", "1e-9", "--budget", 1, *command).exit_code == 3
    late = typed("run", "s.db", "--deadline", "2020-01-31T08:00", *command)
    assert late.exit_code == 3
    assert "the deadline, 2020-01-31 08:00, has passed" in late.stdout
    cheap = typed("run", "s.db", "--until", "spent", "--budget-cost", 1.5, *command)
    assert "do not pay for the next measurement" in cheap.stdout
    assert typed("run", "s.db", "--until", "5", *command).exit_code == 0
    before = len(told())
    assert typed("run", "s.db", "--until", "spent", "--budget", 9, *command).exit_code == 0
    assert len(told()) == before + 9


def test_every_value_is_one_argument_as_it_is():
    names = ["a b", "'", '"$(id)"', ";rm -rf x", "-rf", "é 漢字 🙂", "*", "{option}", "|cat", "a\\b"]
    Path("x").mkdir()
    echo = f"#!{sys.executable}\nimport os, sys\nassert sys.argv[1:] == [os.environ['NOISEWISE_OPTION'], '--o=' + sys.argv[1]], sys.argv\nprint(len(sys.argv[1]), '±', 0.1)\n"
    script(echo, "echo.py")
    nw.create_study("n.db", options=names, eps=50.0)
    done = typed("run", "n.db", "-j", 2, "--", "./echo.py", "{option}", "--o={option}")
    assert done.exit_code == 0, done.output
    assert {(option, len(option)) for option in names} == set(told("n.db").select("option", "value").rows())
    before = len(told("n.db"))
    shell = ["--shell", "--", './echo.py "$NOISEWISE_OPTION" --o="$NOISEWISE_OPTION"']
    assert typed("run", "n.db", "--until", "spent", "--budget", 10, *shell).exit_code == 0
    assert (reasons("n.db"), len(told("n.db"))) == ([], before + 10)
    assert Path("x").is_dir()


def test_a_shell_is_used_only_if_it_is_asked_for():
    done = typed("run", "s.db", "--", "echo", "1 ± 1 | cat; exit 1 #", "{option}")
    assert done.exit_code == 1
    assert "which is not a number alone" in reasons()[0]
    shell = [
        "run",
        "s.db",
        "--budget",
        3,
        "--shell",
        "--",
        "./measure",
        '"$NOISEWISE_OPTION"',
        "|",
        "tail",
        "-n",
        "1",
    ]
    assert typed(*shell).exit_code in (0, 3)
    assert len(told()) == 3


def test_columns_come_from_the_study_or_from_the_table():
    rows = ["A,0.10,32,big,1.5", "B,1e-3,64,small,2", "C,3,8,big,1", "D,4,8,small,1"]
    Path("t.csv").write_text("\n".join(["name,lr,size,kind,cost", *rows]))
    script('#!/bin/sh\necho "$@" >> seen\necho "1 ± 1"\n', "log")
    columns = ["{col:name},{col:lr},{col:size},{col:kind},{col:cost}", "{option}"]

    def seen():
        lines = Path("seen").read_text().splitlines()
        Path("seen").unlink()
        return sorted(line.split()[0] for line in lines)

    study = nw.create_study(
        "c.db",
        options="t.csv",
        roles={"option": "name"},
        model="independent",
        features=["size", "lr", "kind"],
        eps=9.0,
    )
    study.add_options(
        pl.DataFrame({"name": ["E"], "lr": [0.5], "size": [16.5], "kind": ["big"], "cost": [3.0]})
    )
    assert typed("run", "c.db", "--until", "spent", "--budget", 5, "--", "./log", *columns).exit_code == 0
    kept = ["A,0.1,32,big,1.5", "B,0.001,64,small,2", "C,3,8,big,1", "D,4,8,small,1", "E,0.5,16.5,big,3"]
    assert seen() == kept
    new = [
        "run",
        "n.db",
        "--new",
        "t.csv",
        "--map",
        "option=name",
        "--eps",
        9,
        "--until",
        "spent",
        "--budget",
        4,
    ]
    for _ in range(2):
        assert typed(*new, "--", "./log", *columns).exit_code == 0
    assert set(seen()) == set(rows)


def test_a_result_may_be_written_to_a_file():
    script(
        '#!/bin/sh\necho noise\necho "{\\"value\\": 3, \\"se\\": 0.5}" > "$2"; echo "$2" >> seen\n', "write"
    )
    assert typed("run", "s.db", "--budget", 2, "--", "./write", "{option}", "{out}").exit_code == 3
    assert typed("run", "s.db", "--budget", 2, "--", "./write", "{option}", "{out}.json").exit_code in (0, 3)
    assert told()["value"].to_list() == [3.0] * 4
    seen = Path("seen").read_text().split()
    assert len(set(seen)) == 4
    assert not any(Path(path).exists() or Path(path).parent.exists() for path in seen)
    script('#!/bin/sh\necho "4 ± 1" > "$NOISEWISE_OUT"\n', "variable")
    typed("run", "s.db", "--budget", 1, "--until", "spent", "--", "./variable")
    assert told()["value"].to_list()[-1] == 4.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true", "it wrote nothing to {out}"),
        ("mkdir $1", "{out} became a folder, which only a reader (--reader) can take"),
        ("echo 1 > $1.a; echo 2 > $1.b", "it wrote 2 files where {out} is: result.a, result.b: write one"),
        ("head -c 2000000 /dev/zero > $1", "it wrote more than 1 MB to {out}, which is not a result"),
        (
            "echo abc > $1; echo oh no >&2",
            "the last line of what it wrote to {out} is 'abc', which is not a number alone",
        ),
    ],
)
def test_a_file_without_a_result_is_a_failure(text, said):
    script(f"#!/bin/sh\n{text}\n", "bad")
    done = typed("run", "s.db", "--on-error", "raise", "--", "./bad", "{out}", "{option}")
    assert done.exit_code == 1
    assert said in reasons()[0]
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo one >&2; echo two >&2; exit 3", "exit code 3; it said: one | two"),
        ("exit 4", "exit code 4"),
        ("kill -9 $$", "it was ended by signal 9 (SIGKILL)"),
        ("sleep 60", "it took longer than the time-out of 0.5 s, and was ended"),
        ("printf 'w\\303\\n\\033[31mred\\033[0m\\t\\001x\\n' >&2; exit 1", r"exit code 1; it said: w� | red \x01x"),
        ("for i in 1 2 3 4 5 6 7 8; do echo line $i >&2; done; exit 1", "exit code 1; it said: line 4 | line 5 | line 6 | line 7 | line 8"),
        ("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1", "exit code 1; it said: …xxx"),
        ("echo nan", "`value` must be a finite number; got nan"),
        ("echo 1 ± 0", "se is 0. An exact measurement would end the study"),
        ("echo '{\"value\": 1, \"stderr\": 2}'", "it said 'stderr', which is not a field of tell"),
        ("echo; echo why >&2", "its output is empty"),
    ],
)  # fmt: skip
def test_a_failure_is_told_with_its_reason(text, said):
    script(f"#!/bin/sh\n{text}\n", "bad")
    timeout = ["--timeout", "0.5"] if "time-out" in said else []
    done = typed("run", "s.db", *timeout, "--on-error", "raise", "--", "./bad", "{option}")
    assert done.exit_code == 1, done.output
    assert said in reasons()[0]
    assert len(reasons()[0]) <= 500
    assert done.stderr.splitlines()[-1].startswith("Error: ask-1 (A) failed: ")
    study = nw.load_study("s.db")
    assert (study.n_measurements, study.pending) == (0, [])


def test_three_failures_in_a_row_end_a_run_and_an_option_may_be_excluded_instead():
    script('#!/bin/sh\n[ "$1" = C ] && exit 9\nexec ./measure "$1"\n', "fragile")
    done = typed("run", "s.db", "--", "./fragile", "{option}")
    assert done.exit_code == 1
    assert (
        "Error: C failed 3 times in a row, the last time with: exit code 9. Repair what measures it, or exclude the option (--on-error exclude does so by itself).\n"
        in done.stderr
    )
    assert "ask-" in done.stderr.splitlines()[0]
    found = plain("run", "s.db", "--json", "--on-error", "exclude", "--", "./fragile", "{option}")
    assert found["certificate"]["option"] == "B"
    assert [one["reason"] for one in found["failures"]] == ["exit code 9"]


def test_what_failed_is_tried_again_at_once_if_wanted():
    script('#!/bin/sh\n[ -e "$1.seen" ] || { touch "$1.seen"; exit 1; }\nexec ./measure "$1"\n', "second")
    found = plain("run", "s.db", "--json", "--retries", 1, "--", "./second", "{option}")
    assert (found["failed"], reasons()) == (3, [])
    assert len(found["failures"]) == 3


def test_the_command_is_told_what_it_measures_by_its_environment():
    script(
        '#!/bin/sh\necho "$NOISEWISE_OPTION/$NOISEWISE_JOB/$NOISEWISE_STUDY/$(basename "$NOISEWISE_OUT")" >> seen\necho "1 ± 1"\n',
        "log",
    )
    done = typed("run", "s.db", "--budget", 1, "--", "./log")
    assert Path("seen").read_text() == "A/ask-1/study/result\n"
    assert done.stderr.startswith(
        "Warning: the command has no {option}: the option reaches it only as the variable NOISEWISE_OPTION."
    )
    typed("run", "s.db", "--budget", 1, "--", "./measure", "{option}")


def test_a_run_within_a_run_has_variables_of_its_own(monkeypatch):
    monkeypatch.setenv("NOISEWISE_MINUS", "outer")
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", "kept")
    script(
        '#!/bin/sh\necho "$1 ${NOISEWISE_MINUS-unset} $NOISEWISE_CACHE_DIR" >> seen\necho "1 ± 1"\n', "log"
    )
    typed("run", "s.db", "--budget", 1, "--", "./log", "{option}")
    assert Path("seen").read_text() == "A unset kept\n"


def test_the_command_has_the_threads_that_the_person_gave(monkeypatch):
    """Commands on studies limit the threads of their own linear algebra; what they start must not inherit it."""
    from noisewise.cli import threads

    monkeypatch.setattr(threads, "_ours", True)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    script('#!/bin/sh\necho "$1 ${OMP_NUM_THREADS-unset}" >> seen\necho "1 ± 1"\n', "log")
    typed("run", "s.db", "--budget", 1, "--", "./log", "{option}")
    assert Path("seen").read_text() == "A unset\n"


def test_items_are_listed_in_a_file_and_told_by_name():
    study = nw.create_study(
        "i.db", options=["A", "B"], measure=nw.Items([f"q {k}" for k in range(60)]), eps=0.2, seed=0
    )
    score = f"#!{sys.executable}\nimport json, sys\nitems = open(sys.argv[2], encoding='utf-8').read().splitlines()\nprint('log')\nprint(json.dumps({{item: int(sys.argv[1] == 'B' or int(item[2:]) % 3 == 0) for item in items}}))\n"
    script(score, "score")
    found = plain("run", "i.db", "--json", "--", "./score", "{option}", "{items}")
    assert found["certificate"]["option"] == "B"
    assert {kind for kind in told("i.db")["kind"]} == {"items"}
    first = next(event.body["items"] for event in study.events() if event.kind == "ask")
    assert len(first) == 50


def test_differences_are_measured_if_the_command_has_both_options():
    study = nw.create_study("d.db", options=["A", "B"], eps=0.5)
    study.tell(plus="A", minus="B", value=-1.0, se=0.4)
    script('#!/bin/sh\n[ "$1-$2" = A-B ] && echo "-1 ± 0.1" || echo "1 ± 0.1"\n', "both")
    found = plain("run", "d.db", "--json", "--", "./both", "{option}", "{minus}")
    assert found["certificate"]["option"] == "B"
    assert told("d.db")["minus"].null_count() == 0


def test_a_number_without_an_error_bar_goes_by_the_rule_of_the_study():
    nw.create_study("b.db", options=["A", "B"], measure=nw.Ratings(0, 1), eps=0.4)
    script('#!/bin/sh\n[ "$1" = B ] && echo 1 || echo 0\n', "coin")
    found = plain("run", "b.db", "--json", "-j", 2, "--", "./coin", "{option}")
    assert found["certificate"]["option"] == "B"
    assert set(told("b.db")["kind"]) == {"bounded"}


HYPERFINE = """#!/bin/sh
# As hyperfine --export-json does: times in seconds.
case "$1" in A) t=0.5;; *) t=0.2;; esac
json='{"results": [{"command": "x '"$1"'", "mean": '$t', "stddev": 0.001, "median": '$t', "user": 0, "system": 0, "min": '$t', "max": '$t', "times": ['$t', 0.21, 0.22], "exit_codes": [0, 0, 0]}]}'
if [ -n "$2" ]; then echo "$json" > "$2"; else echo "$json"; fi
"""


@pytest.mark.parametrize("out", [["{out}"], ["{out}.json"], []])
def test_a_reader_takes_the_file_that_a_tool_writes_or_prints(out):
    script(HYPERFINE, "tool")
    nw.create_study("h.db", options=["A", "B"], eps=200, goal="min", unit="ms")
    line = shlex.split("run h.db --until spent --budget 4 --reader hyperfine -- ./tool {option}")
    done = typed(*line, *out)
    assert done.exit_code in (0, 3), done.output
    assert (reasons("h.db"), len(told("h.db"))) == ([], 4)
    values = dict(told("h.db").select("option", "value").rows())
    assert values == {"A": pytest.approx(310.0), "B": pytest.approx(210.0)}
    assert set(told("h.db")["kind"]) == {"readings"}


def test_what_a_reader_does_not_understand_is_a_failure():
    script('#!/bin/sh\necho "{}" > "$2"\n', "tool")
    done = typed(
        "run", "s.db", "--on-error", "raise", "--reader", "hyperfine", "--", "./tool", "{option}", "{out}"
    )
    assert done.exit_code == 1
    assert reasons()[0] == "{out}: it must have 'results'"
    script("#!/bin/sh\nhead -c 2000000 /dev/zero\n", "tool")
    typed("run", "s.db", "--on-error", "raise", "--reader", "hyperfine", "--", "./tool", "{option}")
    assert reasons()[1] == "it printed more than 1 MB: let it write to {out} instead"


def test_a_run_whose_certificate_stays_withheld_is_given_up():
    """Values without error bars that never scatter: more of them would not help."""
    nw.create_study("w.db", options=["A", "B"], eps=0.1)
    script("#!/bin/sh\necho 5\n", "constant")
    done = typed("run", "w.db", "-j", 2, "--", "./constant", "{option}")
    assert done.exit_code == 3
    assert "measurements have not changed that the certificate is withheld." in " ".join(done.stdout.split())
    assert "the scatter of measurements without error bars is 0" in " ".join(done.stdout.split())
    assert 30 <= len(told("w.db")) <= 40


def test_on_a_log_scale_a_bound_is_a_part_of_the_best_value():
    script('#!/bin/sh\n[ "$1" = A ] && echo "10 ± 0.1" || echo "30 ± 0.1"\n', "time")
    new = shlex.split("run log.db --new A B --scale log --goal min --eps 5% --unit ms")
    for until in ("40%", "certified"):
        done = typed(*new, "--until", until, "--", "./time", "{option}")
        assert done.exit_code == 0, done.output
    assert nw.load_study("log.db").certificate().option == "A"


def test_a_new_study_is_made_once_and_then_gone_on_with():
    line = ["run", "new.db", "--new", "A", "B", "C", "--eps", "0.5", "--unit", "ms", "-s", "mine", "--json"]
    command = ["--", "./measure", "{option}"]
    first = plain(*line, "--budget", 30, *command)
    assert (first["made"], first["study"]) == (True, "mine")
    again = plain(*line, *command)
    assert (again["made"], again["measured"]) == (False, 0)
    study = nw.load_study("new.db", "mine")
    assert (study.specification.unit, study.specification.eps) == ("ms", 0.5)
    study.add_options(["D"])
    assert plain(*line, *command)["made"] is False
    assert typed("run", "new.db", "--new", "A", "B", "--eps", "0.5", *command).exit_code == 0
    assert nw.load_study("new.db", "study").options == ["A", "B"]


def test_two_runs_that_make_the_same_study_at_once_share_it():
    line = "run two.db --new A B C --eps 0.5 -- ./measure {option}"
    command = [sys.executable, "-m", "noisewise", *shlex.split(line)]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [one.wait() for one in runs] == [0, 0]
    assert nw.load_study("two.db").certificate().option == "B"


REFUSED = [
    ("run s.db", "there is no command to measure with: put it behind --, as in noisewise run study.db -- ./measure {option}."),
    ("run s.db ./measure {option}", "put -- before the command (options stand there only with --new); got './measure {option}' before it."),
    ("run no.db -- ./measure {option}", "STORE must be a file that exists; there is no 'no.db'."),
    ("run s.db -s other -- ./measure {option}", "there is no study 'other' in this store, which has 'study'."),
    ("run s.db -- ./measure {optoin}", "{optoin} in the argument '{optoin}' is not a placeholder"),
    ("run s.db -- ./measure {col:lr}", "{col:lr} must name a column of the options; the study keeps of its table 'id'. Other columns are kept if they are features (init --features), or come from the table itself: give it again with --new."),
    ("run s.db -- ./measure {items}", "{items} is for options that are measured on items; this study has none."),
    ("run s.db -- ./measure {option} {minus}", "{minus} is for studies of differences; this one asks for options."),
    ("run d.db -- ./measure {option}", "this study asks for differences (A - B): the command must have {minus} besides {option}, and print the one minus the other."),
    ("run s.db -- nosuch {option}", "the command 'nosuch' was not found: look for a typing error."),
    ("run s.db -- measure {option}", "the command 'measure' was not found: look for a typing error. There is one in this folder: ./measure."),
    ("run s.db -- ./plain.txt {option}", "the command './plain.txt' is a file that cannot be executed: chmod +x, or name its interpreter."),
    ("run s.db -- ./run_{option} x", "the command './run_A' (option 'A') was not found"),
    ("run s.db -- './measure {option}'", "the command './measure A' (option 'A') is one word with blanks: leave the quotes out."),
    ("run s.db --shell -- 'echo \"{option}\"'", "{option} must not stand in a text for a shell (--shell)"),
    ("run s.db -j 0 -- ./measure {option}", "--workers must be at least 1; got 0."),
    ("run s.db --retries -1 -- ./measure {option}", "--retries must be at least 0; got -1."),
    ("run s.db --timeout soon -- ./measure {option}", "--timeout must be seconds or a time (30, 90s, 5min, 2h); got 'soon'."),
    ("run s.db --until soon -- ./measure {option}", "--until must be certified, spent, or a bound above 0; got 'soon'."),
    ("run s.db --until spent -- ./measure {option}", "--until spent needs --budget, --budget-cost or --deadline."),
    ("run s.db --budget many -- ./measure {option}", "--budget must be a number of measurements (200), a time (90s, 30min, 2h), or both with a comma; got 'many'."),
    ("run s.db --on-error ignore -- ./measure {option}", "--on-error must be one of 'fail', 'raise', 'exclude'; got 'ignore'."),
    ("run s.db --reader hyperfine:colour=red -- ./measure {option}", "reader 'hyperfine' has no choice 'colour'"),
    ("run s.db --eps 1 -- ./measure {option}", "--eps goes with --new. A study that exists keeps what it was made with."),
    ("run n.db --new -- ./measure {option}", "--new needs the options, or their table: noisewise run study.db --new A B --eps 0.1 -- ./measure {option}."),
    ("run n.db --new A B -- ./measure {option}", "--eps must be given: how far from the best is good enough"),
    ("run n.db --new A B --eps 1 -- ./measure {col:x}", "{col:x} must name a column of the options"),
    ("run n.db --new t.csv --eps 1 --map option=name -- ./measure {col:sise}", "{col:sise} must name a column of the options; there are 'name', 'size', 'other'. Did you mean 'size'?"),
    ("run n.db --new t.csv --eps 1 --map option=name -- ./measure {col:other}", "{col:other} has no value for option 'B': fill its cell in, or exclude the option."),
    ("run n.db --new twice.csv --eps 1 --map option=name -- ./measure {col:size}", "row 2 (line 3): {col:size} of option 'A' is '2', and '1' in another row."),
    ("run s.db --new A B --eps .5 -- ./measure {option}", "study 'study' is there already, and was made with the option 'C' as well: leave --new and its flags out to go on with it, or give another name (--study) or store; `noisewise exclude` takes options out."),
    ("run s.db --new A B C --eps .4 -- ./measure {option}", "study 'study' is there already, and was made with --eps 0.5, and not 0.4: leave --new"),
    ("run s.db --new A B C --eps .5 --policy race:sharpness=40 -- ./measure {option}", "was made with --policy race, and not race with these options"),
    ("run s.db --new A B C --eps .5 --measure ratings:0,9 -- ./measure {option}", "was made with --measure none, and not 0.0 9.0"),
    ("run s.db --new A B C --eps 50% --scale log -- ./measure {option}", "was made with --eps 0.5, and not 50 %"),
    ("run s.db --new costs.csv --eps .5 -- ./measure {option}", "study 'study' is there already, and its table of options had other features or costs"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line for line, _ in REFUSED])
def test_every_refusal_is_one_sentence_before_anything_is_started(line, said, monkeypatch, capsys):
    nw.create_study("d.db", options=["A", "B"], eps=0.5).tell(plus="A", minus="B", value=-1.0, se=0.4)
    Path("plain.txt").write_text("echo 1\n")
    Path("t.csv").write_text("name,size,other\nA,1,x\nB,2,\n")
    Path("twice.csv").write_text("name,size\nA,1\nA,2\n")
    Path("costs.csv").write_text("id,cost\nA,1\nB,2\nC,3\n")
    code, message = refused(monkeypatch, capsys, line)
    assert code == 2
    assert message.startswith("Error: ")
    assert said in message
    assert "\n" not in message
    assert [event.kind for event in nw.load_study("s.db").events()] == []
    assert not Path("n.db").exists()


PAGE = Path(__file__).parents[2] / "docs" / "running.md"


def test_the_lines_of_the_page_are_understood():
    (block,) = re.findall(
        r"^```text\n(noisewise run.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    flags = {flag for parameter in commands()["run"].params for flag in parameter.opts}
    lines = [shlex.split(line) for line in block.splitlines()]
    assert len(lines) == 4
    for _, command, *words in lines:
        at = words.index("--")
        assert command == "run"
        assert {word for word in words[:at] if word.startswith("-")} <= flags
        assert read_template(words[at + 1 :]).names
    script('#!/bin/sh\ncase $1 in quick) echo "10 ± 1";; *) echo "90 ± 1";; esac\n', "time-it")
    done = typed(*lines[0][1:])
    assert (done.exit_code, nw.load_study("sort.db").certificate().option) == (0, "quick")


JUNK = ["", " ", "a\nb", "\x1b[2J", "x" * 1500, *shlex.split("nan -1 1e300 0,4 -- { {option} None é * $(id)")]
FLAGS = shlex.split("-j --until --budget --timeout --retries --on-error --reader -s --eps --map --measure")


def test_junk_is_refused_in_one_sentence_or_measured():
    rng = random.Random(5)
    for _ in range(60):
        words = ["run", rng.choice(["s.db", "s.db", "junk.db"]), "--budget", "1"]
        if rng.random() < 0.4:
            words += ["--new", *rng.choices(JUNK, k=2), "--eps", "1"]
        for flag in rng.sample(FLAGS, rng.randint(0, 2)):
            words += [flag, rng.choice(JUNK)]
        words += [
            "--",
            rng.choice(["./measure", "./measure", "echo", *JUNK]),
            *rng.choices([*JUNK, "{option}"], k=2),
        ]
        done = typed(*words)
        assert done.exit_code in (0, 1, 2, 3), words
        if not isinstance(done.exception, SystemExit | None):
            assert isinstance(done.exception, ValueError | KeyError | TypeError | OSError), (
                words,
                done.exception,
            )
            assert all(map(str.strip, str(done.exception).splitlines())), words
