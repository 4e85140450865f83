// The system's page, asked for again every few seconds.
import { page } from "./api.js";
import { banner, tick } from "./shell.js";
import { takeOver } from "./takeover.js";

const EVERY_MS = 3000;

async function refresh() {
  if (!document.hidden) {
    try {
      const fresh = await page(location.href);
      takeOver(fresh, "system");
      takeOver(fresh, "banners");
      tick();
    } catch {
      banner("server", "The server does not answer. This page is as it was.");
    }
  }
  setTimeout(refresh, EVERY_MS);
}
setTimeout(refresh, EVERY_MS);
