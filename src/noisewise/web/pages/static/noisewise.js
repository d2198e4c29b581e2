// Improves pages that work without it: theme, live news, a chart one can point at.
"use strict";

const body = document.body;

// Theme.
const themes = document.querySelector(".theme");
if (themes) {
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => { themes.textContent = isDark() ? "Light" : "Dark"; };
  themes.hidden = false;
  name();
  themes.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("noisewise-theme", next); } catch (refused) { /* until the page is left */ }
    name();
    drawCourses();
  });
}

// On phones the tab of this page may lie outside.
const here = document.querySelector(".tabs [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - here.parentElement.clientWidth / 2 + here.clientWidth / 2;

// Round values for an axis, few enough to be read: 1, 2 and 5 times powers of ten, or even steps in a narrow range.
function roundSplits(chart, axis, low, high) {
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const step of steps) {
        const value = Number(step + "e" + power);
        if (value >= low && value <= high) found.push(value);
      }
    }
    if (found.length < 3) break;
    if (found.length < 8) return found;
  }
  const size = 10 ** Math.floor(Math.log10((high - low) / 4));
  const step = [1, 2, 5, 10].map((one) => one * size).find((one) => (high - low) / one <= 5);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// A chart of the bound that can be read off; the drawing of the server stays where this fails.
let drawn = [];
function drawCourses() {
  drawn.forEach((one) => one.destroy());
  drawn = [];
  document.querySelectorAll("[data-course]").forEach((box) => {
    const plane = box.querySelector(".plane");
    if (!plane || typeof uPlot === "undefined") return;
    const course = JSON.parse(box.dataset.course);
    const look = (part, what, otherwise) => {
      const found = plane.querySelector(part);
      return found ? getComputedStyle(found)[what] : otherwise;
    };
    const ink = look("text", "fill", "#777"), font = "12px " + getComputedStyle(body).fontFamily;
    const colours = { line: look(".line", "stroke", "#27c"), grid: look(".grid", "stroke", "#ccc"), edge: getComputedStyle(body).color };
    let live = box.querySelector(".course-live");
    if (!live) {
      live = document.createElement("div");
      live.className = "course-live";
      live.setAttribute("aria-hidden", "true"); // its words stand beside the server's drawing
      plane.before(live);
    }
    live.replaceChildren();
    const reading = document.createElement("output");
    reading.className = "reading";
    live.append(reading);
    const least = Math.min(...course.y.filter((one) => one > 0), course.eps || Infinity) / 2;
    const heights = course.y.map((one) => Math.max(one, least));
    const level = course.x.map(() => course.eps);
    const unit = course.unit ? " " + course.unit : "";
    const round = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
    const roundUp = (value) => { // a bound is never shown smaller than it is
      if (!(value > 0)) return "0";
      const size = 10 ** (Math.floor(Math.log10(value)) - 1);
      return round(Math.ceil(value / size * (1 - 1e-12)) * size);
    };
    plane.classList.add("hidden-text");
    const axis = { stroke: ink, font, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
    const chart = new uPlot({
      width: live.clientWidth || 300, height: 250, padding: [12, 28, 0, 0],
      scales: { x: { time: false, range: (u, low, high) => [low, Math.max(high, low + 1)] }, y: { distr: 3, range: (u, low, high) => [low / 1.25, high * 1.25] } },
      legend: { show: false }, cursor: { y: false, points: { size: 7 } },
      axes: [{ ...axis, grid: { show: false }, values: (u, all) => all.map((one) => Number.isInteger(one) ? one.toLocaleString("en") : "") },
        { ...axis, size: 56, splits: roundSplits, filter: (u, all) => all, values: (u, all) => all.map((one) => one === null ? "" : round(one)) }],
      series: [{},
        { stroke: colours.line, width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: course.x.length < 40, size: 5 } },
        { stroke: colours.edge, width: 1, dash: [5, 4], points: { show: false } }],
      hooks: { draw: [(u) => {
        if (course.eps === null) return;
        u.ctx.save();
        u.ctx.fillStyle = colours.edge;
        u.ctx.font = Math.round(12 * devicePixelRatio) + "px " + getComputedStyle(body).fontFamily;
        u.ctx.textAlign = "left";
        u.ctx.fillText("good enough: " + round(course.eps) + unit, u.bbox.left + 4, u.valToPos(course.eps, "y", true) - 6 * devicePixelRatio);
        u.ctx.restore();
      }], setCursor: [(u) => {
        const at = u.cursor.idx;
        const last = course.x.length - 1, place = at === null || at === undefined ? last : at;
        reading.textContent = "after " + course.x[place].toLocaleString("en") + ": " + roundUp(course.y[place]) + unit;
      }] },
    }, [course.x, heights, course.eps === null ? course.x.map(() => null) : level], live);
    reading.textContent = "";
    drawn.push(chart);
  });
}
addEventListener("resize", () => drawn.forEach((one) => {
  one.setSize({ width: one.root.parentElement.clientWidth, height: 250 });
}));
if (document.querySelector("[data-course]")) drawCourses();

