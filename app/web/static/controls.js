// The controls of a debate. Which are offered, the server says with the state; each is one request of the public API.
import { call, requestId } from "./api.js";
import { toast } from "./shell.js";

const debate = document.querySelector("#debate");
const composer = document.querySelector("#composer");
const argument = document.querySelector("#argument");
const address = `/debates/${debate.dataset.id}`;
const state = () => document.querySelector("#state").dataset;
let refreshSoon = () => {};

export function offer(refresh) {
  if (refresh) refreshSoon = refresh;
  const offered = new Set(state().controls.split(" "));
  for (const control of debate.querySelectorAll("[data-control]")) {
    if (control.dataset.control !== "delete") control.hidden = !offered.has(control.dataset.control);
  }
  // What somebody is writing stays, even when the floor goes to another: they may want to keep it.
  composer.hidden = !offered.has("argue") && !argument.value;
  composer.querySelector("[value=argue]").disabled = !offered.has("argue");
  if (offered.has("argue")) document.querySelector("#composer-label").textContent = `Argue as the ${state().seat}`;
}

// At once: pause and resume

async function now(name) {
  try {
    await call("POST", `${address}/${name}`, {});
    toast(name === "pause" ? "Paused" : "Resumed");
  } catch (problem) {
    toast(problem.message, true);
  }
  refreshSoon();
}

// After a question: the rest

const requests = {
  stop: (given) => call("POST", `${address}/stop`, given.reason ? { reason: given.reason } : {}),
  delete: () => call("DELETE", address),
  intervene: (given, id) => call("POST", `${address}/intervention`, { ...(given.content && { content: given.content }), client_request_id: id }),
  rule: (given, id) => call("POST", `${address}/ruling`, { content: given.content, close: "close" in given, ...verdictOf(given), client_request_id: id }),
};

function verdictOf(given) {
  if (!given.winner) return {};
  const scores = { proposer: Number(given.proposer), opponent: Number(given.opponent) };
  return { verdict: { winner: given.winner, scores, reasoning: given.reasoning || given.content } };
}

for (const form of document.querySelectorAll("dialog form[data-for]")) {
  const dialog = form.closest("dialog");
  const name = form.dataset.for;
  form.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(form)].map(([key, value]) => [key, value.trim()]));
    const button = form.querySelector(".primary");
    button.disabled = true;
    try {
      await requests[name](given, dialog.dataset.request);
      if (name === "delete") return location.assign("/");
      dialog.close();
      form.reset();
      refreshSoon();
    } catch (problem) {
      form.querySelector(".problem").textContent = problem.message;
    } finally {
      button.disabled = false;
    }
  });
}

debate.querySelector(".controls").addEventListener("click", (event) => {
  const name = event.target.dataset.control;
  if (name === "pause" || name === "resume") return now(name);
  const dialog = name && document.querySelector(`#${name}-dialog`);
  if (!dialog) return;
  // Made when the question is asked: a second press, or a repeated request, is the same one.
  dialog.dataset.request = requestId();
  dialog.querySelector(".problem").textContent = "";
  dialog.showModal();
});

// Arguing from a seat that nobody else fills

const paths = { argue: "arguments", appeal: "appeal", resolve: "resolution" };
let request = requestId();

composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const kind = event.submitter?.value ?? "argue";
  const problem = document.querySelector("#argument-problem");
  const body = { target_id: state().lastTurn, content: argument.value, client_request_id: request };
  problem.textContent = "";
  event.submitter.disabled = true;
  try {
    await call("POST", `${address}/${paths[kind]}`, kind === "argue" ? { role: state().seat, ...body } : body);
    argument.value = "";
    request = requestId();
  } catch (refused) {
    problem.textContent = refused.message;
  }
  event.submitter.disabled = false;
  refreshSoon();
});
