// The package inside of a module worker: each message is a list of texts to append; the answer is what is stored then.
import { open } from "/pkg/index.js";

addEventListener("message", async ({ data: { name, session: id, texts } }) => {
  try {
    const store = await open({ name });
    const session = await store.session(id);
    const before = (await session.messages()).length;
    let checkpoint;
    for (const [i, content] of texts.entries()) checkpoint = await session.append([{ id: `w${before + i}`, role: "user", content, bytes: new Uint8Array([1, 2, 3]) }]);
    postMessage({ level: checkpoint._durability.level, messages: await session.messages(), ok: (await store.verify()).ok });
  } catch (error) {
    postMessage({ error: String(error) });
  }
});
