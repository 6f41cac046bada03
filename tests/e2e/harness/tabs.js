// Tabs on one store, for the tests of turns. Each has the store as `store`, session "chat" as `session`, and a few words
// to chat with: `exchange(n)` is a whole turn (messages "qn" and "an"), `growing(n, text)` one whose answer is saved so far.
import { launch, openPage } from "./chromium.js";
import { PAGES, PKG } from "./paths.js";
import { serve } from "./server.js";

/** Opens a store on a page that has been loaded. */
export async function enter(page, name, settings = {}) {
  await page.waitForFunction(() => globalThis.kit);
  await page.evaluate(async ([database, options]) => {
    globalThis.store = await turnmark.open({ name: database, ...options });
    globalThis.session = await store.session("chat");
    globalThis.ids = (list) => list.map(({ id }) => id).join(" ");
    globalThis.exchange = async (n, about, on = session) => {
      const turn = await on.begin({ raw: `typed ${n}`, ...about });
      await turn.append([kit.user(`q${n}`)]);
      return turn.end([kit.assistant(`a${n}`)]);
    };
    globalThis.growing = async (n, content, on = session) => {
      const turn = await on.begin({ raw: `typed ${n}` });
      await turn.append([kit.user(`q${n}`)]);
      turn.stream(kit.assistant(`a${n}`, content));
      await turn.flush();
      return turn;
    };
    /** Everything in a session, as whoever opens it finds it. */
    globalThis.whole = async (on = session) => {
      const { checkpoint, state, streaming, ui } = (await on.get()) ?? {};
      return { head: checkpoint?.id ?? null, messages: state?.messages ?? [], streaming, ui, listed: ids(await kit.collect(on.checkpoints())) };
    };
    /** What a call was refused with, the turn on the branch included. */
    globalThis.refusal = (promise) => promise.then((value) => { throw new Error(`not refused: ${JSON.stringify(value)}`); }, (error) => {
      if (!(error instanceof turnmark.TurnmarkError)) throw error;
      return error;
    });
  }, [name, settings]);
}

/** Loads a page anew, and opens the store on it again. */
export async function reload(page, name, settings) {
  await page.reload();
  await enter(page, name, settings);
}

/** Waits until so many sessions are interrupted: the browser frees a page's locks a moment after it has told that the page is gone. */
export async function interrupted(page, count) {
  // Not by waitForFunction(), to which a promise of `false` is true.
  await page.evaluate(async (wanted) => {
    for (let left = 200; (await store.status()).interrupted.length !== wanted; left -= 1) {
      if (left === 0) throw new Error(`not ${wanted} sessions are interrupted: ${JSON.stringify(await store.status())}`);
      await new Promise((resolve) => { setTimeout(resolve, 25); });
    }
  }, count);
}

/** The text of every stored row of a database, read around the library. */
export const rows = (page, name) => page.evaluate(async (database) => JSON.stringify(await kit.rawRows(database)), name);

/** A server and a browser for the tests of one file. */
export class Lab {
  #closing = [];
  #names = 0;
  #launch;

  /** `start` is Chromium's `launch()`, or that of another browser. */
  static async start(start = launch) {
    const lab = new Lab();
    lab.#launch = start;
    ({ origin: lab.origin } = await lab.server());
    lab.context = await lab.browser();
    return lab;
  }

  /** A database that no other test uses. */
  fresh(name) {
    return `${name}-${(this.#names += 1)}`;
  }

  async server() {
    const started = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
    this.#closing.unshift(started.close);
    return started;
  }

  async browser(options) {
    const started = await this.#launch(options);
    this.#closing.unshift(() => started.close());
    return started;
  }

  close() {
    return Promise.all(this.#closing.map((close) => close()));
  }

  async tab(t, name, { at = this.origin, on = this.context, settings, ...options } = {}) {
    const page = await openPage(t, on, `${at}/blank.html`, options);
    await enter(page, name, settings);
    return page;
  }
}
