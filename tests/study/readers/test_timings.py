"""Readers of timings: what each makes of real files, and the traps of each format."""

import json
import re
import shutil

import numpy as np
import pytest
from tests.support.reader_cases import fixture

import noisewise as nw
from noisewise.readers import ResultFile


def rows(readout):
    return {row.fields["option"]: dict(row.fields) for row in readout.rows}


def read_text(text, reader, **choices):
    return nw.readers.read(ResultFile(None, text.encode(), "some.file"), reader, **choices)


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    return ResultFile(None, json.dumps(content).encode(), path.name)


# hyperfine

HYPERFINE = fixture("hyperfine", "parameters.json")


def test_hyperfine_tells_the_single_times():
    told = rows(nw.readers.read(HYPERFINE))
    written = json.loads(HYPERFINE.read_text())["results"]
    assert list(told) == ["sort data.txt", "tac data.txt", "sort -r data.txt"]
    for result in written:
        mine = told[result["command"]]
        assert mine["values"] == result["times"]
        assert np.mean(mine["values"]) == pytest.approx(result["mean"], rel=1e-12)
        assert np.std(mine["values"], ddof=1) == pytest.approx(result["stddev"], rel=1e-9)


def test_times_are_told_in_the_unit_of_the_study():
    seconds, milliseconds = (rows(nw.readers.read(HYPERFINE, unit=unit)) for unit in ("s", "ms"))
    for option, row in seconds.items():
        np.testing.assert_allclose(
            milliseconds[option]["values"], np.multiply(row["values"], 1e3), rtol=1e-15
        )
    study = nw.create_study(":memory:", options=list(seconds), unit="µs", goal="min", eps=1.0)
    study.import_from(HYPERFINE)
    assert study.frame("measurements")["value"][0] == pytest.approx(9916.548125)


def test_another_unit_than_the_study_has_is_refused():
    study = nw.create_study(":memory:", options=["a", "b"], unit="ms", eps=1.0)
    with pytest.raises(ValueError, match="`unit` must be 'ms'"):
        study.import_from(HYPERFINE, unit="s")
    with pytest.raises(ValueError, match="is in s, and the values of this study are in ms"):
        study.tell_many(nw.readers.read(HYPERFINE), unknown="add")
    assert study.n_measurements == 0


def test_runs_that_failed_are_refused_unless_they_are_wanted():
    failed = fixture("hyperfine", "failed.json")
    with pytest.raises(ValueError, match=r"results\[0\] \('false'\): run 1 ended with exit code 1"):
        nw.readers.read(failed, "hyperfine")
    assert list(rows(nw.readers.read(failed, "hyperfine", exit_codes="any"))) == ["false", "true"]

    def killed(content):
        content["results"][1]["exit_codes"][2] = None

    with pytest.raises(ValueError, match=r"results\[1\] \('tac data.txt'\): run 3 was killed by a signal"):
        nw.readers.read(changed(HYPERFINE, killed), "hyperfine")


# pytest-benchmark

PYTEST = fixture("pytest-benchmark", "saved_data.json")


def test_pytest_benchmark_tells_rounds_or_their_mean_and_scatter():
    told = rows(nw.readers.read(PYTEST))
    assert next(iter(told)) == "test_sums.py::test_sum[sum]"
    assert all(len(row["values"]) == 6 for row in told.values())
    readout = nw.readers.read(fixture("pytest-benchmark", "no_data.json"))
    for row in readout.rows:
        assert set(row.fields) == {"option", "value", "sd", "n", "key"}
        assert row.fields["n"] == 6
    assert "--benchmark-save-data" in readout.notes[0]


def test_rounds_and_their_mean_and_scatter_say_the_same():
    def without(content):
        for benchmark in content["benchmarks"]:
            del benchmark["stats"]["data"]

    studies = [
        nw.create_study(":memory:", results=nw.readers.read(file, "pytest-benchmark"), eps=1e-6)
        for file in (PYTEST, changed(PYTEST, without))
    ]
    one, other = (study.frame("measurements") for study in studies)
    np.testing.assert_allclose(one["value"], other["value"], rtol=1e-12)
    np.testing.assert_allclose(one["se"], other["se"], rtol=1e-9)


