// One thing done to several debates, after a question that says how many. Each is its own request of the public API.
import { call } from "./api.js";

const AT_ONCE = 6;
const ACTIONS = {
  stop: { verb: "Stop", did: "stopped", says: "They end now and cannot be resumed.", hasReason: true },
  pause: { verb: "Pause", did: "paused", says: "Nobody speaks until they are resumed." },
  resume: { verb: "Resume", did: "resumed", says: "They go on from where they are." },
  delete: { verb: "Delete", did: "deleted", says: "They and all their turns are gone for good.", isGrave: true },
};

const dialog = document.querySelector("#confirm");
const reason = document.querySelector("#reason");
const yes = document.querySelector("#confirm-yes");
const debates = (count) => (count === 1 ? "1 debate" : `${count} debates`);

function confirmed(action, chosen) {
  const { verb, says, hasReason, isGrave } = ACTIONS[action];
  document.querySelector("#confirm-title").textContent = `${verb} ${debates(chosen.length)}?`;
  document.querySelector("#confirm-text").textContent = chosen.length === 1 ? chosen[0].title : says;
  document.querySelector("#confirm-reason").hidden = !hasReason;
  reason.value = "";
  yes.textContent = `${verb} ${debates(chosen.length)}`;
  yes.classList.toggle("danger", Boolean(isGrave));
  dialog.returnValue = "no";
  dialog.showModal();
  (hasReason ? reason : yes).focus();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}

function request(action, id) {
  if (action === "delete") return call("DELETE", `/debates/${id}`);
  const why = reason.value.trim();
  return call("POST", `/debates/${id}/${action}`, action === "stop" && why ? { reason: why } : {});
}

export async function act(action, chosen) {
  if (!(await confirmed(action, chosen))) return null;
  const waiting = [...chosen];
  const ids = [];
  const refused = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      try {
        await request(action, next.id);
        ids.push(next.id);
      } catch (problem) {
        refused.push(`${next.title}: ${problem.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const words = `${debates(ids.length)} ${ACTIONS[action].did}`;
  return { ids, isBad: refused.length > 0, words: refused.length ? `${words}; ${refused.length} not: ${refused[0]}` : words };
}
