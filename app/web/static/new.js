// The form for a new debate: errors stand beside their field, and the most it can cost is said before it starts.
import { call, requestId } from "./api.js";

const form = document.querySelector("#new");
const motion = document.querySelector("#motion_content");
const title = document.querySelector("#title");
const problem = document.querySelector("#problem");
const start = document.querySelector("#start");
const players = [...form.querySelectorAll("[data-player]")];
const MOST_TITLE = 200;
let request = requestId();

// Motion and title

motion.addEventListener("input", () => {
  if (title.dataset.own) return;
  title.value = [...motion.value.trim().split("\n")[0]].slice(0, MOST_TITLE).join("");
});
title.addEventListener("input", () => { title.dataset.own = title.value ? "yes" : ""; });
if (title.value) title.dataset.own = "yes";

// Personas belong to players that workers run, and a model is named

const modelOf = (select) => form.querySelector(`[data-model="${select.dataset.player}"]`);
const playerOf = (select) => select.value || modelOf(select).value.trim();

function fitSeats() {
  for (const select of players) {
    modelOf(select).hidden = select.value !== "";
    const persona = document.getElementById(`seats.${select.dataset.player}.persona`);
    persona.closest(".field").hidden = select.value === "external";
  }
}

// Cost

function sayCost() {
  const shown = document.querySelector("#cost");
  const limit = Number(document.getElementById("limits.max_cost_usd").value);
  // A model of a provider, as provider:model, is what costs; the local one runs on the workers.
  const chosen = players.map(playerOf);
  const isFree = chosen.every((player) => player && !player.includes(":"));
  let words = "What it will cost is not known: a limit of cost makes sure of the most.";
  if (isFree) words = chosen.includes("local") ? "It costs nothing: the local model is free." : "It costs nothing: no model speaks in it.";
  else if (limit > 0) words = `It costs at most $${limit.toFixed(2)}, and what the turn in hand takes beyond it.`;
  if (shown.textContent !== words) shown.textContent = words;
}
form.addEventListener("input", () => { fitSeats(); sayCost(); });
fitSeats();
sayCost();

// What is sent

function put(body, path, value) {
  const names = path.split(".");
  const last = names.pop();
  let place = body;
  for (const name of names) place = place[name] ??= {};
  place[last] = value;
}

function bodyOf() {
  const body = { client_request_id: request };
  for (const field of form.elements) {
    const value = field.value?.trim();
    if (!field.name || !value || field.closest("[hidden]")) continue;
    // An option of the player that was there before does not fit another.
    const role = field.name.split(".")[1];
    if ("json" in field.dataset && playerOf(document.getElementById(`seats.${role}.player`)) !== field.dataset.had) continue;
    const isData = "json" in field.dataset || field.type === "number";
    put(body, field.name, isData ? JSON.parse(value) : value);
  }
  return body;
}

// What is wrong with it

function complain(name, words) {
  const field = document.getElementById(name);
  const shown = document.getElementById(`${name}-problem`);
  if (!field || !shown) return false;
  shown.textContent = words;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", shown.id);
  field.closest(".field").classList.add("wrong");
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
    if (field.required && !field.value.trim()) complain(field.name, "This is required");
    else if (size > Number(field.dataset.maxBytes)) complain(field.name, `${size} bytes, and at most ${field.dataset.maxBytes} are taken`);
    else if (!field.validity.valid) complain(field.name, field.validationMessage);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  forget();
  checkFields();
  if (!form.querySelector(".wrong")) {
    start.disabled = true;
    try {
      const { debate } = await call("POST", "/debates", bodyOf());
      return location.assign(`/debates/${debate.id}/view`);
    } catch (refused) {
      // The server has not taken this one: what is sent next is another request.
      if (refused.code !== "NO_SERVER") request = requestId();
      const words = refused.plain?.replace(`${refused.field}: `, "") ?? refused.message;
      if (!refused.field || !complain(refused.field, words)) {
        problem.textContent = refused.message;
        problem.hidden = false;
      }
    }
    start.disabled = false;
  }
  form.querySelector("[aria-invalid]")?.focus();
});
