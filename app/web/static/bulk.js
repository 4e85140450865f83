// Bulk actions on several debates, after one confirmation. Each debate is one request to the public API.
import { call } from "./api.js";
import { isConfirmed } from "./shell.js";

const AT_ONCE = 6;
const PAGE = 200;
const ACTIVE = ["not started", "created", "running", "paused", "failed"];
const ACTIONS = {
  start: { verb: "Start", did: "started", says: "The first turn starts now.", fits: ["not started"] },
  stop: { verb: "Stop", did: "stopped", says: "This discards turns in progress. You cannot resume a stopped debate.", hasReason: true, fits: ACTIVE },
  pause: { verb: "Pause", did: "paused", says: "No turn starts until you resume.", fits: ["created", "running"] },
  resume: { verb: "Resume", did: "resumed", says: "This continues after the last turn.", fits: ["paused", "failed"] },
  retry: { verb: "Retry", did: "resumed", says: "This retries the turn that failed.", fits: ["failed"], path: "resume" },
  delete: { verb: "Delete", did: "deleted", says: "This deletes all turns too. You cannot undo it.", isGrave: true },
};

const dialog = document.querySelector("#confirm-dialog");
const reason = document.querySelector("#reason");
const yes = dialog.querySelector(".primary");
const debates = (count) => (count === 1 ? "1 debate" : `${count.toLocaleString("en")} debates`);

export const fits = (action, { status }) => ACTIONS[action]?.fits?.includes(status) ?? true;

// All debates that match a query of the API, page by page.
export async function everythingThatMatches(query) {
  const given = new URLSearchParams(query);
  given.set("limit", PAGE);
  const found = [];
  for (;;) {
    const { debates: some, next_cursor: next } = await call("GET", `/debates?${given}`);
    found.push(...some.map(({ id, title, status, waits_for_start: waits, last_error: error }) => ({ id, title, status: waits ? "not started" : status, error })));
    if (!next) return found;
    given.set("cursor", next);
  }
}

function confirmed(action, chosen, left) {
  const { verb, says, hasReason, isGrave } = ACTIONS[action];
  document.querySelector("#confirm-title").textContent = `${verb} ${debates(chosen.length)}?`;
  const others = left ? ` ${left === 1 ? "One" : left} of the selected cannot be ${ACTIONS[action].did} and ${left === 1 ? "stays as it is" : "stay as they are"}.` : "";
  document.querySelector("#confirm-text").textContent = (chosen.length === 1 ? `“${chosen[0].title}”. ` : "") + says + others;
  document.querySelector("#confirm-reason").hidden = !hasReason;
  reason.value = "";
  yes.textContent = `${verb} ${debates(chosen.length)}`;
  yes.classList.toggle("danger", Boolean(isGrave));
  const answer = isConfirmed(dialog);
  (hasReason ? reason : yes).focus();
  return answer;
}

function request(action, id) {
  if (action === "delete") return call("DELETE", `/debates/${id}`);
  const why = reason.value.trim();
  return call("POST", `/debates/${id}/${ACTIONS[action].path ?? action}`, action === "stop" && why ? { reason: why } : {});
}

async function each(chosen, does) {
  const waiting = [...chosen];
  const ids = [];
  const refused = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await does(next);
        ids.push(next.id);
      } catch (problem) {
        refused.push(`${next.title}: ${problem.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { ids, refused };
}

const outcome = ({ ids, refused }, did) => {
  const words = `${debates(ids.length)} ${did}`;
  return { ids, isBad: refused.length > 0, words: refused.length ? `${words}; ${refused.length} failed: ${refused[0]}` : words };
};

export async function act(action, selected) {
  const chosen = selected.filter((one) => fits(action, one));
  if (!chosen.length || !(await confirmed(action, chosen, selected.length - chosen.length))) return null;
  return outcome(await each(chosen, ({ id }) => request(action, id)), ACTIONS[action].did);
}

// One file with a line of JSON for each debate.
export async function exportAll(chosen) {
  const lines = [];
  const done = await each(chosen, async ({ id }) => {
    const answer = await fetch(`/debates/${id}/export?format=json`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    lines.push(JSON.stringify(await answer.json()));
  });
  if (lines.length) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines.map((line) => `${line}\n`), { type: "application/jsonl" }));
    link.download = "debates.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  return outcome(done, "exported");
}
