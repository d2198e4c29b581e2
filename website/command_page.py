"""The page of the command line, made from the commands."""

from typing import Any, get_args

import click

from noisewise.cli.app import app
from noisewise.cli.commands import READ
from noisewise.cli.exits import MEANINGS, all_exits
from noisewise.cli.shell import ShellWords
from noisewise.core.refusals import Sentence
from noisewise.operations.table import field_names, load_table

HEAD = """\
# Command line

{exits}

Every change of a study is written whole
or not at all. `NO_COLOR` is respected; output is wrapped at 80 columns without a terminal; warnings and
progress bars go to standard error.
Shell completion: `eval "$(_NOISEWISE_COMPLETE=bash_source noisewise)"` in `~/.bashrc`, or with
`zsh_source` or `fish_source`.

Problems, schedules and rules take options after colons: `sphere:n_actions=100:dim=10`,
`log-uniform:low=0.01`, `weighted_oful:noise=sub-gaussian`.
"""

TAIL = """\
## The JSON

Every command with `--json` prints one object with a `schema` and nothing else; numbers that do not exist are
`null`. A field may be added under the same version, none is renamed or removed.

| schema | fields |
|---|---|
| `noisewise.policies/1` | `policies`, a list: see below |
| `noisewise.simulate/1` | `world` (instance, schedule …), `runs` (see below), `left_out`, `written` |
| `noisewise.design/1` | `options` (a list of `row`, `id`, `weight`), `g_value`, `gap`, `rank`, … |
| `noisewise.demo/1` | `study`, `certificate`, `course` (a list of `measurements`, `bound`, `candidates`), \
`measurements`, `comparisons`, `uniform`, `written` |
{fields}
| `noisewise.run/1` | `study`, `made` (whether this run made it), `measured`, `failed` (numbers), `seconds`, \
`ended` (why), `failures` (a list of `job`, `option`, `reason`), `certificate` |
| `noisewise.arena/1` | `against`, `standings`, `matches`, `ratios` (lists: see below), `horizon`, `seed`, … |
| `noisewise.paper/1` | `passed`, `checks` (a list of `section`, `name`, `passed`, `detail`), `written` |

- A policy has `name`, `what`, `options` (name to default), `sees_sigma` (before, if announced, after, never),
  `guarantee`,
  `cost`, `needs_horizon`, `fixed_set`, `pools`, `reconstruction`, `reference`,
  `year`.
- A job has `id`, `option`, `why`, `expires` (ISO 8601, UTC), `sigma`, `by`, `status`, `block` (its name),
  `minus` (the other option of a difference), `together` (the first job of those for one new
  block without a name), `items` (the names of the items to measure it on) and `fresh` (how many new ones to
  draw as well); `null` where there is none.
- A measurement has `id`, `option`, `minus` (of a difference), `value`, `se` (the conventional standard
  error), `sigma` (the one that the analysis uses), `kind`, `block`, `notes`.
- A certificate has `option`, `bound` (`null`: none yet), `estimate`, `confidence`, `goal`, `eps`,
  `reached`, `sentence`, `verdict` (nothing, withheld, unbounded, undecided, bounded or reached),
  `largest_estimate` (the option whose estimate is best, and `largest_estimate_value`), `rank` (of `option`
  by estimate, among `n_compared`), `spread` (the largest estimated difference), `approximate`,
  `candidates` (all that are not ruled out: every option while it is withheld), `withheld`, `assumptions`,
  `notes`, `radius`, `n_options`, `n_measurements`, `n_events`, `data` (a hash of the question and the
  measurements), `study`, `looks` ("any time" or "once"), `amount` (how much was measured, in words),
  `special` (the assumptions that not every such study rests on), `rests_on` (single measurements of
  `option`), a `schema` of its own, and where they exist `pool` (the claim is about so many items), `wider`
  (the bound for the population that they were drawn from) and `heterogeneous` (a network's bound with
  estimated extra scatter).
- In a study on a log scale (`scale` is `log`), `bound`, `eps`, `spread`, `bound_before` and `bound_after` are
  differences of natural logarithms, and standard errors of what is computed (`se_before`, `se_after`, the
  `sigma` of jobs and levels) are relative to the value; values and estimates are in the unit
  of the values. Each bound has a ratio, `bound_ratio`, `eps_ratio`, …: the recommended value over the best
  one where the bound is just met. `scale` and these fields exist in such studies only.
- A forecast has `name`, `median`, `low`, `high` (measurements; one study in ten needs fewer than `low`, one
  more than `high`; `null`: more than were simulated), `counted` (what these are: "measurement", "comparison",
  "answer"), `each` (trials or readings of one measurement, which are called `piece`), `of_one` (the most for
  one option), `cost`, `cost_low`, `cost_high`, `levels` (`sigma`, `share`, `cost`) and `paths`, how many
  futures were simulated; where further blocks are begun `unit` ("day" or "block"), `blocks`, `blocks_low`,
  `blocks_high`, how many (`null` without). A plan has the `resolution` of the measurements so far, too, and
  `resolution_text`.
- A row of the ledger has `id`, `option`, `minus`, `value`, `sigma`, `block`, `instrument`, `quiet`,
  `precision`, `precision_share`, `information` (nats), `share`, `bound_before`, `bound_after` (`null`: none,
  or not looked at); a group the sums, and `measurements`.
- A run has `policy`, `options`, `replications`,
  `simple_regret`, `standard_error`, `best_found`, `cumulative_regret`, `total_precision`, `regret_bound`,
  `covered`, `rounds`, `stopped_early`: means over the replications at the end; `best_found`, `covered` and
  `stopped_early` are shares. A run of `simulate` also has `rank` (by simple regret; equal means share one),
  `sees_sigma` and `reconstruction`; `left_out` lists, of `all`, each `policy` that does not fit, and the
  `reason`.
- A standing has `policy`, `geometric_mean`, `low`, `high`, `worst`, `rank`, `compared`, `found`, `rounds`,
  `covered`, `microseconds`; a match `cell`, `policy`, `regret`, `low`, `high`, `found`, `certified`,
  `rounds`, `precision`, `covered`, `misses`, `microseconds`; a ratio `cell`, `policy`, `against`,
  `ratio`, `low`, `high`, `difference`, `error`. docs/rules.md explains them.
"""


