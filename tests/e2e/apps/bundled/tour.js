// What every bundled page does: writes, goes back, undoes, and says what it saw.
export async function tour({ open }) {
  const store = await open({ name: "tour" });
  const session = await store.session("s");
  const before = (await session.messages()).length;
  const first = await session.append([{ id: `q${before}`, role: "user", content: "hello" }]);
  await session.append([{ id: `a${before}`, role: "assistant", content: new Uint8Array([1, 2, 3]) }]);
  const back = await session.rollback(first.id);
  const undone = await session.undo();
  const { ok } = await store.verify();
  await store.close();
  return { level: first._durability.level, back: back.state.messages.length - before, undone: undone.state.messages.length - before, before, ok };
}

export function show(result) {
  result.then((value) => ({ value }), (error) => ({ error: `${error.code ?? error.name}: ${error.message}` })).then((outcome) => {
    document.body.dataset.outcome = JSON.stringify(outcome);
  });
}
