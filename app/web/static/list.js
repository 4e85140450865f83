// The list of debates: live, but rows never move while the pointer, the keyboard focus or a selection is on them.
import { page } from "./api.js";
import { act, everythingThatMatches, exportAll, fits } from "./bulk.js";
import { live, refreshSoon } from "./live.js";
import { attempt, onKeys, tick, toast } from "./shell.js";
import { contentOf, takeOver } from "./takeover.js";

const GAP_MS = 1000;
const pill = document.querySelector("#changed");
let here = null; // the id of the debate with the keyboard focus
let pointerIsOver = false;

const rowsNow = () => [...document.querySelectorAll("#rows > tr")];
const boxOf = (row) => row.querySelector("input[type=checkbox]");
const selected = () => rowsNow().filter((row) => boxOf(row).checked);

// Live

function replaceRow(old, next) {
  old.classList.remove("gone");
  if (contentOf(old) === contentOf(next)) return;
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
  // The title has the number of debates that wait for a person or an agent.
  document.title = fresh.title;
  takeOver(fresh, "chips");
  takeOver(fresh, "total");
  const next = new Map([...fresh.querySelectorAll("#rows > tr")].map((row) => [row.dataset.id, row]));
  const shownIds = rowsNow().map((row) => row.dataset.id);
  const rows = document.querySelector("#rows");
  const freshRows = fresh.querySelector("#rows");
  // The empty list is another element than the table: reload when it changes.
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

live({ refresh, gap: GAP_MS });

const main = document.querySelector("#main");
const table = document.querySelector("table.debates");
table?.addEventListener("pointerenter", () => { pointerIsOver = true; });
table?.addEventListener("pointerleave", () => { pointerIsOver = false; });
pill.firstElementChild.addEventListener("click", () => location.reload());

// Filters: submitted on every change

const filters = document.querySelector("#filters");
filters.addEventListener("change", (event) => {
  const box = event.target.closest("[data-column]");
  if (box) {
    const shown = [...filters.querySelectorAll("[data-column]:checked")].map((one) => one.dataset.column);
    // An empty value counts as the usual columns.
    document.querySelector("#columns").value = shown.join() || "none";
  }
  if (event.target.matches("select, [type=date], [name=error]") || box) filters.requestSubmit();
});
filters.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

// On a phone, open filters would hide the results.
if (matchMedia("(max-width: 46rem)").matches) filters.querySelector(".more-filters").open = false;

// Selecting

const bulk = document.querySelector("#bulk");
const all = document.querySelector("#select-all");

// All debates that match, after "Select all that match". While they load, no action is offered: it would apply to this
// page only.
let matching = null;
let isGathering = false;
const asChosen = (row) => ({ id: row.dataset.id, title: row.querySelector(".title a").textContent, status: row.dataset.status, error: row.dataset.error });
const chosen = () => matching ?? selected().map(asChosen);

function countSelected() {
  const now = chosen();
  const isWhole = rowsNow().length > 0 && selected().length === rowsNow().length;
  bulk.hidden = now.length === 0;
  const words = matching ? `All ${now.length} that match are selected` : `${now.length} selected`;
  const shown = document.querySelector("#selected-count");
  if (shown.textContent !== words) shown.textContent = words;
  document.querySelector("#select-matching").hidden = matching !== null || isGathering || !isWhole || Number(document.querySelector("#total").dataset.total) <= now.length;
  // Offers only actions that apply to at least one selected debate.
  for (const button of bulk.querySelectorAll("[data-bulk]")) button.disabled = isGathering || !now.some((one) => fits(button.dataset.bulk, one));
  // Few debates are created without being started.
  bulk.querySelector("[data-bulk=start]").hidden = !now.some((one) => fits("start", one));
  const reasons = new Set(now.map((one) => one.error));
  bulk.querySelector("[data-bulk=retry]").hidden = reasons.size !== 1 || !now[0].error || now.some((one) => one.status !== "failed");
  if (all) {
    all.checked = isWhole;
    all.indeterminate = now.length > 0 && !isWhole;
  }
}

main.addEventListener("change", (event) => {
  if (event.target === all) for (const row of rowsNow()) boxOf(row).checked = all.checked;
  if (!event.target.closest(".debates") || !event.target.matches("input[type=checkbox]")) return;
  matching = null;
  countSelected();
});
function selectNone() {
  matching = null;
  for (const row of selected()) boxOf(row).checked = false;
  countSelected();
}
document.querySelector("#select-none").addEventListener("click", selectNone);
document.querySelector("#select-matching").addEventListener("click", async () => {
  isGathering = true;
  countSelected();
  await attempt(async () => { matching = await everythingThatMatches(bulk.dataset.matching); });
  isGathering = false;
  countSelected();
});

async function ask(action, those) {
  const done = await (action === "export" ? exportAll(those) : act(action, those));
  if (!done) return;
  selectNone();
  toast(done.words, done.isBad);
  if (action === "delete") for (const id of done.ids) document.getElementById(`d-${id}`)?.remove();
  refreshSoon();
}

// Not only those on this page: all debates that failed with this error.
async function retry(error) {
  const failed = await everythingThatMatches("status=failed&error=true");
  await ask("retry", failed.filter((one) => one.error === error));
}
bulk.addEventListener("click", (event) => {
  const action = event.target.dataset.bulk;
  if (action === "retry") attempt(() => retry(chosen()[0].error));
  else if (action) ask(action, chosen());
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
    const those = chosen().length ? chosen() : [rowHere()].filter(Boolean).map(asChosen);
    if (those.length) ask("stop", those);
  },
  p: () => {
    const row = rowHere();
    if (row) ask(["paused", "failed"].includes(row.dataset.status) ? "resume" : "pause", [asChosen(row)]);
  },
});
