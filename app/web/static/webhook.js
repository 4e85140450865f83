// The deliveries of one webhook: refreshed every few seconds. Sends a test message, and retries deliveries.
import { call } from "./api.js";
import { attempt, toast } from "./shell.js";
import { refreshForever, refreshParts } from "./takeover.js";

const webhook = document.querySelector("#deliveries").dataset.webhook;

const send = (button, path, done) => attempt(async () => {
  await call("POST", `/webhooks/${webhook}/${path}`, {});
  toast(done);
  await refreshParts("deliveries");
}, button);

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.id === "send-test") send(button, "test", "Test message queued");
  else if (button?.dataset.replay) send(button, `deliveries/${button.dataset.replay}/replay`, "Delivery queued again");
});

refreshForever("deliveries");