@pytest.mark.parametrize("version", ["9.0.0", "2.5", "new", ""])
def test_another_version_is_refused_unless_it_is_wanted(version):
    def other(content):
        content["version"] = version

    file = changed(PYTEST, other)
    with pytest.raises(ValueError, match=r"version must be 3, 4, 5, the versions of pytest-benchmark"):
        nw.readers.read(file, "pytest-benchmark")
    assert nw.readers.read(file, "pytest-benchmark", version="any").rows


def test_a_second_run_is_told_beside_the_first_and_a_changed_file_is_refused():
    def later(content):
        content["datetime"] = "2026-11-18T09:00:00+00:00"

    def edited(content):
        content["benchmarks"][0]["stats"]["data"][0] *= 2

    study = nw.create_study(":memory:", results=nw.readers.read(PYTEST), eps=1e-6)
    assert len(study.import_from(PYTEST)) == 0
    assert len(study.import_from(changed(PYTEST, later))) == 3
    with pytest.raises(ValueError, match="if these are corrections"):
        study.import_from(changed(PYTEST, edited))
    assert len(study.import_from(changed(PYTEST, edited), amend="edited by hand").amended) == 1


# Google Benchmark

GOOGLE = fixture("google-benchmark", "repetitions.json")


def test_google_benchmark_tells_repetitions_in_one_unit_and_says_that_aggregates_are_not_used():
    readout = nw.readers.read(GOOGLE)
    told = rows(readout)
    assert list(told) == ["BM_Sort/64", "BM_Sort/4096", "BM_StableSort/4096"]
    assert all(len(row["values"]) == 5 for row in told.values())
    assert readout.unit == "ns"
    in_file = [
        one["real_time"]
        for one in json.loads(GOOGLE.read_text())["benchmarks"]
        if one["run_name"] == "BM_StableSort/4096" and one["run_type"] == "iteration"
    ]
    np.testing.assert_allclose(told["BM_StableSort/4096"]["values"], np.multiply(in_file, 1e3))  # in us there
    assert "are not used" in readout.notes[0]


def test_aggregates_alone_become_mean_scatter_and_number():
    readout = nw.readers.read(fixture("google-benchmark", "aggregates_only.json"), unit="us")
    for row in readout.rows:
        assert set(row.fields) == {"option", "value", "sd", "n", "key"}
        assert row.fields["n"] == 5


# criterion

CRITERION = fixture("criterion")


def test_criterion_tells_the_time_of_an_iteration_in_every_sample():
    readout = nw.readers.read(CRITERION, "criterion")
    assert readout.options == ["fib/fast/20", "fib/slow/20"]
    folder = CRITERION / "fib" / "fast" / "20" / "new"
    written = json.loads((folder / "sample.json").read_text())
    estimate = json.loads((folder / "estimates.json").read_text())["mean"]["point_estimate"]
    values = rows(readout)["fib/fast/20"]["values"]
    np.testing.assert_allclose(values, np.divide(written["times"], written["iters"]), rtol=1e-15)
    assert np.mean(values) == pytest.approx(estimate, rel=1e-12)


def test_without_samples_mean_scatter_and_number_are_told_and_that_is_said(tmp_path):
    shutil.copytree(CRITERION / "fib", tmp_path / "criterion" / "fib")
    for path in tmp_path.rglob("sample.json"):
        path.unlink()
    for path in tmp_path.rglob("benchmark.json"):
        path.unlink()
    readout = nw.readers.read(tmp_path / "criterion", "criterion")
    assert readout.options == ["fib/fast/20", "fib/slow/20"]  # by the folders
    whole = rows(nw.readers.read(CRITERION, "criterion"))
    for option, row in rows(readout).items():
        assert row["n"] == len(whole[option]["values"])
        assert row["sd"] == pytest.approx(np.std(whole[option]["values"], ddof=1), rel=1e-9)
    assert "no sample.json beside it" in readout.notes[0]


# asv

ASV = fixture("asv", "samples.json")