def reference() -> str:
    """The whole page."""
    context = click.Context(app, info_name="noisewise")
    pages = [HEAD.replace("{exits}", exit_table()), _page("noisewise", app)]
    for name in (READ, *app.list_commands(context)):
        shown = "noisewise" if name == READ else f"noisewise {name}"
        pages.append(_page(shown, app.get_command(context, name)))
    return "\n".join([*pages, TAIL.replace("{fields}", _fields())])


def _fields() -> str:
    """The fields of every operation's JSON."""
    rows = []
    for name, op in load_table().items():
        if "shell" in op.on:
            kinds = [one for one in (op.outcome, *get_args(op.outcome)) if isinstance(one, type)]
            for kind in kinds:
                shown = ", ".join(f"`{one}`" for one in field_names(kind) if one != "more")
                about = "" if op.opens == "store" else "`study`, "
                rows.append(f"| `noisewise.{getattr(kind, 'schema', name)}/1` | {about}{shown} |")
    return "\n".join(rows)


def _page(name: str, command: Any) -> str:
    context = click.Context(command, info_name=name, max_content_width=88, terminal_width=88)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    title = f"{name} TABLE" if name == "noisewise" and command is not app else name
    return f"## `{title}`\n\n```text\n{text}\n```\n"


def exit_table() -> str:
    """All codes of all commands, as a table of the documentation."""
    rows = [f"| {code} | every command | {text} |" for code, text in MEANINGS.items()]
    for command, codes in all_exits().items():
        op = load_table().get(command)
        words = ShellWords({} if op is None else op.params, command)
        rows += [f"| {code} | `{command}` | {Sentence(text).said(words)} |" for code, text in codes.items()]
    return "\n".join(["| exit code | command | meaning |", "|---|---|---|", *rows])
