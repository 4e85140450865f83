// Taking over parts of the page as the server shows it now, without taking the keyboard's place away.

// What a part says. How long ago it says something changes by itself and does not count.
export const sayingOf = (part) => part.innerHTML.replace(/(<time[^>]*>)[^<]*/g, "$1");

export function takeOver(fresh, id) {
  const old = document.getElementById(id);
  const next = fresh.getElementById(id);
  if (!old || !next) return;
  for (const { name, value } of [...next.attributes]) if (name !== "hidden") old.setAttribute(name, value);
  if (sayingOf(old) === sayingOf(next)) return;
  const place = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  old.replaceChildren(...next.childNodes);
  if (place) old.querySelector(`[href="${CSS.escape(place)}"]`)?.focus({ preventScroll: true });
}
