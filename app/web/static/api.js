// The public API, as any client calls it. The session's cookie goes along by itself.

export class Refused extends Error {
  constructor(error) {
    super(error.suggestion ? `${error.message}. ${error.suggestion}.` : error.message);
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
    throw new Refused({ code: "NO_SERVER", message: "The server does not answer; nothing was changed" });
  }
  const said = await answer.json().catch(() => null);
  if (answer.status === 401) location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  // The debate API says success, the solutions API ok.
  if (!(said?.success ?? said?.ok)) throw new Refused(said?.error ?? { message: `The server answered ${answer.status}` });
  return said.data;
}

// The page at this address, as the server shows it now. Its parts are taken over by whoever asked.
export async function page(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (answer.redirected && new URL(answer.url).pathname === "/sign-in") location.reload();
  if (!answer.ok) throw Object.assign(new Error(`The server answered ${answer.status}`), { status: answer.status });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Where crypto.randomUUID is missing (a page over plain HTTP on a network), random bytes do as well.
export function requestId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
