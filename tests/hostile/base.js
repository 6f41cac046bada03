// The bundle that hostile cases begin with, with some of everything that a bundle can hold.

/** The same text at every call, for one build: clock and chance are taken away while it is made. For Node. */
export async function makeBase({ open }) {
  const { getRandomValues } = crypto;
  const { now } = Date;
  let count = 0;
  crypto.getRandomValues = (array) => array.fill((count += 1));
  Date.now = () => 1_700_000_000_000 + (count += 1);
  try {
    const store = await open({ backend: "memory", name: "hostile-base" });
    const session = await store.session("s");
    await session.get();
    await session.append([{ id: "u0", role: "user", content: "first" }], { channels: { plan: { days: 7 }, bytes: new Uint8Array([1, 2, 3]), long: "ж".repeat(300) }, metadata: { step: 1, usage: { total: { t: 1.5 }, delta: {} } } });
    for (const n of [1, 2]) {
      const turn = await session.begin({ raw: `typed ${n}`, ui: { targets: [n] }, commitHash: `c${n}` });
      await turn.append([{ id: `u${n}`, role: "user", content: `question ${n}` }]);
      await turn.end([{ id: `a${n}`, role: "assistant", content: new Map([[n, new Date(n)]]) }]);
    }
    const again = await session.begin({ regenerate: "u2" });
    await again.end([{ id: "b2", role: "assistant", content: "better" }]);
    await store.saver().putWrites("s", [["plan", 1], ["__error__", 2n]], "before");
    const fork = await session.fork(undefined, "f");
    await fork.append([{ id: "u3", role: "user", content: "in the fork" }]);
    await fork.undo();
    await fork.setTitle("Title");
    const bundle = await store.export();
    await store.close();
    return bundle;
  } finally {
    delete crypto.getRandomValues;
    if (crypto.getRandomValues !== getRandomValues) crypto.getRandomValues = getRandomValues;
    Date.now = now;
  }
}
