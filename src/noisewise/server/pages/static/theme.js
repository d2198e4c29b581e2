// Before anything is drawn: the theme that this person chose here, if any.
"use strict";
try {
  const chosen = localStorage.getItem("noisewise-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch (refused) { /* no storage: the system's theme */ }
