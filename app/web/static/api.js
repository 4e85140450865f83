// Calls the public API. The browser adds the session cookie.

const ownWords = {
  REQUEST_ID_REUSED: "The server already stored an earlier version of this text. Check it, then send again to add this one.",
};
// After these errors it is unknown whether the request was stored.
const unknown = new Set(["NO_SERVER", "SERVICE_UNAVAILABLE"]);

export class Refused extends Error {
  constructor(error) {
    const said = error.explanation ?? error.message;
    super(ownWords[error.code] ?? (error.suggestion ? `${said}. ${error.suggestion}.` : said));
    this.code = error.code;
    this.field = error.field;
    this.plain = error.message;
  }
}

export async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused({ code: "NO_SERVER", message: "The server does not respond. Try again" });
  }
  const said = await answer.json().catch(() => null);
  if (answer.status === 401 || new URL(answer.url).pathname === "/sign-in") location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  // The debate API has `success`, the solutions API `ok`.
  if (!(said?.success ?? said?.ok)) throw new Refused(said?.error ?? { code: "NO_SERVER", message: `The server answered ${answer.status}` });
  return said.data;
}

// Fetches and parses a page, to replace parts of the current one (see takeover.js).
export async function page(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (answer.redirected && new URL(answer.url).pathname === "/sign-in") location.reload();
  if (!answer.ok) throw Object.assign(new Error(`The server answered ${answer.status}`), { status: answer.status });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Not crypto.randomUUID, which is missing on pages over plain HTTP.
const requestId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Sends a request that stores something. Until the server has answered, a retry has the same id and the same `kept` fields.
export function sender(kept = () => ({})) {
  let first = null;
  return async (path, body) => {
    first ??= { ...kept(), client_request_id: requestId() };
    try {
      const said = await call("POST", path, { ...first, ...body });
      first = null;
      return said;
    } catch (refused) {
      if (!unknown.has(refused.code)) first = null;
      throw refused;
    }
  };
}
