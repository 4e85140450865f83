// Replaces parts of the page by their current version from the server, and keeps the keyboard focus.
import { page } from "./api.js";
import { away, tick } from "./shell.js";

// A part's content for comparison, without relative times, which change by themselves.
export const contentOf = (part) => part.innerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1");

export function takeOver(fresh, id) {
  const old = document.getElementById(id);
  const next = fresh.getElementById(id);
  if (!old || !next) return;
  for (const { name, value } of [...next.attributes]) if (name !== "hidden") old.setAttribute(name, value);
  if (contentOf(old) === contentOf(next)) return;
  const place = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  // Keeps the unchanged beginning: the rounds of a long debate are hundreds of links, and one is new.
  const [before, after] = [[...old.childNodes], [...next.childNodes]];
  const first = before.findIndex((node, at) => !after[at]?.isEqualNode(node));
  const kept = first < 0 ? before.length : first;
  for (const node of before.slice(kept)) node.remove();
  old.append(...after.slice(kept));
  if (place) old.querySelector(`[href="${CSS.escape(place)}"]`)?.focus({ preventScroll: true });
}

// Fetches this page again and replaces these parts.
export async function refreshParts(...ids) {
  const fresh = await page(location.href);
  for (const id of ids) takeOver(fresh, id);
  tick();
  return fresh;
}

const EVERY_MS = 3000;
export function refreshForever(...ids) {
  setTimeout(async () => {
    if (!document.hidden) await refreshParts(...ids).then(() => away(false), () => away(true));
    refreshForever(...ids);
  }, EVERY_MS);
}
