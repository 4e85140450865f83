// One debate: its turns as they come, and its controls.
import { page } from "./api.js";
import { offer } from "./controls.js";
import { live } from "./live.js";
import { onKeys, tick } from "./shell.js";
import { takeOver } from "./takeover.js";

const debate = document.querySelector("#debate");
const turns = document.querySelector("#turns");
const speaking = document.querySelector("#speaking");
const speakingText = document.querySelector("#speaking-text");
// Turns that come together are fetched together.
const GAP_MS = 100;
const NAMES = { proposer: "Proposer", opponent: "Opponent", arbitrator: "Judge" };
let isGone = false;
let lastSeq = Number(debate.dataset.lastSeq);

// Live

const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 120;

async function refresh() {
  const fresh = await page(`${location.pathname}?from=${lastSeq + 1}`);
  // Asked before the debate was deleted, answered after.
  if (isGone) return;
  const follow = isAtEnd();
  // The server was asked for what comes after the last turn here; the check costs nothing.
  const news = [...fresh.querySelectorAll("#turns > li[data-seq]")].filter((turn) => Number(turn.dataset.seq) > lastSeq);
  for (const turn of news) speaking.before(turn);
  if (news.length) {
    lastSeq = Number(news.at(-1).dataset.seq);
    hush();
    if (follow && lastSeq > 1) news.at(-1).scrollIntoView({ block: "nearest" });
  }
  takeOver(fresh, "state");
  takeOver(fresh, "facts");
  document.querySelector("#closed").hidden = fresh.querySelector("#closed").hidden;
  offer();
  tick();
}

function gone() {
  isGone = true;
  document.querySelector("#state").textContent = "This debate was deleted.";
  for (const control of debate.querySelectorAll("[data-control], #composer")) control.hidden = true;
}

// Words as they are generated. They are never stored and may be lost: the turn itself follows.
function hush() {
  speaking.hidden = true;
  speakingText.textContent = "";
}

function speak({ role, text }) {
  if (speaking.hidden || speaking.dataset.role !== role) {
    hush();
    speaking.dataset.role = role;
    speaking.className = `turn speaking ${role}`;
    document.querySelector("#speaking-by").textContent = NAMES[role] ?? role;
    speaking.hidden = false;
  }
  const follow = isAtEnd();
  speakingText.append(text.replaceAll("\u202d", "[U+202D]").replaceAll("\u202e", "[U+202E]"));
  if (follow) speaking.scrollIntoView({ block: "nearest" });
}

function hear({ event, data }) {
  if (event === "argument_delta") {
    speak(data);
    return false;
  }
  if (event === "state_changed") hush();
  return true;
}

const refreshSoon = live({ address: () => `/ws?debate_id=${debate.dataset.id}&after_seq=${lastSeq}`, refresh, hear, gone, gap: GAP_MS });
offer(refreshSoon);

// A link to a turn that this page does not hold asks for it.
function goToTurn() {
  const seq = /^#turn-(\d+)$/.exec(location.hash)?.[1];
  if (!seq || Number(seq) > lastSeq) return;
  const turn = document.getElementById(`turn-${seq}`);
  if (turn) turn.focus({ preventScroll: true });
  else location.replace(`?turn=${seq}#turn-${seq}`);
}
goToTurn();
addEventListener("hashchange", goToTurn);

// The keyboard

function go(step) {
  const all = [...debate.querySelectorAll("[data-seq]")];
  const at = all.findIndex((turn) => turn === document.activeElement || turn.contains(document.activeElement));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const press = (name) => () => {
  const control = document.querySelector(`[data-control="${name}"]:not([hidden])`);
  control?.click();
  return Boolean(control);
};
onKeys({
  j: () => go(1),
  k: () => go(-1),
  s: press("stop"),
  i: press("intervene"),
  r: press("rule"),
  p: () => press("pause")() || press("resume")(),
  a: () => document.querySelector("#argument").focus(),
  e: () => {
    const menu = document.querySelector("details.menu");
    menu.open = true;
    menu.querySelector("a").focus();
  },
});
