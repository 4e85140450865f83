// The list: live, but never moving under the pointer, the keyboard or a selection.
import { page } from "./api.js";
import { act } from "./bulk.js";
import { live } from "./live.js";
import { onKeys, tick, toast } from "./shell.js";
import { sayingOf, takeOver } from "./takeover.js";

const GAP_MS = 1000;
const pill = document.querySelector("#changed");
let here = null; // the id of the debate that the keyboard stands at
let pointerIsOver = false;

const rowsNow = () => [...document.querySelectorAll("#rows > tr")];
const boxOf = (row) => row.querySelector("input[type=checkbox]");
const selected = () => rowsNow().filter((row) => boxOf(row).checked);

// Live

function replaceRow(old, next) {
  old.classList.remove("gone");
  if (sayingOf(old) === sayingOf(next)) return;
  const place = old.contains(document.activeElement) ? document.activeElement.tagName : null;
  boxOf(next).checked = boxOf(old).checked;
  next.classList.toggle("here", next.dataset.id === here);
  old.replaceWith(next);
  if (place) next.querySelector(place === "A" ? "a" : "input")?.focus({ preventScroll: true });
}

function isBusy() {
  return pointerIsOver || here !== null || selected().length > 0 || document.querySelector("#rows")?.contains(document.activeElement);
}

async function refresh() {
  const fresh = await page(location.href);
  takeOver(fresh, "chips");
  takeOver(fresh, "total");
  const next = new Map([...fresh.querySelectorAll("#rows > tr")].map((row) => [row.dataset.id, row]));
  const shownIds = rowsNow().map((row) => row.dataset.id);
  const rows = document.querySelector("#rows");
  const freshRows = fresh.querySelector("#rows");
  // From the empty page to the first row, and back, the whole part is another.
  const sameKind = rows.tagName === freshRows.tagName;
  const sameOrder = sameKind && shownIds.join() === [...next.keys()].join();
  const mayMove = !isBusy() || !shownIds.length;
  if (!sameOrder && mayMove) {
    if (!sameKind) return location.reload();
    rows.replaceChildren(...freshRows.childNodes);
  } else {
    for (const row of rowsNow()) {
      const same = next.get(row.dataset.id);
      if (same) replaceRow(row, same);
      else row.classList.add("gone");
    }
  }
  pill.hidden = sameOrder || mayMove;
  countSelected();
  tick();
}

const refreshSoon = live({ address: () => "/ws", refresh, gap: GAP_MS });

const main = document.querySelector("#main");
const table = document.querySelector("table.debates");
table?.addEventListener("pointerenter", () => { pointerIsOver = true; });
table?.addEventListener("pointerleave", () => { pointerIsOver = false; });
pill.firstElementChild.addEventListener("click", () => location.reload());

// Filters: a choice is a wish

const filters = document.querySelector("#filters");
filters.addEventListener("change", (event) => { if (event.target.matches("select")) filters.requestSubmit(); });
filters.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

// Selecting

const bulk = document.querySelector("#bulk");
const all = document.querySelector("#select-all");

function countSelected() {
  const count = selected().length;
  bulk.hidden = count === 0;
  const words = `${count} selected`;
  const shown = document.querySelector("#selected-count");
  if (shown.textContent !== words) shown.textContent = words;
  if (all) {
    all.checked = count > 0 && count === rowsNow().length;
    all.indeterminate = count > 0 && !all.checked;
  }
}

main.addEventListener("change", (event) => {
  if (event.target === all) for (const row of rowsNow()) boxOf(row).checked = all.checked;
  if (event.target.matches("input[type=checkbox]")) countSelected();
});
document.querySelector("#select-none").addEventListener("click", () => {
  for (const row of selected()) boxOf(row).checked = false;
  countSelected();
});

async function ask(action, rows) {
  const chosen = rows.map((row) => ({ id: row.dataset.id, title: row.querySelector(".title a").textContent }));
  const done = await act(action, chosen);
  if (!done) return;
  // By their ids: meanwhile a refresh may have put other elements in their place.
  for (const { id } of chosen) {
    const row = document.getElementById(`d-${id}`);
    if (row) boxOf(row).checked = false;
  }
  countSelected();
  toast(done.words, done.isBad);
  if (action === "delete") for (const id of done.ids) document.getElementById(`d-${id}`)?.remove();
  refreshSoon();
}
bulk.addEventListener("click", (event) => {
  const action = event.target.dataset.bulk;
  if (action) ask(action, selected());
});

// The keyboard

function go(step) {
  const rows = rowsNow();
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.dataset.id === here);
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step))];
  for (const row of rows) row.classList.toggle("here", row === next);
  here = next.dataset.id;
  next.querySelector(".title a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
const rowHere = () => rowsNow().find((row) => row.dataset.id === here);
main.addEventListener("focusin", (event) => {
  const row = event.target.closest("#rows > tr");
  if (!row && here === null) return;
  here = row ? row.dataset.id : null;
  for (const other of rowsNow()) other.classList.toggle("here", other === row);
});

onKeys({
  "/": () => document.querySelector("#search").select(),
  j: () => go(1),
  k: () => go(-1),
  Enter: (event) => {
    if (event.target.closest("a, button, input, summary")) return false;
    const row = rowHere();
    if (row) location.assign(row.querySelector(".title a").href);
  },
  x: () => {
    const row = rowHere();
    if (!row) return;
    boxOf(row).checked = !boxOf(row).checked;
    countSelected();
  },
  s: () => {
    const rows = selected().length ? selected() : [rowHere()].filter(Boolean);
    if (rows.length) ask("stop", rows);
  },
  p: () => {
    const row = rowHere();
    if (row) ask(["paused", "failed"].includes(row.dataset.status) ? "resume" : "pause", [row]);
  },
});
