/** Random numbers that are the same everywhere for the same seed. */
export class Random {
  #state;

  /** The numbers of one case: `index` of a run with this seed. */
  constructor(seed, index) {
    this.#state = Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b);
    for (let i = 0; i < 4; i += 1) this.next();
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below `limit`. */
  below(limit) {
    return Math.floor(this.next() * limit);
  }

  one(list) {
    return list[this.below(list.length)];
  }

  chance(of) {
    return this.next() < of;
  }
}
