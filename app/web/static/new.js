// The form for a new debate: shows errors beside their field and the cost limit before the start.
import { sender } from "./api.js";
import { attempt } from "./shell.js";

const form = document.querySelector("#new");
const motion = document.querySelector("#motion_content");
const title = document.querySelector("#title");
const problem = document.querySelector("#problem");
const start = document.querySelector("#start");
const players = [...form.querySelectorAll("[data-player]")];
const MOST_TITLE = 200;
const send = sender();

// Motion and title

motion.addEventListener("input", () => {
  if (title.dataset.own) return;
  title.value = [...motion.value.trim().split("\n")[0].replace(/^#+\s*/, "")].slice(0, MOST_TITLE).join("");
});
title.addEventListener("input", () => { title.dataset.own = title.value ? "yes" : ""; });
if (title.value) title.dataset.own = "yes";

// External players have no persona; another model needs a name

const modelOf = (select) => form.querySelector(`[data-model="${select.dataset.player}"]`);
const playerOf = (select) => select.value || modelOf(select).value.trim();

// Hides the seats that a format does not use. A format without debaters has no rounds.
function fitFormat() {
  const debaters = document.querySelector("#format").selectedOptions[0].dataset.debaters.split(" ").filter(Boolean);
  for (const seat of form.querySelectorAll("[data-seat]")) {
    seat.hidden = seat.dataset.seat !== "arbitrator" && !debaters.includes(seat.dataset.seat);
  }
  document.getElementById("limits.max_rounds").closest(".field").hidden = !debaters.length;
}

function fitSeats() {
  for (const select of players) {
    modelOf(select).hidden = select.value !== "";
    const persona = document.getElementById(`seats.${select.dataset.player}.persona`);
    persona.closest(".field").hidden = select.value === "external";
    const kind = ["external", "scripted"].includes(select.value) ? select.value : "model";
    const seat = select.closest("[data-seat]");
    for (const option of seat.querySelectorAll("[data-fits]")) option.hidden = !option.dataset.fits.split(" ").includes(kind);
    const takeover = document.getElementById(`seats.${select.dataset.player}.on_timeout.takeover`);
    if (takeover) takeover.closest(".field").hidden = document.getElementById(`seats.${select.dataset.player}.on_timeout`).value !== "takeover";
  }
}

// Cost

// The price of all calls, or null if a price is unknown.
function estimate() {
  const format = document.querySelector("#format").selectedOptions[0];
  const rounds = format.dataset.debaters ? Number(document.getElementById("limits.max_rounds").value) : 1;
  if (!rounds) return null;
  const judgeSpeaks = format.dataset.judge === "each" ? rounds : 1;
  let sum = 0;
  for (const select of players.filter((one) => !one.closest("[hidden]"))) {
    const player = playerOf(select);
    if (!player.includes(":")) continue;
    const known = [...document.querySelectorAll("#models option")].find((one) => one.value === player);
    if (!known || !("cost" in known.dataset)) return null;
    sum += Number(known.dataset.cost) * (select.dataset.player === "arbitrator" ? judgeSpeaks : rounds);
  }
  return sum;
}

function showCost() {
  const shown = document.querySelector("#cost");
  const limit = Number(document.getElementById("limits.max_cost_usd").value);
  // Only models of providers (provider:model) cost money; the local one runs on the workers.
  const chosen = players.filter((select) => !select.closest("[hidden]")).map(playerOf);
  const isFree = chosen.every((player) => player && !player.includes(":"));
  let words = "The cost is unknown. Set a cost limit to cap it.";
  if (isFree) words = chosen.includes("local") ? "Free: the local model costs nothing." : "Free: no paid model is used.";
  else if (estimate() !== null) words = `About $${estimate().toPrecision(2)} for turns of typical length.${limit > 0 ? ` It ends when it has cost $${limit.toFixed(2)}.` : " Set a cost limit to cap it."}`;
  else if (limit > 0) words = `It ends when it has cost $${limit.toFixed(2)}. The last turn may exceed the limit slightly.`;
  if (shown.textContent !== words) shown.textContent = words;
}
form.addEventListener("input", () => { fitFormat(); fitSeats(); showCost(); });
fitFormat();
fitSeats();
showCost();

// The request's body

function put(body, path, value) {
  const names = path.split(".");
  const last = names.pop();
  let place = body;
  for (const name of names) place = place[name] ??= {};
  place[last] = value;
}

function bodyOf() {
  const body = {};
  for (const field of form.elements) {
    const value = field.value?.trim();
    if (!field.name || !value || field.closest("[hidden]")) continue;
    // Options of the previous player do not fit another player.
    const role = field.name.split(".")[1];
    if ("json" in field.dataset && playerOf(document.getElementById(`seats.${role}.player`)) !== field.dataset.had) continue;
    if (field.dataset.with && !document.getElementById(field.dataset.with).value.trim()) continue;
    const isData = "json" in field.dataset || field.type === "number";
    const isList = "list" in field.dataset;
    if (field.value === "takeover") continue;
    put(body, field.name, isData ? JSON.parse(value) : isList ? value.split(",").map((one) => one.trim()).filter(Boolean) : value);
  }
  return body;
}

// Problems

function complain(name, words) {
  const field = document.getElementById(name);
  const shown = document.getElementById(`${name}-problem`);
  if (!field || !shown) return false;
  shown.textContent = words;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", shown.id);
  field.closest(".field").classList.add("wrong");
  field.closest("details")?.setAttribute("open", "");
  return true;
}

function forget() {
  problem.hidden = true;
  for (const wrong of form.querySelectorAll(".wrong")) {
    wrong.classList.remove("wrong");
    wrong.querySelector("[aria-invalid]").removeAttribute("aria-invalid");
    wrong.querySelector(".problem").textContent = "";
  }
}

function checkFields() {
  for (const field of form.elements) {
    if (!field.name || field.closest("[hidden]")) continue;
    const size = field.dataset.maxBytes ? new TextEncoder().encode(field.value).length : 0;
    // The title is taken from the motion, which is asked for.
    if (field === title && !title.value && !motion.value.trim()) continue;
    if (field.required && !field.value.trim()) complain(field.name, "This is required");
    else if (size > Number(field.dataset.maxBytes)) complain(field.name, `This has ${size} bytes; the limit is ${field.dataset.maxBytes}`);
    else if (!field.validity.valid) complain(field.name, field.validationMessage);
  }
}

async function create() {
  try {
    const { debate } = await send("/debates", bodyOf());
    location.assign(`/debates/${debate.id}/view`);
  } catch (refused) {
    const words = refused.plain?.replace(`${refused.field}: `, "");
    if (!refused.field || !complain(refused.field, words)) {
      problem.hidden = false;
      throw refused;
    }
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  forget();
  checkFields();
  if (!form.querySelector(".wrong")) await attempt(create, start, problem);
  form.querySelector("[aria-invalid]")?.focus();
});
