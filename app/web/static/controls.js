// The controls of a debate. The server lists the available ones in #state; each is one request to the public API.
import { call, requestId, unknown } from "./api.js";
import { openJudging, showForms, tellForms } from "./forms.js";
import { toast } from "./shell.js";

const debate = document.querySelector("#debate");
const address = `/debates/${debate.dataset.id}`;
const state = () => document.querySelector("#state").dataset;
let refreshSoon = () => {};

export function offer(refresh) {
  if (refresh) {
    refreshSoon = refresh;
    tellForms(refresh);
  }
  const offered = new Set(state().controls.split(" "));
  for (const control of debate.querySelectorAll("[data-control]")) {
    if (control.dataset.control !== "delete") control.hidden = !offered.has(control.dataset.control);
  }
  showForms(offered);
}

// Without a dialog: start, pause and resume

const done = { start: "Started", pause: "Paused", resume: "Resumed" };

async function now(name) {
  try {
    await call("POST", `${address}/${name}`, {});
    toast(done[name]);
  } catch (problem) {
    toast(problem.message, true);
  }
  refreshSoon();
}

// With a dialog: the rest

const requests = {
  stop: (given) => call("POST", `${address}/stop`, given.reason ? { reason: given.reason } : {}),
  delete: () => call("DELETE", address),
  fork: (_, id) => call("POST", `${address}/fork`, { after_seq: Number(document.querySelector("#fork-dialog").dataset.seq), client_request_id: id }),
  intervene: (given, id) => call("POST", `${address}/intervention`, { ...(given.content && { content: given.content }), client_request_id: id }),
  ask: (given, id) => call("POST", `${address}/question`, { content: given.content, client_request_id: id }),
};

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
      const answer = await requests[name](given, dialog.dataset.request);
      if (name === "delete") return location.assign("/");
      if (name === "fork") return location.assign(`/debates/${answer.debate.id}/view`);
      dialog.close();
      form.reset();
      refreshSoon();
    } catch (problem) {
      if (!unknown.has(problem.code)) dialog.dataset.request = requestId();
      form.querySelector(".problem").textContent = problem.message;
    } finally {
      button.disabled = false;
    }
  });
}

debate.addEventListener("click", (event) => {
  const name = event.target.dataset.control;
  if (name in done) return now(name);
  if (name === "rule") return openJudging();
  const dialog = name && document.querySelector(`#${name}-dialog`);
  if (dialog) ask(dialog);
});

function ask(dialog) {
  // Created when the dialog opens, so that a second click or a repeated request has the same id.
  dialog.dataset.request = requestId();
  dialog.querySelector(".problem").textContent = "";
  dialog.showModal();
}

export function askToFork(seq) {
  const dialog = document.querySelector("#fork-dialog");
  dialog.dataset.seq = seq;
  document.querySelector("#fork-turn").textContent = `#${seq}`;
  ask(dialog);
}
