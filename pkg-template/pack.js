import { encode } from "./encode.js";
import { TurnmarkError, describe } from "./errors.js";

/** Encoded values on their way to the engine, with the Blobs among them that still have to be read. */
export class Pack {
  #texts = [];
  #binaries = [];
  #hasBinaries = false;
  #reads = [];
  #options;

  /** @param {{ dataUrls?: boolean }} [options] as `encode` takes them */
  constructor(options) {
    this.#options = options;
  }

  /** Encodes a value as it is now. */
  add(value, path, options = this.#options) {
    const { text, binaries, blobs } = encode(value, path, options);
    this.#texts.push(text);
    this.#binaries.push(binaries ?? undefined);
    if (binaries === null) return;
    this.#hasBinaries = true;
    for (const blob of blobs ?? []) this.#reads.push(readInto(binaries, blob));
  }

  /** Resolves when every Blob has been read. Reading began when it was added. */
  async ready() {
    for (const read of this.#reads) {
      const error = await read;
      if (error) throw error;
    }
  }

  /** What the engine takes. Call after {@link ready}. */
  raw() {
    return { texts: this.#texts, binaries: this.#hasBinaries ? this.#binaries : null };
  }
}

/** Puts a Blob's bytes in its place. Resolves to the failure instead of rejecting: nobody may be waiting yet. */
async function readInto(binaries, { index, path }) {
  try {
    binaries[index] = new Uint8Array(await binaries[index].arrayBuffer());
    return null;
  } catch (cause) {
    return new TurnmarkError("NotStorable", `${path} could not be read (${describe(cause)}); nothing was written`, { path, cause });
  }
}
