import { open } from "turnmark";

/** The engine itself on the server: it runs over memory, and says that there is no IndexedDB. */
export async function onServer() {
  const store = await open({ name: "server", backend: "memory" });
  const { _durability: { level } } = await (await store.session("s")).append([{ id: "m", role: "user", content: "hello" }]);
  await store.close();
  const refused = await open({ name: "refused" }).catch(({ code }) => code);
  return `${level} ${refused}`;
}
