import type { Checkpointer } from "./index.js";

/** What a saver may lack. `putWrites` is found out by itself; `richValues` are all that JSON does not keep. */
export type Capability = "putWrites" | "richValues";

export const CAPABILITIES: readonly Capability[];

export interface SuiteOptions<S extends Checkpointer> {
  /** A saver that holds nothing. Called once for each case. */
  create(): S | Promise<S>;
  /** Default: calls `close()` where the saver has one. */
  destroy?(saver: S): unknown;
  /** A runner's `test`, to register the cases with (`node:test`, Vitest, Jest, Mocha's `it`). */
  test?(name: string, body: (context?: any) => Promise<void>): unknown;
  /** Cases that need these are skipped. */
  lacks?: Capability[];
}

export interface CaseResult {
  /** A sentence, with the requirement it proves. */
  name: string;
  ok: boolean;
  /** Why it was not run. */
  skipped?: string;
  error?: unknown;
}

export interface Suite {
  readonly names: string[];
  /** Runs every case, one after another. Never rejects. */
  run(): Promise<CaseResult[]>;
}

/**
 * The contract of a {@link Checkpointer}, as cases that any implementation can be run through.
 *
 * @example
 * checkpointerSuite({ create: async () => new MySaver(), test });
 */
export function checkpointerSuite<S extends Checkpointer>(options: SuiteOptions<S>): Suite;
