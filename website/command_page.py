"""The page of the command line, made from the commands."""

from typing import Any

import typer

from noisewise.cli.app import app
from noisewise.cli.terminal.exits import as_table

HEAD = """\
# Command line

{exits}

Every change of a study is written whole
or not at all. `NO_COLOR` is respected; words fit 80 columns where there is no terminal; warnings and progress
bars go to standard error.
Shell completion: `noisewise --install-completion`.

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
| `noisewise.race/1` | `runs` and `written`, as above (`demo --rules`) |
| `noisewise.demo/1` | `study`, `certificate`, `course` (a list of `measurements`, `bound`, `candidates`), \
`measurements`, `comparisons`, `uniform`, `written` |
| `noisewise.init/1` | `study`, `options` (how many), `model`, `notes`, `policy`, `budget` (or `null`), \
`looks` |
| `noisewise.run/1` | `study`, `made` (whether this run made it), `measured`, `failed` (numbers), `seconds`, \
`ended` (why), `failures` (a list of `job`, `option`, `reason`), `certificate` |
| `noisewise.ask/1` | `study`, `jobs`, `dry_run`, `written` |
| `noisewise.tell/1` | `study`, `measurement`, `warnings` (sentences about what looks like a slip) |
| `noisewise.amend/1` | `study`, `measurement` |
| `noisewise.import/1` | `study`, `told`, `items`, `known`, `voided`, `empty`, `unasked`, `pending` \
(numbers), `amended`, `missing` \
(ids of measurements), `unused_columns`, `dry_run`, `understood`, `notes` |
| `noisewise.status/1` | `study`, `options`, `measurements` (numbers), `model`, `goal`, `eps`, \
`confidence`, `policy`, `budget`, `budget_left` (measurements, or `null`), `pending` (jobs), `certificate`, \
`notes`, `deviation`, `extra_scatter` (the sizes in use, or `null`) |
| `noisewise.best/1` | `study`, `named` (or `null`), `option`, `estimate`, `bound`, `reached`, `sentence`, \
`candidates`, \
`verdict`, `largest_estimate`, `largest_estimate_value`, `rank`, `n_compared`, `withheld` |
| `noisewise.certify/1` | `study`, `certificate`, `remedy` (what to do first if it is withheld), `written` |
| `noisewise.verify/1` | `study`, `agrees`, `problem` (`certify --verify`) |
| `noisewise.verify-log/1` | `fits`, `verdicts` (a list of `what`, `study`, `n_events`, `head`, \
`event`, `problem`, `said`): the command `verify` |
| `noisewise.check/1` | `study`, `ok`, `reduced_chi_square`, `freedom`, `p_value`, `expected`, `problems`, \
`notes`, `worst`, `remedies` (what to do, in words), \
`advice` (arguments of `switch` that would help: `model`, `deviation`, `extra_scatter`), \
`causes` (the likeliest first: `cause`, `words`, `rows`, `remedy`, and `fit`, what it would be then), \
`left_out` (`what`, `name`, `key`, `reduced_chi_square`, `freedom`: the fit without each suspicious row, \
block or option) |
| `noisewise.switch/1` | `study`, `model`, `deviation`, `extra_scatter` (the sizes in use), `was` (the model \
before), `looks`, `certificate` |
| `noisewise.plan/1` | `study`, `sentence`, `eps`, `confidence`, `bound` (now), `by_cost`, \
`block` (measurements in a coming block, or `null`), `batch`, `rule`, `assumed` (in words), \
`forecasts` (see below; the first is the one asked for, of a menu the cheapest), \
`withheld` (why no certificate would be given now), `notes`, `looks` |
| `noisewise.worth/1` | `study`, `sentence`, `information`, `precision`, `equivalent`, `looks`, \
`measurements` (the ledger: see below), `groups` (with `--by`), `written` |
| `noisewise.slot/1` | `study`, `slots`: see below |
| `noisewise.report/1` | `study`, `sentence`, `written` |
| `noisewise.void/1` | `study`, `measurement`, `reason` |
| `noisewise.fail/1` | `study`, `job`, `reason` |
| `noisewise.release/1` | `study`, `jobs` |
| `noisewise.exclude/1`, `noisewise.include/1` | `study`, `option`, `reason` (of the first) |
| `noisewise.add/1` | `study`, `added` |
| `noisewise.list/1` | `studies` (names), `states` (a list of `name`, `state`, `leader`, `bound`, \
`bound_text`, `measurements`, `options`, `last_change`, `problem`; `state` is ready, not yet, \
withheld, no results or unreadable, and `null` where no certificate was computed) |
| `noisewise.rename/1` | `study`, `was` |
| `noisewise.export/1` | `study`, `what`, `rows` (a list; with `--out` how many), `written`; the log itself \
is [JSON lines](storage.md) |
| `noisewise.rebuild/1` | `study`, `events` |
| `noisewise.backup/1` | `studies`, `written` |
| `noisewise.restore/1` | `written`, `kept` (what the old file is called now, or `null`) |
| `noisewise.arena/1` | `against`, `standings`, `matches`, `ratios` (lists: see below), `horizon`, `seed`, … |
| `noisewise.paper/1` | `passed`, `checks` (a list of `section`, `name`, `passed`, `detail`), `written` |

- A policy has `name`, `what`, `options` (name to default), `sees_sigma` (before, if announced, after, never),
  `guarantee`,
  `cost`, `needs_horizon`, `fixed_set`, `compiled`, `order_free`, `pools`, `reconstruction`, `reference`,
  `year`.
- A job has `id`, `option`, `why`, `expires` (ISO 8601, UTC), `sigma`, `by`, `status`, `block` (its name),
  `minus` (the other option of a difference), `together` (the first job of those that are meant for one new
  block without a name), `items` (the names of the items to measure it on) and `fresh` (how many new ones to
  draw besides); `null` where there is none.
- A measurement has `id`, `option`, `minus` (of a difference), `value`, `se` (as people expect it),
  `sigma` (as it
  enters), `kind`, `block`, `notes`.
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
  `sigma` of slots, jobs and levels) parts of a value; values, estimates and all that is told are in the unit
  of the values. Beside each bound stands `bound_ratio`, `eps_ratio`, …: the recommended value over the best
  one where it is just met. `scale` and these fields are there in such studies only.
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
- A slot has `sigma`, `option`, `minus` (of a difference), `cost` (of both options, if a difference), `usual`
  (measurements of the median noise that are worth the same), `information`, `se_before` and `se_after` (of
  the option or the difference; null while nothing is known), `bound_before`, `bound_after` (null also while
  the certificate is `withheld`), `rival`, `recommended`, `block` (that it is thought to be in), `opens`
  (whether it is the first there), `policy` (the one that `ask` follows, if it is not race).
- A run has `policy`, `options`, `replications`, `engine` (what ran it: "plain" or "compiled"),
  `simple_regret`, `standard_error`, `best_found`, `cumulative_regret`, `total_precision`, `regret_bound`,
  `covered`, `rounds`, `stopped_early`: means over the replications at the end; `best_found`, `covered` and
  `stopped_early` are shares. A run of `simulate` also has `rank` (by simple regret; equal means share one),
  `sees_sigma` and `reconstruction`; `left_out` lists, of `all`, each `policy` that does not fit, and the
  `reason`.
- A standing has `policy`, `geometric_mean`, `low`, `high`, `worst`, `rank`, `compared`, `found`, `rounds`,
  `covered`, `microseconds`; a match `cell`, `policy`, `regret`, `low`, `high`, `found`, `certified`,
  `rounds`, `precision`, `covered`, `misses`, `microseconds`, `engine`; a ratio `cell`, `policy`, `against`,
  `ratio`, `low`, `high`, `difference`, `error`. docs/arena.md explains them.
"""


def reference() -> str:
    """The whole page."""
    command: Any = typer.main.get_command(app)
    pages = [HEAD.replace("{exits}", as_table()), _page("noisewise", command)]
    pages += [_page(f"noisewise {name}", sub) for name, sub in command.commands.items()]
    return "\n".join([*pages, TAIL])


def _page(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name, max_content_width=88, terminal_width=88)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## `{name}`\n\n```text\n{text}\n```\n"
