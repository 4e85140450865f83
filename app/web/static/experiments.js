// The list of experiments, live.
import { page } from "./api.js";
import { live } from "./live.js";
import { tick } from "./shell.js";
import { takeOver } from "./takeover.js";

const GAP_MS = 3000;

live({
  address: () => "/ws",
  gap: GAP_MS,
  hear: (message) => message.event === "experiment_changed" || Boolean(message.data?.debate?.experiment_id),
  refresh: async () => {
    takeOver(await page(location.href), "experiments");
    tick();
  },
});
