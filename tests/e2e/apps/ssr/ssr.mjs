// The package on a server: imported whole, rendered once, and nothing of a browser touched.
import assert from "node:assert/strict";

const globals = new Set(Reflect.ownKeys(globalThis));
for (const name of ["window", "document", "indexedDB", "localStorage"]) assert.ok(!(name in globalThis), `this Node has ${name}`);

const turnmark = await import("turnmark");
const inline = await import("turnmark/inline");
const hooks = await import("turnmark/react");
await import("turnmark/devtools");
await import("turnmark/chatgpt");
await import("turnmark/testing");
assert.deepEqual(Reflect.ownKeys(globalThis).filter((name) => !globals.has(name)), [], "importing left something on globalThis");

const { createElement: h } = await import("react");
const { renderToString } = await import("react-dom/server");
let opened = 0;
const open = async () => {
  opened += 1;
  return turnmark.open({ backend: "memory" });
};
function View() {
  const { status } = hooks.useTurnmark();
  const { messages, loading } = hooks.useSession("s");
  hooks.useHarnessDevTools();
  return h("p", null, `${status} ${loading} ${messages.length} ${hooks.useCheckpoints("s").checkpoints.length} ${hooks.useSessions().sessions.length}`);
}
const html = renderToString(h(hooks.TurnmarkProvider, { open, options: { name: "ssr" } }, h(View)));
const waiting = renderToString(h(hooks.TurnmarkProvider, { open, fallback: h("i", null, "wait") }, h(View)));

// The engine itself runs on the server too, over memory; without being asked, it does not.
const refused = await turnmark.open().catch(({ code }) => code);
const levels = [];
for (const { open: openStore } of [turnmark, inline]) {
  const store = await openStore({ backend: "memory", name: "ssr" });
  levels.push((await (await store.session("s")).append([{ id: "a", role: "user" }]))._durability.level);
  await store.close();
}
console.log(JSON.stringify({ html, waiting, opened, refused, levels }));
