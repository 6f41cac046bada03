// Never run: the public names, used as a strict TypeScript application would.
import {
  ERROR_CODES, IndexedDBSaver, MemorySaver, TimeTravelAPI, TurnmarkError, deleteDatabase, init, open,
  type Checkpoint, type Checkpointer, type CheckpointTuple, type ErrorCode, type Restored, type Status, type Turnmark,
} from "turnmark";
import { importChatGPT, parseChatGPTExport } from "turnmark/chatgpt";
import { DEVTOOLS, installDevTools, type HarnessDevToolsAPI } from "turnmark/devtools";
import { open as openInlined } from "turnmark/inline";
import { checkpointerSuite } from "turnmark/testing";

export async function tour(text: string): Promise<Restored> {
  await init("/turnmark.wasm");
  const store: Turnmark = await open({ name: "tour", durability: "strict", persist: true, fallbackToMemory: false });
  await using other = await openInlined({ backend: "memory" });
  const session = await other.session("s");
  const made: Checkpoint = await session.append([{ id: "m", role: "user", content: text, when: new Date(), big: 1n }], { channels: { plan: new Map([["a", 1]]) } });
  const level: "memory" | "os" | "disk" | "replicated" = made._durability.level;
  const stop = store.on("checkpoint.created", ({ checkpoint, origin }) => console.log(checkpoint.id, origin === "remote", level));
  stop();
  for await (const { id, source, head } of store.checkpoints.list("s", { limit: 10, filter: { source: "message" } })) console.log(id, source, head);
  const tuple: CheckpointTuple | undefined = await store.checkpoints.get("s");
  const status: Status = await store.status();
  const savers: Checkpointer[] = [new MemorySaver({ maxCheckpoints: 5 }), new IndexedDBSaver({ name: "x" }), store.saver()];
  for (const saver of savers) await new TimeTravelAPI(saver).fork("s", made.id, tuple?.checkpoint.id);
  const report = await importChatGPT(store, parseChatGPTExport(text), { onProgress: ({ messages, totalMessages }) => console.log(messages / totalMessages, status.level) });
  const api: HarnessDevToolsAPI | null = installDevTools(store, { globalName: "__MINE__" }).api;
  await api?.rollback(-2);
  window.__HARNESS_DEVTOOLS__?.checkpoints();
  console.log(DEVTOOLS, report.sessions[0]?.branches.length);
  await checkpointerSuite({ create: () => new MemorySaver() }).run();
  try {
    return await session.rollback(made.id, { parts: ["messages"] });
  } catch (error) {
    if (error instanceof TurnmarkError) {
      const code: ErrorCode = error.code;
      console.log(code, error.branch?.sessionId, error.path, ERROR_CODES.includes(code));
    }
    // @ts-expect-error: there is no such part
    return await session.rollback(made.id, { parts: ["files"] });
  } finally {
    await deleteDatabase("tour");
  }
}
