// The list of experiments, live.
import { live } from "./live.js";
import { refreshParts } from "./takeover.js";

live({
  gap: 3000,
  onMessage: ({ event, data }) => event === "experiment_changed" || Boolean(data?.debate?.experiment_id),
  refresh: () => refreshParts("experiments"),
});
