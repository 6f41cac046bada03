//! What a mirror is given of a session, and what comes back from it.

use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::Row;
use turnmark::error::Code;
use turnmark::model::checkpoint::Checkpoint;
use turnmark::plan::bundle::{self, Bundle, Imported, OnExisting};
use turnmark::plan::mirror::Seen;

use super::kit::{Kit, T, Tab, assistant, chat, code, sid, user};

/// What a mirror holds of one session: what it was given, oldest first, since it was last given everything.
#[derive(Default)]
pub(crate) struct Chain {
    pub(crate) parts: Vec<Bundle<T>>,
    pub(crate) after: Option<Seen>,
}

impl Chain {
    /// Takes what is new of a session; `false` where there is nothing.
    pub(crate) async fn take(&mut self, tab: &Tab, session: &str, most: u32) -> bool {
        let share = tab.engine.share(&sid(session), self.after, most).await.unwrap();
        let Some(share) = share else { return false };
        if share.whole {
            self.parts.clear();
        }
        let oldest = share.bundle.checkpoints[0].seq;
        let oldest = self.after.filter(|_| !share.whole).map_or(oldest, |after| oldest.min(after.oldest));
        self.after = share.bundle.checkpoints.last().map(|cp| Seen { oldest, ..seen(cp) });
        self.parts.push(share.bundle);
        true
    }

    pub(crate) async fn bring_back(&self, tab: &Tab) -> turnmark::error::Result<Imported> {
        tab.engine.import(&bundle::together(self.parts.clone()), OnExisting::Rename).await
    }
}

fn seen(checkpoint: &Checkpoint<T>) -> Seen {
    Seen { seq: checkpoint.seq, epoch: checkpoint.epoch, oldest: 0 }
}

fn messages(bundle: &Bundle<T>) -> usize {
    bundle.messages.iter().map(|(_, run)| run.hashes.len()).sum()
}

/// Everything of the newest checkpoints of a session, newest first.
async fn held(
    tab: &Tab,
    session: &str,
    most: usize,
) -> Vec<(String, super::kit::Shot, Vec<(String, i64, String, String)>)> {
    let mut all = Vec::new();
    for cp in tab.all(session).await.into_iter().take(most) {
        let pending = tab.pending(session, Some(&cp.id)).await;
        all.push((cp.id.to_string(), tab.at(session, &cp.id).await, pending));
    }
    all
}

