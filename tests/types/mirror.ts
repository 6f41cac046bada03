// What only the mirror has, and copies that users hold.
import type { RecoverableSession, Turnmark } from "turnmark";
import { open } from "turnmark";
import { createBackup, saveCopy, type Backup } from "turnmark/backup";

export async function bringBack(tell: (text: string) => void): Promise<Backup> {
  const store: Turnmark = await open({ mirror: { budget: 10_000_000 } });
  await open({ mirror: false });
  store.on("data.recoverable", ({ sessions }) => sessions.forEach((one: RecoverableSession) => tell(`${one.sessionId} ${one.lastSeq - one.mirroredSeq}`)));
  for (const done of await store.recover()) {
    if (done.action === "restored") tell(`${done.restoredFrom} is ${done.sessionId}, ${done.messages} messages`);
    else if (done.action === "failed") tell(done.reason);
    else tell(done.checkpointId);
  }
  const { mirror } = await store.status();
  tell(mirror === null ? "no mirror" : `${mirror.bytes} of ${mirror.budget}`);
  const copy = await saveCopy(store, { sessions: ["s"] });
  tell(copy?.fileName ?? "none");
  const backup = createBackup(store, { every: 60_000, keep: 3, onSaved: ({ at }) => tell(String(at)), onError: ({ code }) => tell(code) });
  if ((await backup.resume()) === "none") await backup.pick();
  // @ts-expect-error a budget is a number
  await open({ mirror: { budget: "much" } });
  return backup;
}
