// Taking over parts of the page as the server shows it now, without taking the keyboard's place away.

export function takeOver(fresh, id) {
  const old = document.getElementById(id);
  const next = fresh.getElementById(id);
  if (!old || !next) return;
  for (const { name, value } of [...next.attributes]) if (name !== "hidden") old.setAttribute(name, value);
  if (old.innerHTML === next.innerHTML) return;
  const place = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  old.replaceChildren(...next.childNodes);
  if (place) old.querySelector(`[href="${CSS.escape(place)}"]`)?.focus({ preventScroll: true });
}
