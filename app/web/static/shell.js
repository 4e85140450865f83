// Code of every page: theme, relative times, shortcuts, banners and toasts.

// Shows the controls that need a script when every module of the page has run: a click before that would be lost.
addEventListener("DOMContentLoaded", () => document.documentElement.classList.add("scripted"));

const offset = Date.parse(document.body.dataset.now || new Date().toISOString()) - Date.now();

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// In so many units: "1 h" of time left could be nearly two.
function duration(milliseconds, parts = 1) {
  let rest = Math.max(0, Math.floor(milliseconds / 1000));
  const first = UNITS.findIndex(([size]) => rest >= size);
  const counts = (first < 0 ? UNITS.slice(-1) : UNITS.slice(first, first + parts)).map(([size, unit]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return [count, unit];
  });
  return counts.filter(([count], at) => count || !at).flat().join(" ");
}

// While the server does not respond, the page may be out of date: times stop, and nothing stays green.
export function away(isAway) {
  document.documentElement.classList.toggle("away", isAway);
  banner("server", isAway ? "The server does not respond. This page shows the last known state." : "");
}

export function tick(root = document) {
  if (document.documentElement.classList.contains("away")) return;
  const now = Date.now() + offset;
  for (const time of root.querySelectorAll("time[data-ago], time[data-since], time[data-until]")) {
    const moment = Date.parse(time.dateTime);
    const words = "ago" in time.dataset ? `${duration(now - moment)} ago` : "until" in time.dataset ? duration(moment - now, 2) : duration(now - moment);
    if (time.textContent !== words) time.textContent = words;
  }
  for (const time of root.querySelectorAll("time[data-clock]:not([data-local])")) {
    time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    time.dataset.local = "";
  }
}
tick();
setInterval(tick, 1000);

export function toast(words, isBad = false) {
  const shown = document.createElement("div");
  shown.className = isBad ? "toast bad" : "toast";
  shown.textContent = words;
  document.querySelector("#toasts").append(shown);
  setTimeout(() => shown.remove(), isBad ? 12000 : 5000);
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  // A cookie, so that the server renders the next page with this theme.
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; SameSite=Strict`;
}
document.querySelector("#switch-theme").addEventListener("click", switchTheme);

// What this browser keeps. Storage may be blocked or full: then nothing is kept.
export function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
export function store(key, text) {
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
    return true;
  } catch {
    return false;
  }
}

// Layout, texts and density, remembered in a cookie, so that the server renders the next page so.
for (const button of document.querySelectorAll("[data-choice]")) {
  button.addEventListener("click", () => {
    const { choice, value } = button.dataset;
    const isOn = button.getAttribute("aria-pressed") === "true";
    document.cookie = `${choice}=${isOn ? "" : value}; path=/; max-age=${isOn ? 0 : 31536000}; SameSite=Strict`;
    location.reload();
  });
}

// Does something while its button is disabled. The reason why it failed is shown in `problem`, or in a toast.
export async function attempt(does, button = {}, problem = null) {
  if (problem) problem.textContent = "";
  button.disabled = true;
  try {
    return await does();
  } catch (refused) {
    if (problem) problem.textContent = refused.message;
    else toast(refused.message, true);
  } finally {
    button.disabled = false;
  }
}

export function openDialog(dialog) {
  dialog.querySelector(".problem").textContent = "";
  dialog.showModal();
}
document.addEventListener("click", (event) => {
  if ("cancel" in event.target.dataset) event.target.closest("dialog").close();
});

const keysDialog = document.querySelector("#keys");
document.querySelector("#show-keys").addEventListener("click", () => keysDialog.showModal());

// Opens a dialog and resolves to whether the user confirmed.
export function isConfirmed(dialog) {
  // Browsers send `close` asynchronously. Resolve an earlier dialog now, so that its event cannot answer this one.
  dialog.dispatchEvent(new Event("close"));
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", function settle() {
      if (dialog.open) return;
      dialog.removeEventListener("close", settle);
      done(dialog.returnValue === "yes");
    });
  });
}

const bound = new Map();
export function onKeys(actions) {
  for (const [key, action] of Object.entries(actions)) bound.set(key, action);
}
onKeys({
  "?": () => keysDialog.showModal(),
  t: switchTheme,
});

for (const link of document.querySelectorAll("[data-key]")) onKeys({ [link.dataset.key]: () => link.click() });

let before = "";
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping || document.querySelector("dialog[open]")) return;
  const action = bound.get(`${before} ${event.key}`) ?? bound.get(event.key);
  before = event.key;
  if (action && action(event) !== false) event.preventDefault();
});

// A click elsewhere closes an open menu.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

export function banner(id, words) {
  let shown = document.querySelector(`#banner-${id}`);
  if (!words) return shown?.remove();
  if (!shown) {
    shown = document.createElement("p");
    shown.id = `banner-${id}`;
    shown.className = "banner trouble";
    document.querySelector("#banners").append(shown);
  }
  if (shown.textContent !== words) shown.textContent = words;
}

async function checkReady() {
  // The system page has its own banners.
  if (document.hidden || document.querySelector("#system")) return;
  const answer = await fetch("/ready").catch(() => null);
  const found = (await answer?.json().catch(() => null))?.data;
  if (!found) return;
  banner("queue", found.queue === "down" ? document.body.dataset.queueDown : "");
  const lacksWorker = found.database === "up" && found.workers === 0;
  banner("workers", lacksWorker ? document.body.dataset.noWorker : "");
}
if (!document.querySelector("#token")) {
  checkReady();
  setInterval(checkReady, 20000);
}
