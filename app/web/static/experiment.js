// One experiment: live while it runs, its controls, and invitations to judge.
import { call, page } from "./api.js";
import { live } from "./live.js";
import { isAnsweredYes, onKeys, tick, toast } from "./shell.js";
import { takeOver } from "./takeover.js";

const GAP_MS = 2000;
const id = document.querySelector("#experiment").dataset.id;
const stopDialog = document.querySelector("#stop-dialog");
const inviteDialog = document.querySelector("#invite-dialog");
const button = (name) => document.querySelector(`[data-control="${name}"]`);

function isOurs({ event, data }) {
  return event === "experiment_changed" ? data?.experiment?.id === id : data?.debate?.experiment_id === id;
}

const refreshSoon = live({
  address: () => "/ws",
  gap: GAP_MS,
  hear: isOurs,
  refresh: async () => {
    const fresh = await page(location.href);
    for (const part of ["state", "progress", "figures"]) takeOver(fresh, part);
    const offered = document.querySelector("#state").dataset.controls.split(" ");
    for (const control of document.querySelectorAll("[data-control]")) control.hidden = !offered.includes(control.dataset.control);
    tick();
  },
});

// Controls

async function act(name) {
  if (name === "stop" && !(await isAnsweredYes(stopDialog))) return;
  try {
    const said = await call("POST", `/experiments/${id}/${name}`);
    if (name === "retry-failed") toast(`${said.count} tried again`);
  } catch (problem) {
    toast(problem.message, true);
  }
  refreshSoon();
}
for (const control of document.querySelectorAll("[data-control]")) control.addEventListener("click", () => act(control.dataset.control));

onKeys({
  p: () => {
    const name = ["pause", "resume", "start"].find((one) => !button(one).hidden);
    if (name) act(name);
  },
  s: () => { if (!button("stop").hidden) act("stop"); },
});

// Invitations

const nameField = document.querySelector("#invite-name");
const made = document.querySelector("#invite-made");
const link = document.querySelector("#invite-link");
const problemShown = inviteDialog.querySelector(".problem");

document.querySelector("#invite")?.addEventListener("click", () => {
  made.hidden = true;
  problemShown.textContent = "";
  inviteDialog.showModal();
  nameField.select();
});
inviteDialog.querySelector("[data-cancel]").addEventListener("click", () => inviteDialog.close());
inviteDialog.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  problemShown.textContent = "";
  try {
    const said = await call("POST", `/experiments/${id}/invitations`, { name: nameField.value });
    made.hidden = false;
    link.value = said.url;
    link.select();
  } catch (problem) {
    made.hidden = true;
    problemShown.textContent = problem.message;
  }
});
