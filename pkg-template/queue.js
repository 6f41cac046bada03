/**
 * Makes calls take effect in the order they were made, session by session, even when an earlier one still has a file to
 * read. A call that fails does not hold up the next.
 */
export class Queue {
  /** Last call of each session that has one waiting or running. Never rejects. */
  #tails = new Map();
  /** Last call that concerns every session. */
  #barrier = Promise.resolve();

  /** Runs a task after every earlier one of the same sessions. */
  run(sessions, task) {
    const earlier = sessions.map((session) => this.#tails.get(session) ?? this.#barrier);
    const result = Promise.all(earlier).then(task);
    const tail = result.then(ignore, ignore);
    for (const session of sessions) this.#tails.set(session, tail);
    tail.then(() => {
      for (const session of sessions) if (this.#tails.get(session) === tail) this.#tails.delete(session);
    });
    return result;
  }

  /** Runs a task that reads everything after all earlier ones; later ones do not wait for it. */
  runAfterAll(task) {
    return Promise.all([...this.#tails.values(), this.#barrier]).then(task);
  }

  /** Runs a task that changes everything: after all earlier ones, before all later ones. */
  runAlone(task) {
    const result = this.runAfterAll(task);
    this.#barrier = result.then(ignore, ignore);
    this.#tails.clear();
    return result;
  }
}

function ignore() {}
