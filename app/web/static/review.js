// Deciding about what the guardrail said: one request of the public API, made once and for all.
import { call, page } from "./api.js";
import { tick, toast } from "./shell.js";
import { takeOver } from "./takeover.js";

const DID = { approve: "Approved", reject: "Rejected" };

// The server shows what became of it: in a thread the contribution as it now is, in the queue the others. What somebody
// has begun to write about those stays.
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
  const card = form.closest("article");
  const problem = form.querySelector(".problem");
  const reason = form.elements.reason.value.trim();
  problem.textContent = "";
  try {
    await call("POST", `/api/v1/guardrail/evaluations/${form.dataset.evaluation}/decision`, { decision, reason });
    toast(DID[decision]);
  } catch (refused) {
    if (refused.code !== "CONFLICT") {
      problem.textContent = refused.message;
      return;
    }
    // Somebody else was first: theirs is shown.
    toast(refused.message, true);
  }
  await show(card).catch(() => toast("This page is as it was: the server does not answer", true));
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-evaluation]");
  if (!form) return;
  event.preventDefault();
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  await decide(form, event.submitter.value);
  for (const button of buttons) button.disabled = false;
});
