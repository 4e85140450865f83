// Refreshes the system page every few seconds.
import { page } from "./api.js";
import { away, tick } from "./shell.js";
import { takeOver } from "./takeover.js";

const EVERY_MS = 3000;

async function refresh() {
  if (!document.hidden) {
    try {
      const fresh = await page(location.href);
      takeOver(fresh, "system");
      takeOver(fresh, "banners");
      away(false);
      tick();
    } catch {
      away(true);
    }
  }
  setTimeout(refresh, EVERY_MS);
}
setTimeout(refresh, EVERY_MS);
