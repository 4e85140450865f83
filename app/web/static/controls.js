// The controls of a debate. The server lists the available ones in #state; each is one request to the public API.
import { call, sender } from "./api.js";
import { address, debate, openJudging, showForms, state } from "./forms.js";
import { refreshSoon } from "./live.js";
import { attempt, openDialog, toast } from "./shell.js";

export function offer() {
  const offered = new Set(state().controls.split(" "));
  for (const control of debate.querySelectorAll("[data-control]")) {
    if (control.dataset.control !== "delete") control.hidden = !offered.has(control.dataset.control);
  }
  showForms(offered);
}

// Without a dialog: start, pause and resume

const done = { start: "Started", pause: "Paused", resume: "Resumed" };

async function now(name) {
  await attempt(async () => {
    await call("POST", `${address}/${name}`, {});
    toast(done[name]);
  });
  refreshSoon();
}

// With a dialog: the rest

let send = sender();
const requests = {
  stop: ({ reason }) => call("POST", `${address}/stop`, reason ? { reason } : {}),
  delete: () => call("DELETE", address),
  fork: () => send(`${address}/fork`, { after_seq: Number(document.querySelector("#fork-dialog").dataset.seq) }),
  intervene: ({ content }) => send(`${address}/intervention`, content ? { content } : {}),
  ask: ({ content }) => send(`${address}/question`, { content }),
};

for (const form of document.querySelectorAll("dialog form[data-for]")) {
  const name = form.dataset.for;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(form)].map(([key, value]) => [key, value.trim()]));
    attempt(async () => {
      const answer = await requests[name](given);
      if (name === "delete") return location.assign("/");
      if (name === "fork") return location.assign(`/debates/${answer.debate.id}/view`);
      form.closest("dialog").close();
      form.reset();
      return refreshSoon();
    }, event.submitter, form.querySelector(".problem"));
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
  send = sender();
  openDialog(dialog);
}

export function askToFork(seq) {
  const dialog = document.querySelector("#fork-dialog");
  dialog.dataset.seq = seq;
  document.querySelector("#fork-turn").textContent = `#${seq}`;
  ask(dialog);
}
