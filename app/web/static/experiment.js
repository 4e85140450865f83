// One experiment: live while it runs, its controls, and invitations to judge.
import { call } from "./api.js";
import { live, refreshSoon } from "./live.js";
import { attempt, isConfirmed, onKeys, openDialog, toast } from "./shell.js";
import { refreshParts } from "./takeover.js";

const id = document.querySelector("#experiment").dataset.id;
const stopDialog = document.querySelector("#stop-dialog");
const inviteDialog = document.querySelector("#invite-dialog");
const controls = [...document.querySelectorAll("[data-control]")];

live({
  gap: 2000,
  onMessage: ({ event, data }) => (event === "experiment_changed" ? data?.experiment?.id : data?.debate?.experiment_id) === id,
  refresh: async () => {
    await refreshParts("state", "progress", "figures");
    const offered = document.querySelector("#state").dataset.controls.split(" ");
    for (const control of controls) control.hidden = !offered.includes(control.dataset.control);
  },
});

// Controls

async function act(name) {
  if (name === "stop" && !(await isConfirmed(stopDialog))) return;
  await attempt(async () => {
    const said = await call("POST", `/experiments/${id}/${name}`);
    if (name === "retry-failed") toast(`${said.count} retried`);
  });
  refreshSoon();
}
for (const control of controls) control.addEventListener("click", () => act(control.dataset.control));

const press = (...names) => () => controls.find((one) => names.includes(one.dataset.control) && !one.hidden)?.click();
onKeys({ p: press("pause", "resume", "start"), s: press("stop") });

// Invitations

const nameField = document.querySelector("#invite-name");
const made = document.querySelector("#invite-made");
const link = document.querySelector("#invite-link");

document.querySelector("#invite")?.addEventListener("click", () => {
  made.hidden = true;
  openDialog(inviteDialog);
  nameField.select();
});
inviteDialog.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  made.hidden = true;
  await attempt(async () => {
    link.value = (await call("POST", `/experiments/${id}/invitations`, { name: nameField.value })).url;
    made.hidden = false;
    link.select();
  }, event.submitter, inviteDialog.querySelector(".problem"));
});
