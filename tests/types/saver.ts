// Somebody else's saver: what the contract asks of it, and the suite that checks it.
import type { Checkpoint, CheckpointListOptions, CheckpointMetadata, CheckpointSummary, CheckpointTuple, Checkpointer, SessionState } from "turnmark";
import { TimeTravelAPI } from "turnmark";
import { CAPABILITIES, checkpointerSuite, type Capability, type CaseResult } from "turnmark/testing";

export class RemoteSaver implements Checkpointer {
  async put(threadId: string, state: SessionState, metadata: CheckpointMetadata): Promise<Checkpoint> {
    return this.#post("put", { threadId, state, metadata });
  }

  async get(threadId: string, checkpointId?: string): Promise<CheckpointTuple | undefined> {
    return this.#post("get", { threadId, checkpointId });
  }

  async *list(threadId: string, options?: CheckpointListOptions): AsyncGenerator<CheckpointSummary> {
    yield* await this.#post<CheckpointSummary[]>("list", { threadId, options });
  }

  async delete(threadId: string, checkpointId: string): Promise<void> {
    return this.#post("delete", { threadId, checkpointId });
  }

  async prune(threadId: string, keepLast: number): Promise<number> {
    return this.#post("prune", { threadId, keepLast });
  }

  async #post<T>(_method: string, _body: unknown): Promise<T> {
    throw new Error("not here");
  }
}

export async function conformance(test: (name: string, body: () => Promise<void>) => void): Promise<CaseResult[]> {
  const suite = checkpointerSuite({
    create: async () => new RemoteSaver(),
    destroy: (saver) => saver.put.name,
    test,
    lacks: ["richValues"],
  });
  suite.names satisfies string[];
  CAPABILITIES satisfies readonly Capability[];
  // @ts-expect-error no such capability
  checkpointerSuite({ create: () => new RemoteSaver(), lacks: ["speed"] });
  // @ts-expect-error not a saver
  checkpointerSuite({ create: () => ({}) });
  // @ts-expect-error a saver that cannot put
  new TimeTravelAPI({ get: async () => undefined });
  return suite.run();
}
