"""promptfoo (``promptfoo eval -o results.json``): which tests each provider and prompt passed, as items."""

import hashlib
import json
from typing import Any

from noisewise.core.checks import check_choice
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.scores import ItemScore, Telling, averaged, choose_one, tell_scores

#: The version of the format that is read.
VERSION = 3
PASS, SCORE = "pass", "score"
#: What can be compared.
PROVIDER, PROMPT, BOTH = "provider", "prompt", "both"
#: Characters of a label in a name.
_LABEL = 60
#: What promptfoo calls a test that could not be run, among the reasons of failure.
_ERROR = 2


def read(
    file: ResultFile,
    *,
    metric: str = PASS,
    options: str | None = None,
    how: str | None = None,
    missing: Any = None,
) -> Readout:
    """Which tests were passed. Repeats of a test (``--repeat``) are averaged: they are one item.

    Args:
        file: What promptfoo wrote as JSON.
        metric: ``"pass"``, ``"score"``, or the name of one of the named scores.
        options: What is compared: ``"provider"``, ``"prompt"``, or ``"both"``: each provider with each
            prompt. Default: whichever differs.
        how: ``"items"``, ``"counts"`` or ``"values"``; default: items where scores lie from 0 to 1.
        missing: The score of a test that ended with an error.
    """
    telling = Telling(how, missing).check()
    if options is not None:
        check_choice("options", options, (PROVIDER, PROMPT, BOTH))
    whole = file.json()
    version = whole["results"]["version"]
    if version.count() != VERSION:
        raise version.refuse(
            f"is {version.count()}; version {VERSION} is read: export it with a newer promptfoo."
        )
    results = whole["results"]["results"].list(least=1)
    known = [PASS, SCORE, *(name for one in results for name in _named(one))]
    choose_one(file, "metric", known, metric)
    compared = options or _differing(results)
    scores = averaged([_score(one, metric, compared) for one in results])
    run = whole["evalId"].text() if whole.get("evalId") is not None else whole["results"]["timestamp"].text()
    return tell_scores(file, scores, telling, lambda option: f"promptfoo {run} {metric} {option}")


def _named(result: JsonPart) -> list[str]:
    found = result.get("namedScores")
    return [] if found is None else list(found.object())


def _differing(results: list[JsonPart]) -> str:
    providers, prompts = {_provider(one) for one in results}, {_prompt(one) for one in results}
    return PROVIDER if len(prompts) == 1 else PROMPT if len(providers) == 1 else BOTH


def _provider(result: JsonPart) -> str:
    provider = result["provider"]
    if provider.is_a(str):
        return _short(provider.text())
    label = provider.get("label")
    return _short(label.text() if label is not None and label.value else provider["id"].text())


def _prompt(result: JsonPart) -> str:
    return _short(result["prompt"]["label"].text())


def _score(result: JsonPart, metric: str, compared: str) -> ItemScore:
    test, provider, prompt = _test(result), _provider(result), _prompt(result)
    option = {PROVIDER: provider, PROMPT: prompt, BOTH: f"{provider} | {prompt}"}[compared]
    beside = {PROVIDER: prompt, PROMPT: provider, BOTH: ""}[compared]
    reason = result.get("failureReason")
    if reason is not None and reason.count() == _ERROR:
        error = result.get("error")
        why = "it ended with an error" if error is None else str(error.value)
        return ItemScore(result.place, option, _item(test, beside), None, why)
    return ItemScore(result.place, option, _item(test, beside), _value(result, metric))


def _item(test: str, beside: str) -> str:
    return f"{test} | {beside}" if beside else test


def _value(result: JsonPart, metric: str) -> float | None:
    if metric == PASS:
        passed = result["success"]
        if not passed.is_a(bool):
            raise passed.refuse("must be true or false.")
        return float(passed.value)
    if metric == SCORE:
        return result["score"].number()
    named = result.get("namedScores")
    found = None if named is None else named.get(metric)
    return None if found is None else found.number()


def _test(result: JsonPart) -> str:
    """The name of a test: what it is called, or its variables, and a mark of all that makes it what it is."""
    case = result.get("testCase") or result
    said = {name: case.object().get(name) for name in ("vars", "assert", "description")}
    mark = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]
    called, variables = case.get("description"), case.get("vars")
    if called is None and variables is not None:
        return f"{_short(', '.join(f'{k}={v}' for k, v in variables.object().items()))}/{mark}"
    return f"{'test' if called is None else _short(called.text())}/{mark}"


def _short(text: str) -> str:
    """One line, and not all of a long one; a mark keeps those apart that begin alike."""
    line = " ".join(text.split())
    if len(line) <= _LABEL:
        return line
    return f"{line[:_LABEL]}… {hashlib.sha256(line.encode()).hexdigest()[:8]}"


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of promptfoo."""
    head = file.head()
    return '"evalId"' in head and '"results"' in head and '"prompts"' in head


READER = Reader("promptfoo", "promptfoo eval -o results.json", read, looks_like)
