"""Frozen answers of studies: random questions and random sequences of events, over all settings.

Every family of cases has a world (true values, offsets of blocks, sizes of errors) and a sequence of events
that is drawn from it with a fixed seed. While a case is made, its steps are played, so that suggestions can
be answered; what is recorded holds the numbers that were told. `study_player` turns it into calls.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.golden.comparison import RELATIVE
from tests.golden.study_player import Player, play

__all__ = ["NAME", "cases", "play", "relative"]

NAME = "studies"

Told = dict[str, Any]
ANY_BAR = ("se", "var", "ci", "asymmetric", "text")
BLOCKS = {"mon": 0.0, "tue": 0.7, "wed": -0.4, "thu": 0.2}
KINDS_OF_ALLOY = {"cast": 0.0, "rolled": 0.3, "drawn": -0.1}
#: Events besides telling, and how often each happens.
USUAL = {
    "tell": 8.0, "ask": 3.0, "several": 1.2, "table": 1.5, "together": 1.0, "void": 0.8, "amend": 0.8,
    "exclude": 0.5, "include": 0.5, "add": 0.4, "look": 0.3, "wrong": 0.5, "release": 0.5, "wait": 0.2,
}  # fmt: skip
#: No events that choose by looking at values.
BLIND = {"tell": 6.0, "table": 4.0, "void": 0.5, "amend": 0.8, "exclude": 0.2, "together": 1.0, "look": 0.2}


class World:
    """True values, and what measurements of them look like."""

    def __init__(self, rng: np.random.Generator, profile: dict[str, Any]) -> None:
        self.rng = rng
        self.log = profile.get("scale") == "log"
        self.kinds = profile.get("kinds", ("se",))
        self.sigma = profile.get("sigma", 0.15)
        self.ratio = profile.get("ratio", 3.0)  # of the largest error bar to the smallest
        self.extra = profile.get("true_extra", 0.0)
        self.misfit = profile.get("misfit")
        self.blocks = profile.get("blocks", 0.0)  # how many measurements are in blocks
        self.differences = profile.get("differences", 0.0)  # how many are differences
        self.outliers = profile.get("outliers", 0.0)
        self.arms = profile.get("arms", False)
        self.instruments = profile.get("instruments", False)
        self.range = profile.get("range")
        self.options: list[str] = []
        self.heights: dict[str, float] = {}
        self.features: dict[str, list[Any]] | None = None
        self.costs: list[float] | None = None
        self.deviation = profile.get("true_deviation", 0.0)
        self._uses_features = profile.get("features", False)
        self._has_costs = profile.get("costs", False)

    def more(self, n: int, first: str) -> Told:
        """Make more options; returns them as the language has them."""
        names = [f"{first}{k + 1}" for k in range(n)]
        heights = self.rng.normal(0.0, 0.6, n)
        described: Told = {"options": names}
        if self._uses_features:
            x, y = self.rng.uniform(-1.0, 1.0, (2, n)).round(3)
            kinds = [str(kind) for kind in self.rng.choice(list(KINDS_OF_ALLOY), n)]
            if not self.options:
                kinds[: len(KINDS_OF_ALLOY)] = list(KINDS_OF_ALLOY)[:n]
            levels = np.array([KINDS_OF_ALLOY[kind] for kind in kinds])
            heights = 0.8 * x - 0.6 * y + levels + self.deviation * self.rng.standard_normal(n)
            described["features"] = {"x": x.tolist(), "y": y.tolist(), "kind": kinds}
        if self._has_costs:
            described["costs"] = self.rng.uniform(0.5, 3.0, n).round(2).tolist()
        self.options += names
        self.heights |= dict(zip(names, heights.tolist(), strict=True))
        return described

    def measured(self, option: str, minus: str | None = None, block: str | None = None) -> Told:
        """What is told of an option, or of a difference, without saying which."""
        rng, told = self.rng, {}
        mean = self.heights[option] - (0.0 if minus is None else self.heights[minus])
        if self.arms and minus is None:
            block = block or f"trial{rng.integers(4)}"
            told["arm"] = True
        elif block is None and rng.random() < self.blocks:
            block = str(rng.choice(list(BLOCKS)))
        if block is not None:
            told["block"] = block
            if minus is None:
                mean += BLOCKS.get(block, 0.1 * (zlib.crc32(block.encode()) % 7))
        if self.misfit == "offsets" and minus is None:
            mean += 0.8 * (len(self.options) % 2) + 0.8 * float(rng.integers(3))
        if self.instruments and rng.random() < 0.6:
            told["instrument"] = str(rng.choice(["old", "new"]))
        kind = str(rng.choice(self.kinds))
        if minus is not None and kind in ("counts", "ratings", "rating"):
            kind = "se"
        if rng.random() < 0.05:
            told["key"] = f"run-{rng.integers(10_000)}"
        return self._result(kind, mean) | told

    def _result(self, kind: str, mean: float) -> Told:
        rng = self.rng
        sigma = self.sigma * float(self.ratio ** rng.uniform(-0.5, 0.5))
        mean += self.extra * float(rng.standard_normal())
        if kind == "counts":
            trials = int(rng.integers(5, 200))
            return {"successes": int(rng.binomial(trials, 1.0 / (1.0 + np.exp(-mean)))), "trials": trials}
        if kind in ("ratings", "rating"):
            low, high = self.range or (1.0, 5.0)
            drawn = 0.5 * (low + high) + mean * (high - low) / 4.0 + rng.normal(0.0, (high - low) / 5.0, 6)
            drawn = np.clip(drawn.round(1), low, high).tolist()
            return {"value": drawn[0]} if kind == "rating" else {"values": drawn[: int(rng.integers(2, 6))]}
        if kind in ("readings", "sdn", "plain"):
            count = int(rng.integers(3, 8))
            drawn = self._shown(mean + self.sigma * 2.0 * rng.standard_normal(count))
            if kind == "plain":
                return {"value": drawn[0]}
            if kind == "readings":
                return {"values": drawn}
            return {
                "value": round(float(np.mean(drawn)), 4),
                "sd": round(float(np.std(drawn, ddof=1)), 5),
                "n": count,
            }
        error = sigma * float(rng.standard_normal())
        if rng.random() < self.outliers:
            error *= 15.0
        value = self._shown(np.array([mean + error]), sigma)[0]
        return self._with_bar(kind, value, sigma * (abs(value) if self.log else 1.0))

    def _shown(self, values: Any, sigma: float = 0.1) -> list[float]:
        digits = int(max(4.0, 2.0 - np.floor(np.log10(sigma))))
        shown = np.exp(values) if self.log else values
        return [round(float(value), digits) for value in shown]

    def _with_bar(self, kind: str, value: float, se: float) -> Told:
        rng = self.rng
        slip = self.misfit is not None and rng.random() < 0.06
        if self.misfit == "decimal" and slip:
            value *= float(rng.choice([10.0, 0.1, 100.0, -1.0]))
        se = {"variances": se * se, "roots": se**0.5, "understated": se / 4.0, "overstated": 5.0 * se}.get(
            self.misfit or "", se
        )
        se = float(f"{se:.4g}")
        if kind == "var":
            return {"value": value, "var": float(f"{se * se:.6g}")}
        if kind == "ci":
            level = float(rng.choice([0.9, 0.95, 0.68]))
            half = float(f"{1.6 * se:.4g}")
            return {"value": value, "ci": [value - half, value + half], "level": level}
        if kind == "asymmetric":
            return {"value": value, "se": [se, float(f"{0.7 * se:.4g}")]}
        if kind == "text" and not self.log:
            return {"value": f"{value:.2f}({max(1, round(100 * se))})"}
        return {"value": value, "se": se}

    def probe(self, options: list[str]) -> tuple[str, str | None]:
        """What is measured next, at random."""
        if len(options) > 1 and self.rng.random() < self.differences:
            plus, minus = self.rng.choice(options, 2, replace=False)
            return str(plus), str(minus)
        return str(self.rng.choice(options)), None


class Script:
    """A case in the making: its steps are played as they are written down."""

    def __init__(self, rng: np.random.Generator, profile: dict[str, Any]) -> None:
        self.rng, self.profile, self.world = rng, profile, World(rng, profile)
        self.question = self.world.more(profile.get("n", 5), "A") | profile.get("question", {})
        self.question |= {"scale": "log"} if self.world.log else {}
        self.question |= {"range": list(self.world.range)} if self.world.range else {}
        self.steps: list[dict[str, Any]] = []
        self.player = Player(self.question)
        self.told = 0
        self.jobs: dict[int, dict[str, Any]] = {}
        self._n_jobs = 0
        self._excluded: list[str] = []

    def do(self, what: str, **given: Any) -> Any:
        """Write down a step, and play it."""
        step = {"do": what, **given}
        self.steps.append(step)
        answer = self.player.step(step)
        if what == "ask" and "jobs" in (answer or {}):
            for job in answer["jobs"]:
                self._n_jobs += 1
                self.jobs[self._n_jobs] = job
        self.told = len(self.player.study._log.state.told)
        return answer

    def tell(self, option: str, minus: str | None = None, **more: Any) -> None:
        """Tell a measurement of an option, or of a difference."""
        self.do("tell", **self._named(option, minus), **(self.world.measured(option, minus) | more))

    def _named(self, option: str, minus: str | None) -> Told:
        return {"option": option} if minus is None else {"plus": option, "minus": minus}

    def each(self, times: int = 1) -> None:
        """Every option measured, in one table."""
        rows = [
            self._named(name, None) | self._in_a_table(name)
            for _ in range(times)
            for name in self.world.options
        ]
        self.do("table", rows=rows)

    def _in_a_table(self, option: str, minus: str | None = None) -> Told:
        told = self.world.measured(option, minus)
        if isinstance(told.get("se"), list):
            told["se"] = max(told["se"])
        return told

    def answer(self, job: int) -> None:
        """Tell the result of a suggestion."""
        asked = self.jobs.pop(job)
        minus = asked.get("minus")
        block = asked.get("block") or (f"day{job}" if asked.get("together") else None)
        told = self.world.measured(asked["option"], minus, block)
        self.do("tell", answers=job, **self._named(asked["option"], minus), **told)

    def happen(self, n: int) -> None:
        """A random sequence of events."""
        odds = self.profile.get("events", USUAL)
        events, shares = list(odds), np.array(list(odds.values()))
        for event in self.rng.choice(events, n, p=shares / shares.sum()):
            getattr(self, f"_event_{event}")()

    def _event_tell(self) -> None:
        self.tell(*self.world.probe(self.world.options))

    def _event_ask(self) -> None:
        more: Told = {} if self.rng.random() < 0.7 else {"se": 0.1}
        if self.world.differences and self.rng.random() < 0.4:
            more["probe"] = str(self.rng.choice(["option", "difference"]))
        if self.world.blocks and self.rng.random() < 0.4:
            more["block"] = str(self.rng.choice(list(BLOCKS)))
        before = set(self.jobs)
        self.do("ask", **more)
        for job in sorted(set(self.jobs) - before):
            self.answer(job)

    def _event_several(self) -> None:
        before = set(self.jobs)
        self.do("ask", n=int(self.rng.integers(2, 5)))
        jobs = sorted(set(self.jobs) - before)
        for job in jobs[: int(self.rng.integers(1, len(jobs) + 1))] if jobs else []:
            self.answer(job)

    def _event_release(self) -> None:
        if self.jobs:
            some = sorted(self.jobs)[:2]
            self.do(str(self.rng.choice(["release", "fail"])), jobs=some)
            for job in some:
                del self.jobs[job]

    def _event_table(self) -> None:
        rows = []
        for _ in range(int(self.rng.integers(2, 6))):
            option, minus = self.world.probe(self.world.options)
            rows.append(self._named(option, minus) | self._in_a_table(option, minus))
        self.do("table", rows=rows)

    def _event_together(self) -> None:
        probes = [self.world.probe(self.world.options) for _ in range(2)]
        self.do("together", rows=[self._named(*one) | self.world.measured(*one) for one in probes])

    def _event_void(self) -> None:
        if self.told:
            self.do("void", measurement=int(self.rng.integers(1, self.told + 1)))

    def _event_amend(self) -> None:
        if self.told:
            number = int(self.rng.integers(1, self.told + 1))
            row = self.player.study.frame("measurements").row(number - 1, named=True)
            told = self.world.measured(row["option"], row["minus"], row["block"])
            self.do("amend", measurement=number, **{k: told[k] for k in told if k not in ("key", "arm")})

    def _event_exclude(self) -> None:
        if len(self._excluded) < len(self.world.options) - 2:
            self._excluded.append(str(self.rng.choice(self.world.options)))
            self.do("exclude", option=self._excluded[-1])

    def _event_include(self) -> None:
        if self._excluded:
            self.do("include", option=self._excluded.pop())

    def _event_add(self) -> None:
        self.do("add", **self.world.more(int(self.rng.integers(1, 3)), f"N{len(self.world.options)}-"))

    def _event_look(self) -> None:
        self.do("look")

    def _event_wait(self) -> None:
        self.do("wait", seconds=float(self.rng.choice([600.0, 8 * 86400.0])))
        self.jobs.clear()

    def _event_wrong(self) -> None:
        """Something that is refused."""
        option = self.world.options[0]
        wrong: list[Told] = [
            {"do": "tell", "option": "Z9", "value": 1.0, "se": 0.1},
            {"do": "tell", "option": option, "value": 1.0, "se": -0.1},
            {"do": "tell", "option": option, "value": 1.0, "se": 0.1, "var": 0.01},
            {"do": "tell", "option": option, "value": 1.0, "sd": 0.1},
            {"do": "tell", "plus": option, "minus": option, "value": 0.0, "se": 0.1},
            {"do": "tell", "option": option, "successes": 5, "trials": 3},
            {"do": "void", "measurement": 999},
            {"do": "amend", "measurement": 999, "value": 1.0, "se": 0.1},
            {"do": "include", "option": option},
            {"do": "exclude", "option": "Z9"},
            {"do": "add", "options": [option]},
            {"do": "switch"},
            {"do": "release", "jobs": [999]},
            {
                "do": "table",
                "rows": [
                    {"option": option, "value": 1.0, "se": 0.1},
                    {"option": "Z9", "value": 1.0, "se": 0.1},
                ],
            },
            {"do": "ask", "n": 0},
        ]
        step = dict(wrong[int(self.rng.integers(len(wrong)))])
        self.do(step.pop("do"), **step)


Tale = Callable[[Script], None]


def usual(events: int = 10, first: int = 1) -> Tale:
    """Every option once, or several times, and then whatever happens."""

    def told(script: Script) -> None:
        if first:
            script.each(first)
        script.happen(events)

    return told


def from_nothing(script: Script) -> None:
    """Only what was asked for is measured."""
    script.happen(12)


def few(script: Script) -> None:
    """Too little to say anything."""
    for option in script.world.options[: int(script.rng.integers(0, 3))]:
        script.tell(option)
    script.do("ask", n=2)


def finished(script: Script) -> None:
    """A finished table that is looked at once."""
    script.each(int(script.rng.integers(1, 4)))
    script.happen(5)


def switching(*switches: Told) -> Tale:
    """Events, and a change of the model between them."""

    def told(script: Script) -> None:
        script.each(2)
        for switch in switches:
            script.happen(4)
            script.do("switch", **switch)
            script.do("look")
        script.happen(4)

    return told


def changing_policies(script: Script) -> None:
    """Other policies ask."""
    script.each()
    for name in script.rng.choice(["race", "vage", "round_robin", "uniform", "widest"], 2, replace=False):
        script.happen(4)
        script.do("policy", name=str(name))
    script.happen(4)


def with_trials(script: Script) -> None:
    """Trials that tried several options side by side, told arm by arm."""
    rng, world = script.rng, script.world
    for trial in range(int(rng.integers(3, 6))):
        arms = rng.choice(world.options, int(rng.integers(2, 4)), replace=False)
        rows = [{"option": str(arm)} | world.measured(str(arm), None, f"trial{trial}") for arm in arms]
        if rng.random() < 0.5:
            script.do("together", rows=rows)
        else:
            for row in rows:
                script.do("tell", **row)
    script.happen(4)


def network(layout: str) -> Tale:
    """Trials as a table: a row for each difference, or one for each arm."""

    def told(script: Script) -> None:
        rng, heights = script.rng, script.world.heights
        rows: list[Told] = []
        for trial in range(int(rng.integers(4, 9))):
            one, other = (str(name) for name in rng.choice(script.world.options, 2, replace=False))
            level, size = rng.normal(0.0, 0.3), int(rng.integers(30, 200))
            if layout == "network":
                effect = heights[one] - heights[other] + 0.2 * rng.standard_normal()
                rows.append(
                    {
                        "study": f"T{trial}",
                        "treat1": one,
                        "treat2": other,
                        "TE": round(float(effect), 3),
                        "seTE": 0.2,
                    }
                )
                continue
            for arm in (one, other, *script.world.options[:1]):
                if arm in (row["treatment"] for row in rows if row["study"] == f"T{trial}"):
                    continue
                share = 1.0 / (1.0 + np.exp(-level - heights[arm]))
                row: Told = {"study": f"T{trial}", "treatment": arm, "n": size}
                if layout == "arms":
                    row |= {"r": int(rng.binomial(size, share))}
                else:
                    mean = level + heights[arm] + 2.0 * rng.standard_normal() / np.sqrt(size)
                    row |= {"y": round(float(mean), 3), "sd": 2.0}
                rows.append(row)
        script.do("table", rows=rows, layout="network" if layout == "network" else "arms")
        script.happen(3)

    return told


class ItemScript:
    """Answers of options to items, told in the order that all options share."""

    def __init__(self, script: Script, pool: int, low: float, high: float, whole: bool) -> None:
        self.script, self.rng = script, script.rng
        self.easy = {f"q{k + 1}": float(script.rng.normal(0.0, 1.5)) for k in range(pool)}
        self.low, self.high, self.whole = low, high, whole
        self._drawn = 0

    def value(self, option: str, item: str) -> float:
        """What an option answers to an item."""
        easy = self.easy.setdefault(item, float(self.rng.normal(0.0, 1.5)))
        chance = 1.0 / (1.0 + np.exp(-easy - 1.5 * self.script.world.heights.get(option, 0.0)))
        if self.whole:
            return float(self.low + (self.high - self.low) * (self.rng.random() < chance))
        near = np.clip(chance + 0.1 * self.rng.standard_normal(), 0.01, 0.99)
        if self.low > 0.0:
            return round(float(self.low * (self.high / self.low) ** near), 3)
        return round(float(self.low + (self.high - self.low) * near), 2)

    def names(self, option: str, n: int) -> list[str]:
        """The items that come next for an option; without a pool new ones are drawn."""
        known = list(self.script.player.study.next_items(option, n))
        if "pool" not in self.script.question:
            while len(known) < n:
                self._drawn += 1
                known.append(f"d{self._drawn}")
        return known

    def tell(self, option: str, names: list[str], **more: Any) -> None:
        """Tell the answers of an option."""
        if names:
            items = {name: self.value(option, name) for name in names}
            self.script.do("tell", **more, option=option, items=items)

    def happen(self, n: int, batch: int) -> None:
        """Items told at random, or as they are asked for."""
        script, rng = self.script, self.rng
        for option in script.world.options:
            self.tell(option, self.names(option, batch))
        for event in rng.choice(["ask", "tell", "table", "amend", "void", "exclude", "wrong", "look"], n,
                                p=[0.4, 0.25, 0.1, 0.08, 0.03, 0.04, 0.05, 0.05]):  # fmt: skip
            option = str(rng.choice(script.world.options))
            if event == "ask":
                before = set(script.jobs)
                script.do("ask", items=batch)
                for job in sorted(set(script.jobs) - before):
                    asked = script.jobs.pop(job)
                    names = list(asked.get("items", []))
                    for _ in range(asked.get("fresh", 0)):
                        self._drawn += 1
                        names.append(f"d{self._drawn}")
                    self.tell(asked["option"], names, answers=job)
            elif event == "tell":
                self.tell(option, self.names(option, int(rng.integers(1, batch + 1))))
            elif event == "table":
                names = self.names(option, batch)
                rows = [{"option": option, "item": name, "value": self.value(option, name)} for name in names]
                if rows:
                    script.do("table", rows=rows)
            elif event == "amend" and script.told:
                number = int(rng.integers(1, script.told + 1))
                told = script.player.study.frame("items").filter(measurement=f"m-{number}")
                if len(told):
                    name = str(told["item"][0])
                    row = told.row(0, named=True)
                    script.do("amend", measurement=number, items={name: self.value(row["option"], name)})
            elif event == "void" and script.told:
                script.do("void", measurement=script.told)
            elif event == "exclude" and len(script._excluded) < 1:
                script._event_exclude()
            elif event == "look":
                script.do("look")
            elif event == "wrong":
                wrong = [{"q999": 1.0}, {"q1": 1e9}, {}]
                script.do("tell", option=option, items=wrong[int(rng.integers(len(wrong)))])


def items(pool: int = 40, batch: int = 8, low: float = 0.0, high: float = 1.0, whole: bool = True) -> Tale:
    """Options that answer the same items."""

    def told(script: Script) -> None:
        size = pool if "pool" in script.question else 0
        ItemScript(script, size, low, high, whole).happen(12, batch)

    return told


def rounds(batch: int = 6, low: float = 0.01, high: float = 100.0) -> Tale:
    """Rounds in which all options are measured side by side."""

    def told(script: Script) -> None:
        ItemScript(script, 0, low, high, whole=False).happen(8, batch)

    return told


def family(
    count: int, tale: Tale, question: Told | None = None, /, **profile: Any
) -> tuple[int, Tale, dict[str, Any]]:
    """How many cases there are of a family, and what they have in common."""
    return count, tale, profile | {"question": {"eps": 0.3} | (question or {})}


LINEAR = {"model": "linear", "span": 4.0}
DEVIATION = {"model": "linear+deviation", "span": 4.0}
ONCE = {"looks": "once"}
SPAN = {"span": 4.0}
RATED = {"range": (1.0, 5.0)}
#: Families of cases, by name.
FAMILIES = {
    "error-bars": family(7, usual(), kinds=ANY_BAR),
    "asked-from-nothing": family(5, from_nothing),
    "costs": family(6, usual(), {"goal": "min"}, costs=True),
    "floor-and-budget": family(5, usual(), {"noise_floor": 0.12, "budget": 25}),
    "readings": family(4, usual(), kinds=("readings", "sdn")),
    "own-readings": family(2, usual(10, 2), {"scatter": "own"}, kinds=("readings", "sdn", "plain")),
    "pooled-readings": family(5, usual(), {"scatter": "pooled"}, kinds=("readings", "sdn"), instruments=True),
    "own-plain": family(5, usual(10, 4), {"scatter": "own"}, kinds=("plain",)),
    "pooled-plain": family(4, usual(10, 3), {"scatter": "pooled", "goal": "min"}, kinds=("plain",)),
    "plain-in-blocks": family(
        4, usual(10, 3), {"scatter": "pooled"}, kinds=("plain", "readings"), blocks=0.9
    ),
    "counts": family(6, usual(), {"eps": 0.05}, kinds=("counts",)),
    "counts-in-blocks": family(3, usual(), {"eps": 0.05}, kinds=("counts",), blocks=0.9),
    "ratings": family(3, usual(), {"eps": 0.5}, kinds=("ratings", "rating"), **RATED),
    "ratings-in-blocks": family(3, usual(), {"eps": 0.5}, kinds=("ratings", "rating"), blocks=0.8, **RATED),
    "every-kind": family(5, usual(), kinds=(*ANY_BAR, "readings", "sdn", "counts", "plain")),
    "log": family(6, usual(), {"eps": "10%"}, scale="log", kinds=("se", "ci", "var")),
    "log-readings": family(
        3, usual(12, 2), {"eps": 0.1, "goal": "min"}, scale="log", kinds=("readings", "plain")
    ),
    "log-ratings": family(
        2, usual(), {"eps": "20%"}, scale="log", kinds=("ratings", "rating"), range=(0.5, 20.0)
    ),
    "log-in-blocks": family(5, usual(), {"eps": "10%"}, scale="log", blocks=0.8),
    "log-linear": family(4, usual(), LINEAR | {"eps": "10%", "span": "50x"}, scale="log", features=True, n=7),
    "heavy": family(3, usual(8, 5), {"tails": "heavy"}, kinds=("se", "ci"), outliers=0.1),
    "heavy-counts": family(2, usual(9, 3), {"tails": "heavy"}, kinds=("se", "counts"), outliers=0.1),
    "heavy-extra": family(
        1, usual(8, 4), {"tails": "heavy", "extra_scatter": 0.1}, outliers=0.1, true_extra=0.1
    ),
    "blocks": family(5, usual(), blocks=1.0),
    "some-in-blocks": family(4, usual(), {"goal": "min"}, blocks=0.5),
    "differences": family(6, usual(16, 0), differences=1.0),
    "blocks-and-differences": family(6, usual(), blocks=0.7, differences=0.4),
    "trials": family(5, with_trials, arms=True),
    "network-of-differences": family(5, network("network"), n=6),
    "network-of-counts": family(5, network("arms"), n=6),
    "network-of-means": family(4, network("means"), n=5),
    "network-extra": family(2, network("network"), {"extra_scatter": "estimate"}, n=5),
    "linear": family(7, usual(), LINEAR, features=True, n=8),
    "linear-in-blocks": family(5, usual(), LINEAR, features=True, n=7, blocks=0.8, differences=0.3),
    "linear-readings": family(4, usual(), LINEAR, features=True, n=7, kinds=("readings", "se", "plain")),
    "linear-counts": family(3, usual(), LINEAR | {"eps": 0.05}, features=True, n=7, kinds=("counts",)),
    "deviation": family(5, usual(), DEVIATION | {"deviation": 0.3}, features=True, n=8, true_deviation=0.3),
    "deviation-in-blocks": family(
        4, usual(), DEVIATION | {"deviation": 0.3},
        features=True, n=7, true_deviation=0.3, blocks=0.7, differences=0.2,
    ),
    "deviation-estimated": family(
        5, usual(8, 2), DEVIATION | {"deviation": "estimate"}, features=True, n=14, true_deviation=0.3
    ),
    "both-estimated": family(
        4, usual(6, 2), DEVIATION | {"deviation": "estimate", "extra_scatter": "estimate"},
        features=True, n=12, true_deviation=0.3, true_extra=0.15,
    ),
    "extra": family(5, usual(), {"extra_scatter": 0.2}, true_extra=0.2),
    "extra-estimated": family(5, usual(10, 4), {"extra_scatter": "estimate"}, true_extra=0.2),
    "extra-in-blocks": family(2, usual(10, 3), {"extra_scatter": "estimate"}, true_extra=0.2, blocks=0.8),
    "once": family(5, finished, ONCE, events=BLIND, kinds=ANY_BAR),
    "once-blocks": family(5, finished, ONCE, events=BLIND, blocks=0.8, differences=0.3),
    "once-readings": family(4, finished, ONCE, events=BLIND, kinds=("readings", "sdn", "plain")),
    "once-counts": family(3, finished, ONCE | {"eps": 0.05}, events=BLIND, kinds=("counts",)),
    "once-linear": family(5, finished, ONCE | LINEAR, events=BLIND, features=True, n=8),
    "once-deviation": family(
        5, finished, ONCE | DEVIATION | {"deviation": 0.3},
        events=BLIND, features=True, n=8, true_deviation=0.3,
    ),
    "once-extra": family(3, finished, ONCE | {"extra_scatter": "estimate"}, events=BLIND, true_extra=0.2),
    "once-log": family(5, finished, ONCE | {"eps": "5%"}, events=BLIND, scale="log"),
    "switch-model": family(
        5, switching({"model": "linear", "span": 4.0}, {"model": "linear+deviation", "deviation": 0.3}),
        features=True, n=7, true_deviation=0.2,
    ),
    "switch-back": family(4, switching({"model": "independent"}), LINEAR, features=True, n=7),
    "switch-extra": family(
        5, switching({"extra_scatter": "estimate"}, {"extra_scatter": 0.1}, {"extra_scatter": 0.0}),
        true_extra=0.1,
    ),
    "switch-looks": family(5, switching({"looks": "once"}), events=BLIND),
    "policies": family(5, changing_policies),
    "vage": family(5, usual(), SPAN | {"policy": "vage"}),
    "vaee": family(5, usual(), LINEAR | {"policy": "vaee"}, features=True, n=6),
    "round-robin": family(5, usual(), {"policy": "round_robin"}, blocks=0.5),
    "thompson": family(5, usual(), {"policy": "top_two_thompson"}),
    "items": family(6, items(), {"pool": 40, "eps": 0.1}),
    "named-items": family(
        3, items(12, 3), {"pool": [f"q{k + 1}" for k in range(12)], "eps": 0.1, "goal": "min"}
    ),
    "items-without-pool": family(6, items(), {"eps": 0.1}),
    "rated-items": family(4, items(30, 6, 1.0, 5.0, whole=False), {"pool": 30, "eps": 0.3}, **RATED),
    "log-items": family(
        3, items(30, 6, 0.5, 20.0, whole=False), {"pool": 30, "eps": "20%"}, scale="log", range=(0.5, 20.0)
    ),
    "rounds": family(6, rounds(), {"tails": "symmetric", "eps": "5%", "goal": "min"}, scale="log", n=4),
    "rounds-in-a-range": family(
        3, rounds(6, 0.0, 10.0), {"tails": "symmetric", "eps": 0.5}, range=(0.0, 10.0), n=4
    ),
    "wrong-decimal-point": family(6, usual(10, 4), misfit="decimal", n=6),
    "wrong-decimal-point-linear": family(3, usual(8, 3), LINEAR, misfit="decimal", features=True, n=9),
    "variances-as-errors": family(5, usual(8, 4), misfit="variances", ratio=8.0, n=6),
    "roots-as-errors": family(3, usual(8, 4), misfit="roots", ratio=8.0, n=6),
    "understated-errors": family(4, usual(8, 4), misfit="understated"),
    "overstated-errors": family(4, usual(8, 4), misfit="overstated"),
    "hidden-offsets": family(4, usual(8, 4), misfit="offsets"),
    "hidden-scatter": family(4, usual(8, 4), true_extra=0.5),
    "hidden-deviation": family(4, usual(8, 3), LINEAR, features=True, n=10, true_deviation=0.8),
    "beyond-span": family(3, usual(6, 2), {"model": "linear", "span": 0.2}, features=True, n=7),
    "vacuous": family(5, few, n=6),
    "vacuous-readings": family(3, few, kinds=("readings",)),
    "vacuous-linear": family(3, few, LINEAR, features=True, n=8),
    "bars-of-all-sizes": family(4, usual(10, 2), sigma=0.01, ratio=1e6, n=6),
    "bars-of-all-sizes-in-blocks": family(
        4, usual(10, 2), sigma=0.01, ratio=1e6, blocks=0.8, differences=0.2
    ),
    "bars-of-all-sizes-linear": family(4, usual(8, 2), LINEAR, sigma=0.01, ratio=1e6, features=True, n=8),
    "one-option": family(2, usual(8), {"goal": "min"}, n=1),
    "two-options": family(3, usual(10), {"confidence": 0.8}, n=2),
    "many-options": family(3, usual(6), {"confidence": 0.99}, n=25),
    "without-eps": family(5, usual(10), {"eps": None, "span": 4.0}),
    "slow-jobs": family(
        5, usual(12), {"lease": 1800.0},
        events={"several": 5.0, "release": 3.0, "wait": 1.5, "ask": 1.0, "tell": 1.0},
    ),
}  # fmt: skip

#: Questions that are refused.
REFUSED = {
    "no-eps": {"options": ["A", "B"]},
    "no-options": {"options": [], "eps": 0.1},
    "same-name-twice": {"options": ["A", "A"], "eps": 0.1},
    "linear-without-span": {
        "options": ["A", "B"],
        "features": {"x": [0.0, 1.0]},
        "model": "linear",
        "eps": 0.1,
    },
    "deviation-of-independent": {"options": ["A", "B"], "deviation": 0.1, "eps": 0.1},
    "heavy-log": {"options": ["A", "B"], "tails": "heavy", "scale": "log", "eps": 0.1},
    "heavy-once": {"options": ["A", "B"], "tails": "heavy", "looks": "once", "eps": 0.1},
    "rounds-without-range": {"options": ["A", "B"], "tails": "symmetric", "eps": 0.1},
    "once-with-pool": {"options": ["A", "B"], "looks": "once", "pool": 10, "eps": 0.1},
    "own-and-extra": {"options": ["A", "B"], "scatter": "own", "extra_scatter": 0.1, "eps": 0.1},
    "negative-eps": {"options": ["A", "B"], "eps": -0.1},
    "sure": {"options": ["A", "B"], "eps": 0.1, "confidence": 1.0},
}


#: What an optimiser finds differs by about this part of itself between processors.
OF_ESTIMATED_SIZES = 1e-6


def relative(case: dict[str, Any], path: str) -> float:
    """How exact a number is: an optimiser finds sizes that are estimated, and tries them as remedies."""
    settings = [case["question"], *case["steps"]]
    estimated = any(
        one.get(size) == "estimate" for one in settings for size in ("deviation", "extra_scatter")
    )
    estimated |= any(one.get("model") == "linear+deviation" and "deviation" not in one for one in settings)
    return OF_ESTIMATED_SIZES if estimated or ".causes." in path else RELATIVE


#: Cases in which two suggestions are equally good up to rounding: processors choose one or the other.
TIES = ("heavy-1",)


def write_case(rng: np.random.Generator, tale: Tale, profile: dict[str, Any]) -> dict[str, Any]:
    """A case of a family, drawn from the generator."""
    script = Script(rng, profile)
    tale(script)
    question = {key: given for key, given in script.question.items() if given is not None}
    return {"question": question, "steps": script.steps}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All cases; the number of a case is its seed."""
    for name, (count, tale, profile) in FAMILIES.items():
        for number in range(1, count + 1):
            if f"{name}-{number}" in TIES:
                continue
            rng = np.random.default_rng([zlib.crc32(name.encode()), number])
            question = {"seed": number} | profile["question"]
            yield f"{name}-{number}", write_case(rng, tale, profile | {"question": question})
    for name, question in REFUSED.items():
        yield f"refused-{name}", {"question": question, "steps": []}
