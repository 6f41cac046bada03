// An OpenAI-compatible endpoint that answers instead of the built-in script. It is off until the visitor switches it on, and off again after
// a reload: the key is in `active`, and nowhere else. Address and model are remembered while this tab is open.
const REMEMBERED = "turnmark-demo.endpoint";
/** Shorter ones are words that an answer may hold. */
const SHORTEST_KEY = 8;
const CUT = "the connection ended before the answer did";

let active = null;
const listeners = new Set();

function set(next) {
  active?.frame.remove();
  active = next;
  listeners.forEach((listener) => listener());
}

const failed = (message) => Object.assign(new Error(message), { code: "Endpoint" });

/** Where chats are completed, from what is usually given as the address: with or without the path. */
function completionsOf(address) {
  if (!URL.canParse(address)) throw failed(`${JSON.stringify(address)} is not an address`);
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol)) throw failed("the address must begin with https:// or http://");
  if (url.username || url.password) throw failed("the address must not hold a user name or a password");
  url.pathname = `${url.pathname.replace(/\/+$|\/chat\/completions\/*$/g, "")}/chat/completions`;
  return url.href;
}

/** A page whose policy allows it to connect; this one's does not. */
function openFrame() {
  const frame = Object.assign(document.createElement("iframe"), { src: "endpoint.html", hidden: true, title: "Connection to the endpoint" });
  return new Promise((resolve, reject) => {
    frame.onload = () => resolve(frame);
    frame.onerror = () => reject(failed("endpoint.html cannot be loaded from this server"));
    document.body.append(frame);
  });
}

/** The `data:` lines of a stream of server-sent events; each of such an endpoint is an event. */
async function* dataOf(body, signal) {
  const reader = body.getReader();
  const read = () => reader.read().catch((cause) => {
    throw signal.aborted ? cause : failed(CUT);
  });
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let done = false; !done;) {
      const { value, done: isEnd } = await read();
      done = isEnd;
      rest += done ? `${decoder.decode()}\n` : decoder.decode(value, { stream: true });
      const lines = rest.split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) if (line.startsWith("data:")) yield line.slice(5).trim();
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** What the endpoint says is wrong, in its own words where there are some. */
async function refusal(response) {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text);
    return error?.message ?? error ?? text;
  } catch {
    return text;
  }
}

async function connect({ frame, url, key, model }, messages, signal) {
  try {
    return await frame.contentWindow.fetch(url, {
      method: "POST", signal, credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
      headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model, messages, stream: true }),
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw failed(`${new URL(url).host} cannot be reached: it does not run there, or does not allow this page to ask (CORS)`);
  }
}

async function* complete(to, messages, signal) {
  // Should it say the key, in an answer or an error: nobody reads it, and nothing stores it.
  const hide = (text) => (to.key.length < SHORTEST_KEY ? text : text.replaceAll(to.key, "…"));
  const response = await connect(to, messages, signal);
  if (!response.ok) throw failed(`it answered ${response.status}: ${hide(String(await refusal(response))).slice(0, 300) || "nothing more"}`);
  if (!response.headers.get("Content-Type")?.includes("text/event-stream")) throw failed("it does not stream its answers");
  let text = "";
  let isWhole = false;
  for await (const data of dataOf(response.body, signal)) {
    if (data === "[DONE]") return;
    const { choices, error } = parsed(data);
    if (error) throw failed(hide(String(error.message ?? error)));
    text += choices?.[0]?.delta?.content ?? "";
    isWhole ||= Boolean(choices?.[0]?.finish_reason);
    yield hide(text);
  }
  if (!isWhole) throw failed(CUT);
}

function parsed(data) {
  try {
    return JSON.parse(data) ?? {};
  } catch {
    throw failed("it sent something that is not JSON");
  }
}

export const endpoint = {
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** What answers now, `{ host, model }`; `null` while it is off. */
  get: () => active?.shown ?? null,
  /** The address and model of before, for the form. */
  remembered() {
    try {
      return JSON.parse(sessionStorage.getItem(REMEMBERED)) ?? {};
    } catch {
      return {};
    }
  },
  async switchOn({ address, model, key }) {
    const url = completionsOf(address);
    if (model === "") throw failed("it needs the name of a model");
    set({ url, model, key, frame: await openFrame(), shown: { host: new URL(url).host, model } });
    try {
      sessionStorage.setItem(REMEMBERED, JSON.stringify({ address, model }));
    } catch {
      // Not remembered, then.
    }
  },
  switchOff: () => set(null),
  /** The answer as it grows, whole each time. Ends with an error of code `Endpoint` when the endpoint fails. */
  answer: (messages, signal) => complete(active, messages, signal),
};
