// Decisions about contributions and solutions: one request to the public API each.
import { call, page } from "./api.js";
import { attempt, tick, toast } from "./shell.js";
import { takeOver } from "./takeover.js";

const DID = { approve: "Approved", reject: "Rejected" };

// Shows the result: in a thread the changed contribution, in the queue the remaining ones with their draft reasons.
async function show(card) {
  const fresh = await page(location.href);
  takeOver(fresh, "waiting");
  if (fresh.getElementById(card.id)) {
    takeOver(fresh, card.id);
    card.focus();
  } else {
    const item = card.closest("li");
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    if (!next) takeOver(fresh, "review");
    (next?.querySelector("textarea") ?? document.querySelector("#main")).focus();
  }
  tick();
}

async function decide(form, decision) {
  try {
    await call("POST", form.dataset.decision, { decision, reason: form.elements.reason.value.trim() });
    toast(DID[decision]);
  } catch (refused) {
    if (refused.code !== "CONFLICT") throw refused;
    // Another person decided first: show that decision.
    toast(refused.message, true);
  }
  await show(form.closest("article, #moderation")).catch(() => toast("The server does not respond: this page may be out of date", true));
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-decision]");
  if (!form) return;
  event.preventDefault();
  attempt(() => decide(form, event.submitter.value), event.submitter, form.querySelector(".problem"));
});
