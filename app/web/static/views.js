// Saved views of the list. A view is an address with a name in it; this browser remembers which ones were saved.
import { store, stored, toast } from "./shell.js";

const KEY = "views";
const shown = document.querySelector("#views");

function saved() {
  try {
    const found = JSON.parse(stored(KEY));
    return Array.isArray(found) ? found.filter((one) => typeof one?.name === "string" && String(one.address).startsWith("/?")) : [];
  } catch {
    return [];
  }
}

function keep(views) {
  const isKept = store(KEY, JSON.stringify(views));
  if (!isKept) toast("This browser blocks storage for this page.", true);
  return isKept;
}

const here = new URLSearchParams(location.search).get("view");
for (const { name, address } of saved()) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = name;
  if (name === here) link.setAttribute("aria-current", "true");
  shown.append(link);
  shown.hidden = false;
}

const dialog = document.querySelector("#name-view-dialog");
document.querySelector("#save-view").addEventListener("click", () => {
  document.querySelector("#view-name").value = here ?? "";
  dialog.returnValue = "";
  dialog.showModal();
});
dialog.addEventListener("close", () => {
  const name = document.querySelector("#view-name").value.trim();
  if (dialog.returnValue !== "yes" || !name) return;
  const query = new URLSearchParams(location.search);
  for (const part of ["cursor", "before"]) query.delete(part);
  query.set("view", name);
  const address = `/?${query}`;
  if (keep([...saved().filter((one) => one.name !== name), { name, address }])) location.assign(address);
});
document.querySelector("#forget-view")?.addEventListener("click", (event) => {
  const query = new URLSearchParams(location.search);
  query.delete("view");
  if (keep(saved().filter((one) => one.name !== event.target.dataset.name))) location.assign(`/?${query}`);
});
