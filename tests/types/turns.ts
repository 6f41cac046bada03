// Turns, conversations and the checkpoint store, as an application in strict TypeScript uses them. Compiled, never run.
import {
  open,
  type CheckpointTuple,
  type HistoryPage,
  type Message,
  type Part,
  type RestoredTo,
  type StreamingMessage,
  type Turn,
  type TurnOptions,
  type TurnVersion,
} from "turnmark";
import { createCheckpointStore, type ChatCheckpoint, type MessageSnapshot } from "turnmark/checkpoint-store";

const parts: Part[] = ["messages", "state", "ui"];
const options: TurnOptions = { raw: "typed", composed: "sent", ui: { screenshots: [] }, commitHash: null, metadata: { createdByEventId: "e" } };

export async function turns(): Promise<void> {
  const store = await open({
    retention: "apploop",
    streamInterval: 100,
    files: { snapshot: async () => "ref", restore: async (ref: string) => ref.length > 0 },
  });
  const session = await store.session("s");
  const turn: Turn = await session.begin(options);
  const question: Message = { id: "u", role: "user", content: "typed" };
  await turn.append([question], { channels: { plan: 1 } });
  turn.stream({ id: "a", role: "assistant", content: "…" });
  await turn.flush();
  await turn.touch({ name: "before a tool" });
  const ended = await turn.end([{ id: "a", role: "assistant", content: "done" }], { usage: { total: { output_tokens: 2 }, delta: {} } });
  const slot: number | undefined = ended.turn?.seq;
  const stopped: boolean = turn.signal.aborted && turn.ended;
  const nothing: null | typeof ended = await turn.abort({ keep: false });

  const back: RestoredTo = await session.restore("u", { load: false, abortRun: true });
  const why: string | null = back.filesReason;
  const typed: string | null = (await session.edit("u")).rawPrompt;
  const versions: TurnVersion[] = await session.versions("u");
  if (versions[0]) await session.show(versions[0]);
  const tuple: CheckpointTuple | undefined = await session.get();
  const growing: StreamingMessage | null | undefined = tuple?.streaming;
  await session.rollback(ended.id, { parts, turn });
  await session.recover({ drop: true });
  await session.abortRun();
  await session.setRemoteSession("agent");
  const remote: string | null = await session.remoteSession();

  const fresh = await store.newSession({ title: "Next" });
  const opened = await store.openSession(fresh.sessionId);
  const page: HistoryPage = await store.history({ page: 1, pageSize: 8 });
  const names: string[] = page.entries.map(({ name }) => name);
  store.on("turn.ended", ({ reloadKey }) => void (reloadKey satisfies number));
  store.on("stream.failed", ({ error }) => void (error.code satisfies string));
  void [slot, stopped, nothing, why, typed, growing, remote, opened, names];

  // @ts-expect-error composed goes with raw, and is a text
  await session.begin({ raw: "x", composed: 1 });
  // @ts-expect-error a turn has no such method
  turn.finish();
}

export async function seedStore(): Promise<ChatCheckpoint | undefined> {
  const checkpoints = createCheckpointStore({ projectId: "p" });
  const snapshots: MessageSnapshot[] = [{ id: "1", role: "user", content: "x" }];
  const saved: ChatCheckpoint = await checkpoints.saveCheckpoint("Session 1", ["1"], null, true, snapshots);
  const at: number = saved.createdAt;
  await checkpoints.updateCheckpointMessages(saved.id, snapshots);
  void at;
  return checkpoints.loadCheckpoint(saved.id);
}
