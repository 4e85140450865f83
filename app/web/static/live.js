// One WebSocket that reconnects, and one refresh at a time. A message is only a hint: `refresh` requests what the page
// does not have yet, so that nothing is missing or shown twice.

import { away } from "./shell.js";

const NO_SUCH_DEBATE = 4404;
const TERMINAL = new Set([4400, 4401, 4403]);
const LONGEST_PAUSE_MS = 8000;
const QUIET_REFRESH_MS = 15000;
const SOON_REFRESH_MS = 2000;
const LOST_REFRESH_MS = 4000;

// Set by live(), which a page calls once.
export let refreshSoon = () => {};

// `begins` names the message with which the server confirms its subscription. Without it, an open socket counts.
export function live({ address = () => "/ws", refresh, onMessage = () => {}, gone = () => {}, gap, begins = null }) {
  const shown = document.querySelector("#live");
  let pause = 500;
  let isUp = false;
  let wanted = false;
  let running = false;
  let isOver = false;

  function end() {
    isOver = true;
    showState("lost", "Not live");
    gone();
  }

  function showState(state, words) {
    shown.hidden = false;
    if (shown.textContent !== words) shown.textContent = words;
    shown.classList.toggle("lost", state !== "up");
  }

  refreshSoon = async () => {
    wanted = true;
    if (running || isOver) return;
    running = true;
    while (wanted && !isOver) {
      wanted = false;
      try {
        await refresh();
        away(false);
        if (isUp) showState("up", "Live");
      } catch (problem) {
        if (problem.status === 404) return end();
        showState("lost", "Reconnecting …");
        away(true);
      }
      await new Promise((done) => setTimeout(done, gap));
    }
    running = false;
  };

  function connect() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${address()}`);
    const begin = () => {
      isUp = true;
      pause = 500;
      showState("up", "Live");
    };
    socket.onopen = () => {
      if (!begins) begin();
      refreshSoon();
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.event === begins) begin();
      if (onMessage(message) !== false) refreshSoon();
    };
    socket.onclose = ({ code }) => {
      isUp = false;
      if (code === NO_SUCH_DEBATE) return end();
      if (TERMINAL.has(code)) {
        showState("lost", code === 4401 ? "Sign in again" : "Not live");
        return refreshSoon();
      }
      showState("lost", "Reconnecting …");
      setTimeout(connect, pause * (0.75 + Math.random() / 2));
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    };
  }

  // Some changes have no event (a worker claims a turn, a turn stalls), and the socket may be down while the API is up.
  function patience() {
    if (!isUp) return LOST_REFRESH_MS;
    return document.querySelector(".doing.queued, .doing.retrying") ? SOON_REFRESH_MS : QUIET_REFRESH_MS;
  }
  let last = Date.now();
  setInterval(() => {
    if (document.hidden || Date.now() - last < patience()) return;
    last = Date.now();
    refreshSoon();
  }, 1000);
  connect();
}