def test_asv_tells_samples_of_every_combination_of_parameters():
    readout = nw.readers.read(ASV, unit="us")
    assert readout.options == [
        "sums.Sums.time_sum(100, 'sum')", "sums.Sums.time_sum(100, 'fsum')",
        "sums.Sums.time_sum(1000, 'sum')", "sums.Sums.time_sum(1000, 'fsum')", "sums.time_join",
    ]  # fmt: skip
    assert all(len(row.fields["values"]) == 10 for row in readout.rows)
    result, *_, samples = json.loads(ASV.read_text())["results"]["sums.Sums.time_sum"]
    for row, median, sampled in zip(readout.rows, result, samples, strict=False):
        np.testing.assert_allclose(row.fields["values"], np.multiply(sampled, 1e6))
        assert np.median(row.fields["values"]) == pytest.approx(1e6 * median)
    said = " ".join(readout.notes)
    assert "another kind are left out: sums.mem_list, sums.track_digits." in said
    assert "failed or were skipped: sums.time_broken." in said


def test_without_samples_asv_tells_intervals_at_99_per_cent_and_says_so():
    readout = nw.readers.read(fixture("asv", "plain.json"))
    for row in readout.rows:
        assert row.fields["level"] == 0.99
        assert row.fields["lo"] <= row.fields["value"] <= row.fields["hi"]
    assert "--record-samples keeps" in readout.notes[0]
    study = nw.create_study(":memory:", results=readout, goal="min", eps=1e-6)
    assert study.n_measurements == 5


def test_an_interval_without_ends_and_a_combination_without_result_are_no_obstacle():
    def few(content):
        result = content["results"]["sums.Sums.time_sum"]
        result[5][0], result[6][0] = float("-inf"), float("inf")
        result[0][1], result[0][2] = None, float("nan")

    readout = nw.readers.read(changed(fixture("asv", "plain.json"), few), "asv")
    told = rows(readout)
    assert set(told["sums.Sums.time_sum(100, 'sum')"]) == {"option", "value", "key"}
    assert "sums.Sums.time_sum(100, 'fsum')" not in told
    assert "sums.Sums.time_sum(1000, 'sum')" not in told


def test_the_folder_of_asv_is_read_without_its_other_files(tmp_path):
    (tmp_path / "results" / "box").mkdir(parents=True)
    shutil.copy(ASV, tmp_path / "results" / "box" / "01234567-existing.json")
    (tmp_path / "results" / "box" / "machine.json").write_text('{"machine": "box", "version": 1}')
    (tmp_path / "results" / "benchmarks.json").write_text('{"version": 2}')
    readout = nw.readers.read(tmp_path / "results", "asv")
    assert len(readout.files) == 1
    assert len(readout.rows) == 5


# Go

GO = fixture("go-bench", "count.txt")


def test_go_tells_the_lines_of_a_benchmark_together():
    readout = nw.readers.read(GO)
    assert readout.options == ["BenchmarkSum/naive", "BenchmarkSum/kahan", "BenchmarkJoin"]
    assert readout.unit == "ns"
    written = [float(x) for x in re.findall(r"BenchmarkJoin-8.*?([\d.]+) ns/op", GO.read_text())]
    assert rows(readout)["BenchmarkJoin"]["values"] == written
    assert readout.notes == ("Names are recorded without the number of processors, -8.",)


def test_numbers_of_processors_that_differ_are_different_options():
    text = "BenchmarkX \t 10 \t 5.0 ns/op\nBenchmarkX-4 \t 10 \t 3.0 ns/op\nBenchmarkX-4 \t 10 \t 3.5 ns/op\n"
    assert read_text(text, "go-bench").options == ["BenchmarkX", "BenchmarkX-4"]
    assert read_text(text, "go-bench", processors="drop").options == ["BenchmarkX"]
    assert read_text(text, "go-bench", processors="keep").rows[1].fields["values"] == [3.0, 3.5]


def test_events_of_go_test_are_read_as_what_they_print():
    events = []
    for line in GO.read_text().splitlines(keepends=True):
        name, tab, rest = line.partition("\t")  # Go prints the name before it measures
        parts = [name + tab, rest] if line.startswith("Benchmark") else [line]
        events += [{"Action": "output", "Package": "example.org/sums", "Output": part} for part in parts]
    text = "\n".join(json.dumps(event) for event in [{"Action": "start"}, *events, {"Action": "pass"}])
    assert [r.fields for r in read_text(text, "go-bench").rows] == [
        r.fields for r in nw.readers.read(GO).rows
    ]


def test_benchmarks_that_failed_are_left_out_and_said():
    readout = nw.readers.read(fixture("google-benchmark", "failed.json"), "google-benchmark")
    assert "BM_Broken" not in readout.options
    assert readout.notes[0] == "Left out, because they failed: BM_Broken (no such device)."
