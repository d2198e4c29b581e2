"""Every way to be refused by a command on studies: one sentence, in the words of the command line."""
# ruff: noqa: E501 - a table of commands and sentences

import errno
import re
import shlex
import sys

import pytest
from tests.support.commands import run

import noisewise as nw
from noisewise.cli.app import main
from noisewise.cli.printing import sentence_of

FILES = {
    "ok.csv": "option,value,se\nA,1,0.1\nB,2,0.1\n",
    "text.csv": "option,value,se\nA,1,0.1\nB,abc,0.1\n",
    "zero.csv": "option,value,se\nA,1,0\n",
    "blank.csv": "option,value,se\nA,1,\nB,2,.1\n",
    "unknown.csv": "option,value,se\nA,1,.1\nZ,2,.1\n",
    "novalue.csv": "option,se\nA,.1\n",
    "empty.csv": "",
    "keys.csv": "option,value,se,key\nA,1,.1,x\nB,2,.1,x\n",
    "job.csv": "job,value,se\nask-99,1,.1\n",
    "item.csv": "option,item,value\nA,zz,1\n",
    "note.txt": "hello",
    "log.jsonl": "{}\n",
    "cert.json": "{}",
    "run.json": '{"results": [{"command": "A", "median": 1, "times": [1, 2], "exit_codes": [0, 1]}]}',
    "sums.csv": "name,users,count,sum,ss\nA,3,3,6,14\n",
    "no.db": "hello world, this is not a database" * 20,
    "features.csv": "name,x,y\nA,1,2\nB,2,3\nC,4,4\n",
    "more.csv": "name,x,y\nE,1,abc\n",
}
#: A command, and what it says.
REFUSED = [
    ("status missing.db", "STORE must be a file that exists; there is no 'missing.db'."),
    ("status s.db -s nosuch", "there is no study 'nosuch' in this store, which has 'study'."),
    ("status two.db", "--study must say which study unless there is one; the store has 'alpha', 'beta'."),
    ("status two.db -s alpa", "there is no study 'alpa' in this store, which has 'alpha', 'beta'. Did you mean 'alpha'?"),
    ("status no.db", "'no.db' is not a store of studies: it is not a database."),
    ("status .", "STORE must be a file; '.' is a folder."),
    ("list missing.db", "STORE must be a file that exists"),
    ("init s.db A B --eps .1", "--study must be new in this store; there is a study 'study' already: take another name, "),
    ("init n.db A B --eps -1", "--eps must be a finite number above 0; got -1.0."),
    ("init n.db A B", "--eps must be given: how far from the best is good enough"),
    ("init n.db A B --confidence 1.5 --eps 1", "--confidence must lie strictly between 0 and 1; got 1.5."),
    ("init n.db A B --model linar --eps .1", "Did you mean 'linear'?"),
    ("init n.db A B --model linear --eps .1", "--features must name at least one column for a linear model"),
    ("init n.db features.csv --map option=name --features z --model linear --eps .1", "--features must name columns of OPTIONS"),
    ("init n.db missing.csv --eps .1", "OPTIONS must be names or a table; 'missing.csv' looks like a file that does not exist"),
    ("init n.db A B --goal maximum --eps .1", "--goal must be one of 'max', 'min'; got 'maximum'."),
    ("init n.db A B --eps .1 --budget 0", "--budget must be at least 1; got 0."),
    ("init n.db A B --eps .1 --measure ratings:1,0", "bounds in --measure must be low, high, with low below high"),
    ("init n.db A B --eps .1 --policy vaeee", "unknown rule 'vaeee'"),
    ("init n.db A B --eps .1 --measure items:missing.csv", "--items must be a file that exists"),
    ("init n.db A B --eps .1 --measure items:-3", "must be at least 1; got -3."),
    ("init n.db A B --eps .1 --measure items:features.csv", "--measure must be a table with a column item"),
    ("init n.db A B --eps .1 --measure count", "--measure must be "),
    ("init n.db A B --eps .1 --errors floor=-1", "--errors floor must be a finite number above 0"),
    ("init n.db A B --eps .1 --model linear:1", "--deviation goes with --model \"linear+deviation\" or \"smooth\""),
    ("init nodir/n.db A B --eps .1", "STORE must be in a folder that exists"),
    ("init n.db features.csv --map option=nope --eps .1", "--map option must name columns of OPTIONS"),
    ("init n.db features.csv --map option=name,cost=nope --eps .1", "--map cost must name columns of OPTIONS"),
    ("init n.db empty.csv --eps .1", "'empty.csv' is empty."),
    ("ask s.db -n 0", "-n must be at least 1; got 0."),
    ("ask s.db --sigma -1", "--sigma must be a finite number above 0"),
    ("ask s.db --probe both", "--probe must be one of 'option', 'difference'; got 'both'."),
    ("ask s.db --lease 0", "--lease must be above 0"),
    ("ask s.db --out x.txt", "--out must end in .csv; got 'x.txt'."),
    ("ask s.db --out nodir/x.csv", "--out must be in a folder that exists; got 'nodir/x.csv'."),
    ("ask s.db --block ''", "--block must not be empty; leave it out instead."),
    ("ask s.db --items 5", "this study began with other measurements"),
    ("tell s.db", "say what was measured: a job, an option, or --plus and --minus."),
    ("tell s.db A", "VALUE must be given: the number that came out of the measurement; got nothing."),
    ("tell s.db Z 1 --se .1", "'Z' is not in the catalogue (3 options). There are A, B, C."),
    ("tell s.db a 1 --se .1", "'a' is not in the catalogue (3 options). Nearest: A."),
    ("tell s.db A abc --se .1", "VALUE must be a number"),
    ("tell s.db A 1 --se -1", "--se must be a finite number above 0; got -1.0."),
    ("tell s.db A 1 --se 0", "make the study with --errors floor=SIZE"),
    ("tell s.db A 1 --se 0,4", "--se must have a decimal point, as in 0.4;"),
    ("tell s.db A 1 --se .1 --var .2", "give exactly one of se, var, sd+n"),
    ("tell s.db A 1 --sd .1", "Give --n as well, or use --se."),
    ("tell s.db A 1 --n 3", "--n goes with --sd, the scatter of n readings; got --n 3 without it."),
    ("tell s.db A 1 --ci 2,3", "--ci 2,3 must contain the value 1."),
    ("tell s.db A 1 --ci 0.5", "--ci must be a pair (lo, hi)"),
    ("tell s.db A 1 --ci 0,2 --level 2", "--level must lie strictly between 0 and 1"),
    ("tell s.db A --values 1", "--values must be a list of at least two readings"),
    ("tell s.db A --successes 5", "--successes and --trials go together; one of them is missing."),
    ("tell s.db A --successes 11 --trials 10", "--successes 11 cannot exceed --trials 10."),
    ("tell s.db A 0.5 --successes 5 --trials 10", "--successes and --trials bring their own value; leave VALUE out."),
    ("tell s.db ask-99 1 --se .1", "WHAT must be a suggestion of this study (the latest: ask-1, ask-2); got 'ask-99'."),
    ("tell s.db 1 --plus A", "--plus and --minus go together: a difference has two options."),
    ("tell s.db 1 --plus A --minus A --se .1", "a difference needs two different options; got 'A' twice."),
    ("tell s.db A 1e300 --se .1", "VALUE 1e+300 must lie between -1e+50 and 1e+50: change the unit."),
    ("tell s.db A nan --se .1", "VALUE must be a finite number; got nan."),
    ("tell s.db A 1 --se .1 --key k1 --block q", "key k1 already told with no block; you sent 'q'."),
    ("tell s.db A 2 --se .1 --key k1", "key k1 already told with 1; you sent 2. Use amend on m-1"),
    ("tell s.db A 1 --se .1 --cost -1", "--cost must lie between 0 and 1e+50"),
    ("tell s.db A 1 --blok x", "there is no option --blok. Did you mean '--block'?"),
    ("tell i.db A 1", "give --items ITEM=VALUE,... (or a table with a column item)"),
    ("tell i.db A --items q=1", "'q' is not among the 20 items of this study."),
    ("tell i.db A --items q", "--items must look like q17=1,q18=0; got 'q'."),
    ("tell i.db A --items q=x", "--items must be a number"),
    ("tell i.db A --items q=1,q=0", "--items must name each item once"),
    ("import s.db missing.csv", "TABLE must be a file that exists; there is no 'missing.csv'."),
    ("import s.db text.csv", "row 2 (B, line 3): `value` must be a number"),
    ("import s.db zero.csv", "make the study with --errors floor=SIZE"),
    ("import s.db blank.csv", "row 1 (A, line 2): no error bar in se."),
    ("import s.db unknown.csv", "row 2 (line 3): 'Z' is not in the catalogue (3 options). There are A, B, C."),
    ("import s.db novalue.csv", "row 1 (A, line 2): `value` must be given"),
    ("import s.db empty.csv", "'empty.csv' is empty."),
    ("import s.db keys.csv", "row 2 (line 3): key x is in row 1 (line 2), too, with different content"),
    ("import s.db job.csv", "row 1 (line 2): `job` must be a suggestion of this study"),
    ("import i.db item.csv", "row 1 (line 2): 'zz' is not among the 20 items of this study."),
    ("import s.db ok.csv --map value", "--map must look like value=HV,se=HV_se; got 'value'."),
    ("import s.db ok.csv --map foo=bar", "--map knows option, plus"),
    ("import s.db ok.csv --map value=nocol", "--map must name columns of the table"),
    ("import s.db ok.csv --amend ''", "--amend must say why, in a few words; got nothing."),
    ("amend s.db m-99 why --value 1", "MEASUREMENT must be one of this study's 1, by its id (m-1, …) or key; got 'm-99'."),
    ("amend s.db m-1 why", "say what to correct about m-1: --value, --option, an error bar, --block, --instrument or --note"),
    ("amend s.db m-1 '' --value 2", "REASON must say why"),
    ("amend s.db k1 why --se -1", "--se must be a finite number"),
    ("void s.db k11 why", "got 'k11'. Did you mean 'k1'?"),
    ("void s.db m-1 ''", "REASON must say why"),
    ("release s.db ask-99 --failed why", "JOB must be a suggestion of this study"),
    ("release s.db ask-1 ask-99", "JOB must be a suggestion of this study (the latest: ask-1, ask-2); got 'ask-99'."),
    ("exclude s.db Z why", "'Z' is not in the catalogue"),
    ("exclude s.db A --undo", "A is not excluded."),
    ("add s.db A", "option 'A' is in the catalogue already."),
    ("add f.db more.csv", "option 'E' has 'abc' for y, which is a number in this study."),
    ("rename s.db nosuch new", "there is no study 'nosuch' in this store"),
    ("rename two.db alpha beta", "NEW must be new in this store; there is a study 'beta' already: take another name, "),
    ("plan s.db --noise -1", "--noise must be a finite number above 0; got -1.0."),
    ("plan s.db --noise abc", "--noise must look like 0.3 or 0.3@0.1; got 'abc'."),
    ("plan s.db --noise .3 --noise .1@1.5", "--noise must leave something of 1"),
    ("plan s.db --menu .3", "--menu must look like 0.3@5, a sigma and its cost; got '.3'"),
    ("plan s.db --paths 0", "--paths must be at least 2"),
    ("plan s.db --noise 1 --menu 1@2", "say either --noise (levels with their shares) or --menu (levels with their costs)."),
    ("plan i.db", "measure at least 2 items of every option first"),
    ("report s.db --out x.txt", "--out must end in .html; got 'x.txt'."),
    ("report s.db --out nodir/x.html", "--out must be in a folder that exists"),
    ("switch s.db", "say what to switch: --model, --deviation, --extra-scatter or --final"),
    ("switch s.db --model linear", "Make a new study, naming --features"),
    ("switch s.db --extra-scatter -1", "--extra-scatter must be a finite number above 0"),
    ("import s.db run.json --from hyperfin", "there is no reader 'hyperfin'; there are"),
    ("import s.db run.json --from hyperfine", "ended with exit code 1, so its time is not that of a success; --choose exit_codes=any takes"),
    ("import s.db run.json --from asv", "'run.json': it must have 'version'. It looks like a file of hyperfine."),
    ("import s.db run.json --from hyperfine --unit kg", "'run.json': times in s cannot be recorded in 'kg': the unit must be one of ns"),
    ("import s.db run.json --from hyperfine --only B --choose exit_codes=any", "'run.json': no option is called 'B'"),
    ("import s.db sums.csv --from sums", "'count' and 'users' could both be n; name it by choosing n=COLUMN."),
    ("import s.db sums.csv --from sums --choose m=users", "has no choice 'm'; it has unit, option, n"),
    ("import s.db sums.csv --from sums --choose n=user", "there is no column 'user' for n; there are 'name', 'users'"),
    ("import s.db sums.csv --from auto --choose n=users --block b --only A --as Z", "'Z' is not in the catalogue (3 options). --add adds it"),
    ("import s.db run.json", "It looks like a file of hyperfine: --from hyperfine reads it."),
    ("init n.db --from sums.csv --eps 1", "It looks like a file of sums: --from sums:sums.csv reads it."),
    ("run missing.db -- ./measure {option}", "there is no 'missing.db'. --new, options and --eps make it."),
    ("certify s.db --verify missing.json", "--verify must be a certificate as JSON; there is no file 'missing.json'."),
    ("certify s.db --verify cert.json", "--verify must be a certificate as JSON."),
    ("export s.db --what nothing", "--what must be one of 'log'"),
    ("export s.db --out nodir/x.jsonl", "--out must be in a folder that exists"),
    ("export s.db --what options --out x.txt", "--out must end in one of .csv, .parquet, .jsonl"),
    ("restore r.db missing.jsonl", "BACKUP must be an exported log; there is no file 'missing.jsonl'."),
    ("restore r.db log.jsonl", "BACKUP must be an exported log of a study"),
    ("backup s.db s.db", "PATH must be a new file; 's.db' exists and stays as it is."),
]  # fmt: skip
#: What only Python calls so, and what nobody should read.
FOREIGN = re.compile(
    r"Errno|Traceback|object is not|could not convert|unhashable|NoneType|\b[a-z_]+=(\s|\.|,|;|$)"
)
#: Columns of a table are called like arguments.
COLUMN = re.compile(r"^Error: row \d")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("refusals")
    for name, text in FILES.items():
        (path / name).write_text(text)
    for line in (
        "init {}/s.db A B C --eps 0.5",
        "init {}/two.db A B --eps .5 -s alpha",
        "init {}/two.db A B --eps .5 -s beta",
        "init {}/f.db {}/features.csv --map option=name --features x,y --model linear --eps .1",
        "init {}/i.db A B --measure items:20 --eps .1 --seed 0",
        "ask {}/s.db -n 2",
        "tell {}/s.db A 1.0 --se .1 --key k1",
    ):
        assert run(*shlex.split(line.replace("{}", str(path)))).exit_code == 0
    return path


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line for line, _ in REFUSED])
def test_a_bad_command_is_refused_in_one_sentence_of_its_own_words(folder, monkeypatch, capsys, line, said):
    monkeypatch.chdir(folder)
    before = nw.load_study("s.db").events()
    monkeypatch.setattr(sys, "argv", ["noisewise", *shlex.split(line)])
    with pytest.raises(SystemExit) as stopped:
        main()
    message = capsys.readouterr().err.strip()
    assert stopped.value.code == 2
    assert message.startswith("Error: ")
    assert said in message
    assert "\n" not in message
    assert message[-1] in ".?'"
    assert not FOREIGN.search(message)
    assert COLUMN.match(message) or not re.search(r"`[a-z_]+`", message)
    assert nw.load_study("s.db").events() == before


def test_what_only_the_system_says_by_a_number_is_a_sentence():
    for number in (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EISDIR, errno.EIO):
        said = sentence_of(OSError(number, "strange words", "results.csv"))
        assert said.startswith("the file 'results.csv' cannot be used, because ")
        assert "Errno" not in said
    assert sentence_of(KeyError("a sentence.")) == "a sentence."


def test_all_that_is_wrong_with_a_call_is_said_at_once(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split("noisewise tell s.db A 1 --se x --n y --trials z"))
    with pytest.raises(SystemExit):
        main()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["--se", "--n", "--trials"]
