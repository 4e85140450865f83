// Reading a debate: following its end, unread turns, collapsed turns, and the menu of a turn.
import { askToFork } from "./controls.js";
import { toast } from "./shell.js";

const transcript = document.querySelector(".transcript");
const turns = document.querySelector("#turns");
const unread = document.querySelector("#unread");
const menu = document.querySelector("#turn-menu");
const title = document.title;
// How far from the end a reader still counts as being there.
const NEAR_END_PX = 120;

// Following

// Of the transcript, not of the page: in a narrow window other parts stand below it.
const end = () => Math.max(0, transcript.getBoundingClientRect().bottom + scrollY - innerHeight);
const isAtEnd = () => scrollY >= end() - NEAR_END_PX;
let isFollowing = false;
let lastY = scrollY;
// Only after the forms are there too: the page must not scroll while it loads.
addEventListener("load", () => requestAnimationFrame(() => { isFollowing = isAtEnd(); }));
let fresh = 0;

// Only the reader scrolls upwards: turns that arrive make the page longer and never move it up.
addEventListener("scroll", () => {
  if (isAtEnd()) {
    isFollowing = true;
    forget();
  } else if (scrollY < lastY) {
    isFollowing = false;
  }
  lastY = scrollY;
}, { passive: true });

function goToEnd() {
  isFollowing = true;
  scrollTo({ top: end(), behavior: "instant" });
}

// A turn gets its height when the browser draws it, which may be after it was added.
new ResizeObserver(() => isFollowing && goToEnd()).observe(transcript);

function forget() {
  fresh = 0;
  unread.hidden = true;
  showTitle();
}

// A reader who has scrolled away sees a count of new turns, and the page does not move.
export function added(count) {
  if (isFollowing) return goToEnd();
  fresh += count;
  unread.hidden = false;
  unread.firstElementChild.textContent = `${fresh} new turn${fresh === 1 ? "" : "s"} ↓`;
  return showTitle();
}
unread.addEventListener("click", goToEnd);

// The tab shows whether it is this reader's turn, or the number of new turns.
export function showTitle() {
  const state = document.querySelector("#state").dataset;
  const offered = state.controls.split(" ");
  const isAwaited = offered.includes("argue") || (offered.includes("rule") && state.judge === "external");
  const said = isAwaited ? "Your turn" : fresh ? `${fresh} new` : "";
  document.title = said ? `${said} · ${title}` : title;
}
showTitle();

// Collapsing

const fold = (turn, isFolded) => turn.classList.toggle("folded", isFolded);
const foldAll = document.querySelector("#fold-all");
foldAll.addEventListener("click", () => {
  const isFolded = foldAll.getAttribute("aria-pressed") !== "true";
  foldAll.setAttribute("aria-pressed", isFolded);
  for (const turn of turns.querySelectorAll("[data-seq]")) fold(turn, isFolded);
});

// The menu of one turn

let chosen = null;
turns.addEventListener("click", (event) => {
  const button = event.target.closest(".more");
  if (!button) return;
  chosen = button.closest("[data-seq]");
  const sent = menu.querySelector("[data-act=sent]");
  if (sent) sent.hidden = !("wasSent" in chosen.dataset);
  menu.showPopover();
  const { right, bottom } = button.getBoundingClientRect();
  menu.style.left = `${Math.max(8, right - menu.offsetWidth)}px`;
  menu.style.top = `${Math.min(innerHeight - menu.offsetHeight - 8, bottom + 4)}px`;
  menu.querySelector("button").focus();
});

async function copy(words, what) {
  try {
    await navigator.clipboard.writeText(words);
    toast(`${what} copied`);
  } catch {
    // Browsers refuse on pages over plain HTTP, except on this machine.
    toast("This browser blocks copying. Select the text instead.", true);
  }
}
const acts = {
  link: () => copy(new URL(chosen.querySelector("header a").href, location.href).href, "Link"),
  text: () => copy([...chosen.querySelectorAll(".text")].map((text) => text.innerText).join("\n\n"), "Text"),
  fold: () => fold(chosen, !chosen.classList.contains("folded")),
  fork: () => askToFork(chosen.dataset.seq),
  sent: () => location.assign(`${location.pathname.replace(/view$/, "")}turns/${chosen.dataset.id}/exchange`),
};
menu.addEventListener("click", (event) => {
  const act = acts[event.target.dataset.act];
  if (!act) return;
  menu.hidePopover();
  act();
  chosen.querySelector(".more").focus({ preventScroll: true });
});
menu.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [...menu.querySelectorAll("button:not([hidden])")];
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
});
