/** What the browser says about keeping this origin's data. `null` wherever it says nothing. */

const storage = () => globalThis.navigator?.storage;

async function answer(ask) {
  try {
    return (await ask()) ?? null;
  } catch {
    return null;
  }
}

/** Whether the browser has promised not to evict this origin. */
export const persisted = () => answer(() => storage()?.persisted?.());

/** Asks it to. One that cannot be asked has not promised. */
export const persist = async () => (await answer(() => storage()?.persist?.())) ?? false;

/** How much is used, of how much. */
export const quota = () =>
  answer(async () => {
    const { usage, quota: limit } = await storage().estimate();
    return { usage, quota: limit };
  });
