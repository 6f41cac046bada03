//! What goes on beside damage: opening, listing, exporting, collecting and writing.

use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::{Content, Row};
use turnmark::error::Code;
use turnmark::plan::bundle::OnExisting;
use turnmark::plan::restore::Target;

use super::damage::{faults, fill, first};
use super::kit::{Kit, assistant, chat, code, shot, sid, user};
use crate::backend;

/// A user's message that is too long for a row of messages, with a picture.
fn long(text: &str) -> super::kit::Msg {
    user(text).saying(&text.repeat(30_000)).with(vec![7; 90_000])
}

async fn references(kit: &Kit) -> Vec<Key> {
    kit.rows(Store::References).await.into_iter().map(|(key, _)| key).collect()
}

contract! {
    /// google/leveldb#251: a reference that is lost does not cost the long message, or the picture, that it led to.
    async fn what_a_lost_reference_led_to_is_not_collected(kit) {
        let tab = kit.tab().await;
        let messages = [user("a").with(vec![1; 50_000]), long("b"), assistant("c")];
        tab.put("s", &messages, &[("x", &"v".repeat(70_000))]).await.unwrap();
        tab.put("dead", &[long("d")], &[]).await.unwrap();
        let mine = references(&kit).await;
        assert_eq!(mine.len(), 5);
        for key in &mine {
            kit.tamper(key, None).await;
        }
        tab.engine.delete_session(&sid("dead")).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&messages, &[("x", &"v".repeat(70_000))]));
        // And what nothing leads to goes all the same.
        assert!(!kit.rows(Store::Objects).await.iter().any(|(_, row)| format!("{row:?}").contains("dddd")));
        let mended = tab.engine.repair(false).await.unwrap();
        assert_eq!(mended.actions.iter().map(|done| done.action).collect::<Vec<_>>(), ["reference"; 3]);
        tab.clean().await;
    }

    /// Where a message that may lead to it cannot be read, nothing large goes; small values do.
    async fn what_an_unreadable_message_may_lead_to_is_not_collected(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..3);
        tab.put("s", &messages, &[("n", "1")]).await.unwrap();
        tab.append("s", &[long("b")]).await.unwrap();
        for n in 0..3 {
            tab.put("other", &chat("o", 0..1), &[("n", &format!("value {n}"))]).await.unwrap();
        }
        for key in references(&kit).await {
            kit.tamper(&key, None).await;
        }
        let (run, row) = kit.rows(Store::Messages).await.into_iter().find(|(_, row)| matches!(&**row, Row::Messages(run) if run.texts[0].is_none())).unwrap();
        kit.garble(&run, 3).await;
        tab.engine.prune(sid("other"), 1).await.unwrap();
        assert!(!kit.rows(Store::Objects).await.iter().any(|(_, row)| format!("{row:?}").contains("value 0")));
        kit.tamper(&run, Some((*row).clone())).await;
        let mut all = messages;
        all.push(long("b"));
        assert_eq!(kit.tab().await.live("s").await, shot(&all, &[("n", "1")]));
    }

    /// element-hq/element-web#33183, OneKeyHQ/app-monorepo#12827: the row about the database itself keeps nobody out.
    async fn a_store_opens_without_the_row_about_the_database(kit) {
        let tab = fill(&kit).await;
        let row = kit.rows(Store::Meta).await.into_iter().find(|(key, _)| *key == Key::meta()).unwrap().1;
        kit.garble(&Key::meta(), 5).await;
        let late = kit.tab().await;
        assert_ne!(late.engine.device(), tab.engine.device());
        late.put("new", &[user("a")], &[]).await.unwrap();
        assert_eq!(late.engine.sessions().await.unwrap().len(), 4);
        // Nothing was written over it.
        assert!(faults(&late).await.iter().any(|fault| fault.record == Key::meta().to_string()));
        kit.tamper(&Key::meta(), Some((*row).clone())).await;
        assert_eq!(kit.tab().await.engine.device(), tab.engine.device());
    }

    /// CherryHQ/cherry-studio#6183: an old row that cannot be read is not in the way when small rows are merged.
    async fn turns_are_appended_behind_a_row_that_cannot_be_read(kit) {
        let tab = kit.tab().await;
        for n in 0..8 {
            tab.append("s", &[user(&format!("m{n}"))]).await.unwrap();
        }
        let rows = kit.rows(Store::Messages).await;
        kit.garble(&rows[2].0, 4).await;
        for n in 8..40 {
            tab.append("s", &[user(&format!("m{n}"))]).await.unwrap();
        }
        assert_eq!(tab.all("s").await[0].state.spans.count(), 40);
        assert!(kit.rows(Store::Messages).await.len() < 30, "the rows behind it are merged");
        kit.tamper(&rows[2].0, Some((*rows[2].1).clone())).await;
        let all: Vec<_> = (0..40).map(|n| user(&format!("m{n}"))).collect();
        assert_eq!(tab.live("s").await, shot(&all, &[]));
        tab.sound().await;
    }

    /// A run whose writer died ends, whatever has become of the messages before it.
    async fn a_turn_is_recovered_behind_messages_that_cannot_be_read(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        tab.begin("s", "r", "p").await.unwrap();
        tab.go("s", "r", &[user("u2")]).await.unwrap();
        tab.grow("s", 0, &super::chat::addition("r", (0, 0), "half")).await.unwrap();
        let run = first(&kit, Store::Messages, |_, _| true).await;
        kit.garble(&run, 2).await;
        assert!(tab.engine.recover(sid("s"), false).await.unwrap().is_some());
        let session = tab.engine.session(&sid("s")).await.unwrap().unwrap();
        assert_eq!((session.run, session.state.spans.count()), (None, 4));
        assert_eq!(tab.engine.recover(sid("s"), false).await.unwrap(), None);
    }

    /// A writer that is behind keeps its work, and a fork can be deleted, though a header or a session's row cannot be read.
    async fn work_is_kept_and_forks_go_beside_headers_that_cannot_be_read(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &chat("m", 0..2), &[]).await.unwrap();
        tab.fork("s", &base.id, "f").await.unwrap();
        tab.append("s", &[user("more")]).await.unwrap();
        let behind = kit.tab().await;
        kit.garble(&Key::checkpoint(tab.engine.scope(), &sid("s"), base.seq), 1).await;
        let late = behind.write_seeing("s", super::kit::more(&[user("late")]), Some(base.epoch)).await.unwrap_err();
        assert_eq!(late.code, Code::Conflict);
        tab.engine.delete_session(&sid("f")).await.unwrap();
        assert!(kit.rows_of(&sid("f")).await.is_empty());
        // The session's own row.
        kit.garble(&Key::session(tab.engine.scope(), &sid("s")), 2).await;
        let kept = tab.append("s", &[user("kept")]).await.unwrap_err().branch.clone().expect("a conflict names its branch");
        assert_eq!(tab.live(kept.session.as_str()).await, shot(&[user("kept")], &[]));
        assert_eq!(code(kit.tab().await.append("s", &[user("blind")]).await), Code::RecordUnreadable);
        assert_eq!(tab.engine.status().await.unwrap().unreadable, [Key::session(tab.engine.scope(), &sid("s")).to_string()]);
    }

    /// CherryHQ/cherry-studio#11516: of a damaged session, what can be read is exported, and what cannot is told.
    async fn an_export_has_what_can_be_read_of_a_damaged_session(kit) {
        let tab = kit.tab().await;
        let older = tab.put("s", &chat("m", 0..2), &[("n", "1")]).await.unwrap();
        tab.put_writes("s", "task", &[("x", "1")]).await.unwrap();
        tab.append("s", &[user("lost")]).await.unwrap();
        let run = first(&kit, Store::Messages, |_, row| format!("{row:?}").contains("lost")).await;
        kit.garble(&run, 9).await;
        let bundle = tab.engine.export(None).await.unwrap();
        assert_eq!((bundle.sessions.len(), bundle.checkpoints.len(), bundle.writes.len(), bundle.omitted.len()), (1, 1, 1, 1));
        let there = Kit::fresh().await.tab().await;
        let text = backend::text(&bundle);
        there.engine.import(&backend::bundle(&text).unwrap(), OnExisting::Error).await.unwrap();
        assert_eq!(there.live("s").await, shot(&chat("m", 0..2), &[("n", "1")]));
        assert_eq!(there.all("s").await[0].id, older.id);
        there.append("s", &[user("on")]).await.unwrap();
        there.clean().await;
        assert_eq!(code(tab.engine.export(Some(&[sid("s")])).await), Code::RecordUnreadable);
        // Undo leads to what can be read.
        tab.restore("s", Target::Undo).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&chat("m", 0..2), &[("n", "1")]));
    }

    /// A repair puts all of a damaged object aside: half of one would keep it from being stored again.
    async fn a_binary_is_stored_again_after_a_repair(kit) {
        let tab = kit.tab().await;
        let picture = user("p").with(vec![3; 100_000]);
        tab.put("s", std::slice::from_ref(&picture), &[]).await.unwrap();
        let pieces: Vec<Key> = kit.rows(Store::Objects).await.into_iter().filter(|(_, row)| matches!(&**row, Row::Object(object) if matches!(object.content, Content::Bytes(_)))).map(|(key, _)| key).collect();
        assert_eq!(pieces.len(), 3);
        kit.garble(&pieces[1], 6).await;
        assert_eq!(code(tab.engine.load(&sid("s"), None).await.map(|_| ())), Code::RecordUnreadable);
        let mended = tab.engine.repair(false).await.unwrap();
        assert_eq!((mended.actions.len(), mended.lost.len()), (3, 1));
        // Whoever sends the same picture again has it, and so has whoever had lost it.
        tab.put("other", std::slice::from_ref(&picture), &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[picture], &[]));
        tab.sound().await;
    }
}