contract! {
    /// What a mirror was given piece by piece is the session again, down to its pins, its pending writes and its way back.
    async fn a_session_comes_back_from_what_a_mirror_was_given(kit) {
        let tab = kit.tab().await;
        let mut chain = Chain::default();
        let mut all = chat("m", 0..30);
        all.push(user("long").saying(&"ж".repeat(30_000)));
        all.push(assistant("picture").with(vec![9; 100_000]));
        tab.put("s", &all, &[("n", "1"), ("big", &"v".repeat(90_000))]).await.unwrap();
        assert!(chain.take(&tab, "s", 20).await);
        all[3] = all[3].clone().saying("edited");
        let edited = tab.put("s", &all, &[("n", "2"), ("big", &"v".repeat(90_000))]).await.unwrap();
        tab.engine.pin(&sid("s"), &edited.id, true).await.unwrap();
        assert!(chain.take(&tab, "s", 20).await);
        tab.put_writes("s", "task", &[("x", "1"), ("long", &"e".repeat(30_000))]).await.unwrap();
        tab.engine.set_title(&sid("s"), Some("A title".to_owned())).await.unwrap();
        assert!(chain.take(&tab, "s", 20).await);
        tab.append("s", &[user("u"), assistant("a")]).await.unwrap();
        tab.rollback("s", &edited.id).await.unwrap();
        tab.append("s", &[user("after the rollback")]).await.unwrap();
        assert!(chain.take(&tab, "s", 20).await);
        assert_eq!(chain.parts.len(), 4);

        let elsewhere = Kit::fresh().await;
        let there = elsewhere.tab().await;
        let done = chain.bring_back(&there).await.unwrap();
        assert_eq!((done.sessions.len(), done.sessions[0].1.as_str()), (1, "s"));
        assert_eq!(held(&there, "s", 99).await, held(&tab, "s", 99).await);
        assert_eq!(there.live("s").await, tab.live("s").await);
        let title = there.engine.session(&sid("s")).await.unwrap().unwrap().title;
        assert_eq!(title.as_deref(), Some("A title"));
        let pinned: Vec<String> = there.all("s").await.iter().filter(|cp| cp.pinned).map(|cp| cp.id.to_string()).collect();
        assert_eq!(pinned, [edited.id.to_string()]);
        there.undo("s").await.unwrap();
        assert_eq!(there.live("s").await.messages.len(), all.len());
        there.clean().await;
    }

    /// A mirror is given what is new: not what it has, and not what is older than it keeps.
    async fn a_share_costs_what_is_new(kit) {
        let tab = kit.tab().await;
        let many: Vec<(String, String)> = (0..3000).map(|n| (format!("channel {n}"), format!("{n}"))).collect();
        let channels: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let first = tab.put("s", &chat("m", 0..1000), &channels).await.unwrap();
        let share = async |after: Option<Seen>, most| {
            tab.engine.share(&sid("s"), after, most).await.unwrap().unwrap()
        };
        let everything = share(None, 20).await;
        assert!(everything.whole && everything.bundle.objects.len() > 3000);
        assert_eq!(messages(&everything.bundle), 1000);
        let mut changed = channels.clone();
        changed[1500].1 = "changed";
        let second = tab.put("s", &chat("m", 0..1001), &changed).await.unwrap();
        tab.counted();
        let new = share(Some(seen(&first)), 20).await;
        let read = tab.counted();
        assert!(!new.whole && new.bundle.objects.len() < 10, "{} objects", new.bundle.objects.len());
        assert!(read.requests < 40, "{read:?}");
        assert_eq!((messages(&new.bundle), new.bundle.checkpoints.len()), (1, 2));
        let nothing = share(Some(seen(&second)), 1).await;
        assert_eq!((messages(&nothing.bundle), nothing.bundle.objects.len(), nothing.bundle.checkpoints.len()), (0, 0, 1));
        tab.append("s", &[user("x")]).await.unwrap();
        assert_eq!(share(Some(seen(&second)), 2).await.bundle.checkpoints.len(), 2);
        // What the mirror has is not there any more: it is given everything.
        assert!(share(Some(Seen { epoch: 1, ..seen(&second) }), 20).await.whole);
        tab.engine.prune(sid("s"), 1).await.unwrap();
        assert!(share(Some(seen(&first)), 20).await.whole);
        assert_eq!(tab.engine.share(&sid("none"), None, 20).await.unwrap(), None);
    }

    /// A session that is there stays as it is: what comes back gets an id of its own. Checkpoints that have lost their
    /// session's own record are there, too.
    async fn what_comes_back_overwrites_nothing(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[]).await.unwrap();
        let mut chain = Chain::default();
        assert!(chain.take(&tab, "s", 20).await);
        let before = tab.live("s").await;
        tab.append("s", &[user("more")]).await.unwrap();
        let done = chain.bring_back(&tab).await.unwrap();
        let (from, name, checkpoints, count) = &done.sessions[0];
        assert_eq!((from.as_str(), *checkpoints, *count), ("s", 1, 4));
        assert_eq!(tab.live(name.as_str()).await, before);
        assert_eq!(tab.live("s").await.messages.len(), 5);
        let row = |key: &Key| key.store == Store::Sessions && key.text(1) == Some("s");
        let lost = kit.dump().await.into_iter().find(|(key, _)| row(key)).unwrap().0;
        kit.tamper(&lost, None).await;
        let orphans = kit.rows(Store::Checkpoints).await.len();
        let again = chain.bring_back(&tab).await.unwrap();
        assert!(again.sessions[0].1.as_str() != "s" && again.sessions[0].1 != *name);
        assert_eq!(kit.rows(Store::Checkpoints).await.len(), orphans + 1);
    }

    /// Damage is not mirrored: what cannot be read is told, and what the mirror has stays.
    async fn damage_is_not_mirrored(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[("n", "1")]).await.unwrap();
        tab.put("t", &chat("o", 0..4), &[("n", "2")]).await.unwrap();
        let head = |key: &Key, row: &Row<T>| key.store == Store::Checkpoints && matches!(row, Row::Checkpoint(cp) if cp.session == sid("s"));
        let (key, row) = kit.dump().await.into_iter().find(|(key, row)| head(key, row)).unwrap();
        kit.tamper(&key, None).await;
        assert_eq!(code(tab.engine.share(&sid("s"), None, 20).await), Code::RecordUnreadable);
        kit.tamper(&key, Some((*row).clone())).await;
        let of_s = |key: &Key, row: &Row<T>| {
            key.store == Store::Messages && matches!(row, Row::Messages(run) if run.texts[0].as_ref().is_some_and(|text| turnmark::model::body::Text::utf8(text).contains("m0")))
        };
        let (key, _) = kit.dump().await.into_iter().find(|(key, row)| of_s(key, row)).unwrap();
        kit.tamper(&key, None).await;
        assert_eq!(code(tab.engine.share(&sid("s"), None, 20).await), Code::RecordUnreadable);
        assert!(tab.engine.share(&sid("t"), None, 20).await.unwrap().is_some());
    }

    /// What a file says is checked as any bundle is.
    async fn a_forged_share_is_refused(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[]).await.unwrap();
        let mut chain = Chain::default();
        assert!(chain.take(&tab, "s", 20).await);
        tab.append("s", &[user("more")]).await.unwrap();
        assert!(chain.take(&tab, "s", 20).await);
        let there = Kit::fresh().await;
        let there = there.tab().await;
        let forged = Chain { parts: chain.parts[1..].to_vec(), after: None };
        assert_eq!(code(forged.bring_back(&there).await), Code::BadBundle);
        chain.parts[0].messages[0].1.hashes[0].0[0] ^= 1;
        assert_eq!(code(chain.bring_back(&there).await), Code::BadBundle);
        let nothing = Chain::default().bring_back(&there).await.unwrap();
        assert_eq!(nothing.sessions, []);
    }
}
