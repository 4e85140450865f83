// Invitations to an open seat: a line for an agent with a key of its own, or a link for a person.
import { call } from "./api.js";
import { attempt } from "./shell.js";

const debate = document.querySelector("#debate").dataset.id;
const dialog = document.querySelector("#invite-dialog");
const about = {
  agent: "Run this line where your coding agent is (Claude Code; other clients take the same URL and header). Then tell the agent: “Take your seat.”",
  person: "Send this link to the person who takes the seat.",
};
const lineOf = {
  agent: (made) => `claude mcp add --transport http debate ${location.origin}/mcp --header "Authorization: Bearer ${made.key}"`,
  person: (made) => made.url,
};

async function invite({ invite: kind, role }) {
  const made = await call("POST", `/debates/${debate}/invitations`, { role });
  const line = dialog.querySelector("#invite-line");
  line.value = lineOf[kind](made);
  dialog.querySelector("#invite-about").textContent = about[kind];
  dialog.querySelector("#invite-until").textContent = new Date(made.expires_at).toLocaleString();
  dialog.showModal();
  line.select();
  // A page over plain HTTP may not write to the clipboard: the line is selected, to be copied by hand.
  const copied = await navigator.clipboard?.writeText(line.value).then(() => true, () => false);
  dialog.querySelector("#invite-title").textContent = copied ? "Copied" : "Copy this";
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-invite]");
  if (button) attempt(() => invite(button.dataset), button);
});
