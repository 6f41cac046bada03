// The declarations as an application meets them. Never run: `tsc --noEmit` is the test. A line below an "expect-error"
// directive must be an error.
import {
  ERROR_CODES, IndexedDBSaver, MemorySaver, TimeTravelAPI, TurnmarkError, deleteDatabase, init, open,
  type Checkpoint, type CheckpointSummary, type Checkpointer, type ErrorCode, type Message, type Restored, type Session, type SessionState, type Turnmark,
} from "turnmark";
import { open as openInline } from "turnmark/inline";

/** Fails to compile unless both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export async function opening(): Promise<void> {
  same<ReturnType<typeof open>, Promise<Turnmark>>(true);
  same<typeof openInline, typeof open>(true);
  await open();
  await open({ name: "chats", scope: "project", backend: "memory", durability: "relaxed", maxCheckpoints: 500, fallbackToMemory: true, persist: true, timeout: 5000 });
  // @ts-expect-error an unknown backend
  await open({ backend: "disk" });
  // @ts-expect-error an unknown option
  await open({ dbName: "x" });
  await init();
  await init(new URL("https://example.com/x.wasm"));
  await init(new Uint8Array());
  await init(await fetch("https://example.com/x.wasm"));
  // @ts-expect-error no source
  await init(null);
  await deleteDatabase("chats");
  await using store = await open({ backend: "memory" });
  store.name satisfies string;
  using saver = new MemorySaver();
  await saver.get("t");
}

interface ChatMessage extends Message {
  id: string;
  role: "user" | "assistant";
  parts: { type: "text"; text: string }[];
}

export async function sessions(store: Turnmark, chat: ChatMessage[]): Promise<void> {
  const session = await store.session("main");
  same<typeof session, Session>(true);
  const checkpoint = await session.append(chat);
  same<typeof checkpoint, Checkpoint>(true);
  await session.append([{ id: "m1", role: "user", content: "hi", file: new Blob([]) }], {
    metadata: { source: "tool_execution", tool: "grep", provisional: true },
    channels: { plan: new Map([[1, new Date()]]) },
    remove: ["old"],
  });
  // @ts-expect-error a message is an object
  await session.append(["hi"]);
  // @ts-expect-error an id is a string
  await session.append([{ id: 5 }]);
  // @ts-expect-error an unknown source
  await session.append(chat, { metadata: { source: "hook" } });
  await session.put({ messages: chat, plan: { step: 1 } });
  await session.put({ messages: chat }, { name: null, kind: "committed", parentCheckpointId: checkpoint.id, allowEmpty: true });
  // @ts-expect-error an unknown kind
  await session.put({}, { kind: "final" });
  // @ts-expect-error messages is a list
  await session.put({ messages: { 0: chat } });

  const restored = await session.rollback(checkpoint.id, { parts: ["messages"], load: false });
  same<typeof restored, Restored>(true);
  same<typeof restored.state, SessionState | undefined>(true);
  same<typeof restored.files, "not-restored">(true);
  // @ts-expect-error an unknown part
  await session.rollback(checkpoint.id, { parts: ["files"] });
  const forked: Session = await session.fork(checkpoint.id, "copy");
  await (await session.fork()).delete();
  const diff = await forked.diff(checkpoint.id);
  for (const { change, before, after } of diff.messages) {
    change satisfies "added" | "removed" | "changed";
    before satisfies Message | undefined;
    after satisfies Message | undefined;
  }
  await session.preview({ operation: "prune", keepLast: 5 });
  // @ts-expect-error a prune keeps a number
  await session.preview({ operation: "prune" });
  await session.setTitle(null);
}

export async function checkpoints(store: Turnmark, checkpoint: Checkpoint): Promise<void> {
  for await (const summary of store.checkpoints.list("main", 5)) same<typeof summary, CheckpointSummary>(true);
  for await (const { head, size } of store.checkpoints.list("main", { limit: 5, before: checkpoint.id, filter: { source: "message", tool: "grep" } })) {
    head satisfies boolean;
    size satisfies number;
  }
  // @ts-expect-error a listing is no array
  store.checkpoints.list("main").length;
  const tuple = await store.checkpoints.get("main");
  // @ts-expect-error there may be none
  tuple.state;
  for (const [task, channel, value] of tuple?.pendingWrites ?? []) {
    task satisfies string;
    channel satisfies string;
    same<typeof value, unknown>(true);
  }
  same<typeof checkpoint.messageIds, string[]>(true);
  checkpoint._durability.level satisfies "memory" | "os" | "disk" | "replicated";
  // @ts-expect-error a checkpoint is immutable
  checkpoint.pinned = true;
  // @ts-expect-error a diff needs to know the sessions
  await store.checkpoints.diff(checkpoint.id, checkpoint.id);
  await store.rollbackToCheckpoint("main", checkpoint.id);
  for await (const _ of store.listCheckpoints("main", 5));
}

export function events(store: Turnmark): () => void {
  store.on("restored", ({ restorePointId, origin }) => {
    restorePointId satisfies string;
    origin satisfies "local" | "remote";
  });
  // @ts-expect-error an unknown event
  store.on("checkpoint.deleted", () => {});
  // @ts-expect-error no such field
  store.on("data.lost", ({ checkpoint }) => {});
  return store.on("checkpoint.created", async ({ checkpoint }) => void checkpoint.id);
}

export async function savers(store: Turnmark): Promise<Checkpoint> {
  const all: Checkpointer[] = [new MemorySaver(), new IndexedDBSaver({ name: "x", maxCheckpoints: 0 }), store.saver()];
  // @ts-expect-error memory is not durable
  new MemorySaver({ durability: "strict" });
  await store.saver().putWrites("t", [{ channel: "a", value: 1 }, ["b", 2]], "task");
  for (const saver of all) {
    await saver.put("t", { messages: [] }, { source: "message" });
    // @ts-expect-error what triggered it?
    await saver.put("t", { messages: [] }, {});
    await saver.putWrites?.("t", [["a", 1]], "task");
  }
  return new TimeTravelAPI(new MemorySaver()).fork("t", "cp_1");
}

export function errors(error: unknown): string {
  same<(typeof ERROR_CODES)[number], ErrorCode>(true);
  if (!(error instanceof TurnmarkError)) return "";
  switch (error.code) {
    case "Conflict": return error.branch?.sessionId ?? "";
    case "NotStorable": return error.path ?? "";
    // @ts-expect-error no such code
    case "Oops": return "";
    default: return error.message;
  }
}