// News: the page fetches itself anew when the log goes on, unless somebody is typing in what would change.
const news = document.querySelector("[data-now]");
if (news) {
  const line = document.getElementById("news");
  let known = news.dataset.event, waiting = false;
  const busy = () => {
    const active = document.activeElement;
    return Boolean(active && active.closest("[data-live]") && active.closest("form, details")) ||
      Boolean(document.querySelector("[data-live] details[open] form"));
  };
  const refresh = () => {
    if (busy()) {
      if (line) line.hidden = false;
      waiting = true;
      return;
    }
    if (line) line.hidden = true;
    waiting = false;
    htmx.trigger(body, "news");
  };
  const heard = (event) => {
    if (String(event) === String(known)) return;
    known = String(event);
    refresh();
  };
  if (line) line.querySelector("button").addEventListener("click", () => location.reload());
  document.addEventListener("focusout", () => { if (waiting) setTimeout(() => { if (waiting) refresh(); }, 300); });
  let pause = 1000, timer = 0;
  const poll = async () => {
    try {
      const answer = await fetch(news.dataset.now, { cache: "no-store" });
      if (answer.ok) { heard((await answer.text()).trim()); pause = Number(news.dataset.pause || 1000); } else pause = Math.min(60000, 2 * pause);
    } catch (unreachable) { pause = Math.min(60000, 2 * pause); }
    timer = setTimeout(poll, document.hidden ? Math.max(pause, 10000) : pause);
  };
  const startPolling = () => { if (!timer) timer = setTimeout(poll, pause); };
  if (news.dataset.events && typeof EventSource !== "undefined") {
    const stream = new EventSource(news.dataset.events + "?after=" + encodeURIComponent(known));
    let opened = false;
    const told = (message) => { if (message.lastEventId) heard(message.lastEventId); };
    stream.onopen = () => { opened = true; clearTimeout(timer); timer = 0; };
    stream.onmessage = told;
    (news.dataset.kinds || "").split(" ").filter(Boolean).forEach((kind) => stream.addEventListener(kind, told));
    stream.onerror = () => {
      if (!opened || stream.readyState === EventSource.CLOSED) stream.close();
      startPolling();
    };
    addEventListener("pagehide", () => stream.close());
  } else startPolling();
  document.addEventListener("visibilitychange", () => { if (!document.hidden && timer) { clearTimeout(timer); poll(); } });
}
// The server computes the course of the bound a little at every look: ask again while something is missing.
let looks = 0;
setInterval(() => {
  const unfinished = document.querySelector("[data-unfinished]");
  if (unfinished && looks < 60 && !document.hidden) { looks += 1; htmx.trigger(unfinished, "more"); }
}, 1200);
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.querySelector("[data-course]") || event.target.matches("[data-course]")) drawCourses();
});

// A link that is shown once: its whole address, and a button that copies it.
const link = document.querySelector("[data-copy]");
if (link) {
  link.textContent = link.href;
  const button = link.parentElement.querySelector(".copy");
  if (button && navigator.clipboard) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(link.href);
      button.textContent = "Copied";
    });
  }
}
