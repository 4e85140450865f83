// The page of one debate: live turns and controls.
import { page } from "./api.js";
import { offer } from "./controls.js";
import { live } from "./live.js";
import { added, showTitle } from "./reading.js";
import { onKeys, tick } from "./shell.js";
import { takeOver } from "./takeover.js";

const debate = document.querySelector("#debate");
const turns = document.querySelector("#turns");
const speaking = document.querySelector("#speaking");
const speakingText = document.querySelector("#speaking-text");
// Turns that arrive within this time are fetched together.
const GAP_MS = 100;
let isGone = false;
let lastSeq = Number(debate.dataset.lastSeq);

// Live

async function refresh() {
  const fresh = await page(`${location.pathname}?from=${lastSeq + 1}`);
  // The debate was deleted while this request was in flight.
  if (isGone) return;
  // The server was asked for later turns only; filtering again is a cheap safeguard.
  const news = [...fresh.querySelectorAll("#turns > li[data-seq]")].filter((turn) => Number(turn.dataset.seq) > lastSeq);
  for (const turn of news) speaking.before(turn);
  if (news.length) {
    lastSeq = Number(news.at(-1).dataset.seq);
    clearSpeaking();
    added(news.length);
  }
  for (const part of ["state", "rounds", "facts", "composer-does", "intervene-warning"]) takeOver(fresh, part);
  document.querySelector("#rounds").hidden = fresh.querySelector("#rounds").hidden;
  document.querySelector("#closed").hidden = fresh.querySelector("#closed").hidden;
  offer();
  showTitle();
  tick();
}

function gone() {
  isGone = true;
  document.querySelector("#state").textContent = "This debate was deleted.";
  for (const control of debate.querySelectorAll("[data-control], #composer, #judging")) control.hidden = true;
}

// As in app/wire/texts.py.
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// Deltas of a model's answer. They are not stored and may be lost: the whole turn follows.
function clearSpeaking() {
  speaking.hidden = true;
  speakingText.textContent = "";
}

function speak({ role, text }) {
  if (speaking.hidden || speaking.dataset.role !== role) {
    clearSpeaking();
    speaking.dataset.role = role;
    speaking.className = `turn speaking ${role}`;
    document.querySelector("#speaking-by").textContent = speaking.dataset[role] ?? role;
    speaking.hidden = false;
  }
  speakingText.append(text.replace(BIDI_CONTROLS, (control) => `[U+${control.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`));
}

function onMessage({ event, data }) {
  if (event === "argument_delta") {
    speak(data);
    return false;
  }
  if (event === "state_changed") clearSpeaking();
  return true;
}

live({ address: () => `/ws?debate_id=${debate.dataset.id}&after_seq=${lastSeq}`, refresh, onMessage, gone, gap: GAP_MS, begins: "initial_state" });
offer();

// A link to a turn that is not on this page loads it.
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
  q: press("ask"),
  r: press("rule"),
  p: () => press("pause")() || press("resume")(),
  a: () => document.querySelector("#argument").focus(),
  e: () => {
    const menu = document.querySelector("details.menu");
    menu.open = true;
    menu.querySelector("a").focus();
  },
});
