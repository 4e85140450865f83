// The forms of the seats, in place below the turns: arguing, and ruling as the judge.
import { sender } from "./api.js";
import { refreshSoon } from "./live.js";
import { attempt, store, stored, toast } from "./shell.js";

export const debate = document.querySelector("#debate");
const composer = document.querySelector("#composer");
const argument = document.querySelector("#argument");
const judging = document.querySelector("#judging");
export const address = `/debates/${debate.dataset.id}`;
export const state = () => document.querySelector("#state").dataset;
const byId = (id) => document.getElementById(id);
let wantsToRule = false;

export function showForms(offered) {
  // A draft stays visible after the turn has passed: its author may want to keep it.
  composer.hidden = !offered.has("argue") && !argument.value;
  composer.querySelector("[value=argue]").disabled = !offered.has("argue");
  if (offered.has("argue")) {
    composer.querySelector("label").textContent = `Argue as the ${state().seat}`;
    composer.className = `composer card needs-script ${state().seat}`;
  }
  const isTyped = byId("rule-content").value !== "";
  judging.hidden = !(offered.has("rule") && (wantsToRule || isTyped || state().rules === "person")) && !isTyped;
  judging.querySelector("[type=submit]").disabled = !offered.has("rule");
  byId("rule-closing").hidden = state().ruling === "closes";
  showEffect();
}

export function openJudging() {
  wantsToRule = true;
  judging.hidden = false;
  judging.scrollIntoView({ block: "nearest" });
  byId("rule-content").focus();
}

// Drafts: kept in this browser until they are sent.

const keyOf = (field) => `draft:${debate.dataset.id}:${field.dataset.draft}`;
const drafts = [...document.querySelectorAll("[data-draft]")];
const keep = (field) => store(keyOf(field), field.value);
for (const field of drafts) {
  field.value ||= stored(keyOf(field)) ?? "";
  field.addEventListener("input", () => keep(field));
}

function clear(form) {
  form.reset();
  for (const field of form.querySelectorAll("[data-draft]")) keep(field);
}

for (const form of [composer, judging]) {
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const send = form.querySelector(".primary");
    if (!send.disabled) form.requestSubmit(send);
  });
}

// Arguing from an external seat

const paths = { argue: "arguments", appeal: "appeal", resolve: "resolution" };
const sendTurn = sender(() => ({ role: state().seat, target_id: state().lastTurn }));

composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  await attempt(async () => {
    const isArgument = button.value === "argue";
    await sendTurn(`${address}/${paths[button.value]}`, { content: argument.value, ...(!isArgument && { role: undefined }) });
    clear(composer);
  }, button, byId("argument-problem"));
  refreshSoon();
});

// Ruling

const SCORES = ["proposer", "opponent"];
const number = (side) => (byId(`rule-${side}`).value.trim() === "" ? null : Number(byId(`rule-${side}`).value));

const who = { proposer: "the proposer better", opponent: "the opponent better", tie: "both sides equal" };

// Problems by field: no typed value is dropped, and no verdict contradicts itself.
function problemsOf(winner, scores) {
  const found = {};
  if (!byId("rule-content").value.trim()) found.content = "Write the ruling";
  for (const side of SCORES) {
    if (byId(`rule-${side}`).validity.badInput || scores[side] < 0 || scores[side] > 10) found[side] = "A score is a number from 0 to 10";
    else if (who[winner] && scores[side] === null) found[side] = "A verdict needs both scores";
  }
  const hasVerdict = SCORES.some((side) => scores[side] !== null) || byId("rule-reasoning").value.trim();
  if (!winner) found.winner = "Choose who won, a tie, or no verdict";
  if (winner === "none" && hasVerdict) found.winner = "Choose who won, or clear the scores and reasons";
  if (Object.keys(found).length || !who[winner]) return found;
  const ahead = Math.sign(scores.proposer - scores.opponent);
  if (winner === "tie" && ahead !== 0) found.winner = "A tie has equal scores";
  if (winner === "proposer" && ahead <= 0) found.proposer = "The winner's score must be the higher one";
  if (winner === "opponent" && ahead >= 0) found.opponent = "The winner's score must be the higher one";
  return found;
}

function show(problems) {
  for (const field of ["content", "winner", ...SCORES]) {
    byId(`rule-${field}-problem`).textContent = problems[field] ?? "";
    byId(`rule-${field}`).setAttribute("aria-invalid", field in problems);
  }
  const first = Object.keys(problems)[0];
  if (first) byId(`rule-${first}`).focus();
}

const given = () => ({ winner: byId("rule-winner").value, scores: { proposer: number("proposer"), opponent: number("opponent") } });

// A sentence that says what this ruling does.
function showEffect() {
  const { winner, scores } = given();
  const closes = state().ruling === "closes" || byId("rule-close").checked;
  const does = closes ? "Your ruling ends the debate" : "Your ruling is stored, and the debate continues";
  const both = SCORES.every((side) => scores[side] !== null) ? ` (proposer ${scores.proposer}, opponent ${scores.opponent})` : "";
  const about = closes ? "the whole debate" : state().judges;
  const judges = who[winner] ? `: in ${about} it finds ${who[winner]}${both}` : winner ? ", without a verdict" : "";
  byId("rule-does").textContent = `${does}${judges}.`;
}
judging.addEventListener("input", showEffect);

const sendRuling = sender();
judging.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { winner, scores } = given();
  const problems = problemsOf(winner, scores);
  show(problems);
  if (Object.keys(problems).length) return;
  const content = byId("rule-content").value;
  const reasoning = byId("rule-reasoning").value.trim() || content;
  const verdict = who[winner] ? { winner, scores, reasoning } : null;
  await attempt(async () => {
    try {
      await sendRuling(`${address}/view/ruling`, { content, winner, verdict, close: byId("rule-close").checked });
    } catch (refused) {
      if (!["verdict", "winner"].includes(refused.field)) throw refused;
      return show({ winner: refused.plain.replace(/^\w+: /, "") });
    }
    clear(judging);
    wantsToRule = false;
    judging.hidden = true;
    showEffect();
    return toast("Your ruling is stored");
  }, event.submitter, byId("rule-problem"));
  refreshSoon();
});
