// Improves pages that work without it: theme, live news.
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
  });
}

// On phones the tab of this page may lie outside.
const here = document.querySelector(".tabs [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - here.parentElement.clientWidth / 2 + here.clientWidth / 2;

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
  timer = setTimeout(poll, pause);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && timer) { clearTimeout(timer); poll(); } });
}
