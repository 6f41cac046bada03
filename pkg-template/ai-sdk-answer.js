// A turn of the store, fed from the chat's list of messages while it grows. Not an entry of the package.

/**
 * Writes down what belongs to a turn: every message that was not there when it began (`base`). Whole messages are appended as they
 * come, the one that grows is streamed, and all of it ends the turn. `refused(error)` hears of a write that failed on the way; then
 * nothing more is written until the end, which writes everything that is missing.
 */
export function followTurn(turn, base, refused) {
  const earlier = new Set(base.map(({ id }) => id));
  const written = new Map();
  const ofTurn = (messages) => messages.filter(({ id }) => !earlier.has(id));
  const missing = (messages) => messages.filter((message) => written.get(message.id) !== message);
  let next = null;
  let pumping = null;
  let failed = false;

  async function pump() {
    while (next && !failed && !turn.ended) {
      const own = next;
      next = null;
      const growing = own.at(-1).role === "assistant" ? own.at(-1) : null;
      const whole = missing(growing ? own.slice(0, -1) : own);
      if (whole.length > 0) {
        await turn.append(whole);
        for (const message of whole) written.set(message.id, message);
      }
      if (growing) turn.stream(growing);
    }
  }

  return {
    turn,
    base,
    ofTurn,
    /** Takes the list as it is now; returns at once. */
    record(messages) {
      const own = ofTurn(messages);
      if (own.length === 0 || failed) return;
      next = own;
      pumping ??= pump()
        .catch((error) => {
          failed = true;
          refused(error);
        })
        .finally(() => {
          pumping = null;
        });
    },
    /** Ends the turn with what there is of it. Without any message it is taken back. */
    async end(messages, metadata) {
      next = null;
      await pumping;
      const own = ofTurn(messages);
      if (own.length === 0) return turn.abort({ keep: false });
      const rest = missing(own);
      return turn.end(rest.length > 0 ? rest : undefined, { metadata });
    },
  };
}
