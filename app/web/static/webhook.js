// The deliveries of one webhook: refreshed every few seconds; sends a test message, and deliveries again.
import { call, page } from "./api.js";
import { tick, toast } from "./shell.js";
import { takeOver } from "./takeover.js";

const EVERY_MS = 3000;
const webhook = document.querySelector("#deliveries").dataset.webhook;

async function refresh() {
  takeOver(await page(location.href), "deliveries");
  tick();
}

async function send(button, path, done) {
  button.disabled = true;
  try {
    await call("POST", path, {});
    toast(done);
    await refresh();
  } catch (refused) {
    toast(refused.message, true);
  }
  button.disabled = false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.id === "send-test") send(button, `/webhooks/${webhook}/test`, "A test message is on its way");
  else if (button?.dataset.replay) send(button, `/webhooks/${webhook}/deliveries/${button.dataset.replay}/replay`, "It is sent again");
});

async function refreshForEver() {
  // The next refresh shows what this one could not.
  if (!document.hidden) await refresh().catch(() => {});
  setTimeout(refreshForEver, EVERY_MS);
}
setTimeout(refreshForEver, EVERY_MS);
