//! Verification: every kind of damage is named, and none hides another.

use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::{Content, Meta, Row};
use turnmark::error::Code;
use turnmark::ids::DeviceId;
use turnmark::model::body::Text;
use turnmark::model::hash::Hash;
use turnmark::plan::verify::{Fault, Wrong};

use super::kit::{Kit, T, Tab, assistant, chat, code, shot, sid, text, user};

/// A database with a row of every kind: inline and long messages, binaries, small and long channels, pending writes.
pub(crate) async fn fill(kit: &Kit) -> Tab {
    let tab = kit.tab().await;
    let long = user("long").saying(&"x".repeat(60_000));
    let picture = assistant("picture").with(vec![9; 100_000]);
    let mut messages = chat("m", 0..4);
    messages.extend([long, picture]);
    let base = tab.put("s", &messages, &[("n", "1"), ("big", &"v".repeat(90_000))]).await.unwrap();
    tab.put_writes("s", "task", &[("x", "1"), ("y", &"e".repeat(30_000))]).await.unwrap();
    tab.fork("s", &base.id, "f").await.unwrap();
    tab.append("s", &[user("more")]).await.unwrap();
    tab.put("other", &chat("o", 0..3), &[("n", "1")]).await.unwrap();
    tab.clean().await;
    tab
}

pub(crate) async fn faults(tab: &Tab) -> Vec<Fault> {
    tab.engine.verify().await.unwrap().faults
}

pub(crate) async fn first(kit: &Kit, store: Store, test: impl Fn(&Key, &Row<T>) -> bool) -> Key {
    kit.rows(store).await.into_iter().find(|(key, row)| test(key, row)).expect("there is one").0
}

/// Says which of the faults is about a record.
fn about<'a>(faults: &'a [Fault], record: &str) -> Vec<&'a Fault> {
    faults.iter().filter(|fault| fault.record.contains(record)).collect()
}

fn spoil_text(content: &mut Content<T>) -> bool {
    let Content::Text(value) = content else { return false };
    let long = value.utf8().len() > 10_000;
    if long {
        *value = text("tampered");
    }
    long
}

fn spoil_bytes(content: &mut Content<T>) -> bool {
    let Content::Bytes(bytes) = content else { return false };
    bytes[0] ^= 1;
    true
}

fn spoil_node(content: &mut Content<T>) -> bool {
    let Content::Node(node) = content else { return false };
    node.keys[0].push('x');
    true
}

contract! {
    async fn nothing_is_written_over_the_checkpoints_of_a_session_whose_row_was_lost(kit) {
        let (tab, knowing) = (fill(&kit).await, kit.tab().await);
        knowing.load("other").await;
        let key = first(&kit, Store::Sessions, |_, row| matches!(row, Row::Session(session) if session.id == sid("other"))).await;
        kit.tamper(&key, None).await;
        let before = kit.dump().await;
        let fresh = kit.tab().await;
        assert_eq!(code(fresh.append("other", &[user("new")]).await), Code::RecordUnreadable);
        assert_eq!(code(fresh.put("other", &[user("new")], &[]).await), Code::RecordUnreadable);
        assert_eq!(code(fresh.begin("other", "r", "p").await), Code::RecordUnreadable);
        assert_eq!(code(fresh.engine.set_title(&sid("other"), Some("new".to_owned())).await), Code::RecordUnreadable);
        assert_eq!(code(fresh.engine.new_session(sid("other"), None, None, None, None).await), Code::RecordUnreadable);
        let base = tab.all("s").await.remove(0).id;
        assert_eq!(code(fresh.fork("s", &base, "other").await), Code::RecordUnreadable);
        assert_eq!(kit.dump().await, before);
        // Whoever has seen the session keeps the work all the same.
        let late = knowing.append("other", &[user("late")]).await.unwrap_err();
        let kept = late.branch.clone().expect("a conflict names its branch");
        assert_eq!(knowing.live(kept.session.as_str()).await, shot(&[user("late")], &[]));
    }

    async fn a_sound_database_has_no_faults_and_everything_was_checked(kit) {
        let tab = fill(&kit).await;
        let report = tab.engine.verify().await.unwrap();
        assert!(report.is_ok());
        assert_eq!((report.sessions, report.checkpoints, report.messages, report.pending_writes), (3, 4, 10, 4));
        assert!(report.objects >= 6, "{report:?}");
    }

    /// R8, automerge-repo#60: whatever single row is missing, it is noticed, and verification goes on.
    async fn any_row_that_is_missing_is_noticed(kit) {
        let tab = fill(&kit).await;
        for (key, row) in kit.dump().await {
            kit.tamper(&key, None).await;
            let report = tab.engine.verify().await.unwrap();
            assert!(!report.is_ok(), "{key} is missing and nothing is wrong");
            assert!(report.faults.iter().all(|fault| !fault.message.is_empty() && fault.wrong != Wrong::Unreachable), "{:?}", report.faults);
            kit.tamper(&key, Some((*row).clone())).await;
            assert_eq!(faults(&tab).await, []);
        }
    }

    /// Whatever row is replaced by one of another kind, it is unreadable, by its key.
    async fn any_row_that_is_something_else_is_unreadable(kit) {
        let tab = fill(&kit).await;
        let meta = || Row::Meta(Meta { device: DeviceId::parse("d").unwrap(), created: 0 });
        let rows = kit.dump().await;
        for (key, row) in rows.iter().filter(|(key, _)| !matches!(key.store, Store::Meta | Store::References)) {
            // What a store cannot even hold is tried where the twin allows it.
            if !kit.can_hold(key, &meta()) {
                return;
            }
            kit.tamper(key, Some(meta())).await;
            let found = faults(&tab).await;
            let about = about(&found, &key.to_string());
            assert!(about.iter().any(|fault| fault.wrong == Wrong::Unreadable), "{key}: {found:#?}");
            kit.tamper(key, Some((**row).clone())).await;
        }
        assert_eq!(faults(&tab).await, []);
    }

    /// google/leveldb#251: a corrupt value is never taken for what was written.
    async fn a_message_that_is_not_what_was_written_is_a_hash_mismatch(kit) {
        let tab = fill(&kit).await;
        let key = first(&kit, Store::Messages, |_, row| format!("{row:?}").contains("o1")).await;
        kit.spoil(&key, |row| {
            let Row::Messages(run) = row else { panic!("a run") };
            run.texts[1] = Some(text("tampered"));
        }).await;
        let found = faults(&tab).await;
        let [fault] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((fault.wrong, fault.affects.as_slice()), (Wrong::HashMismatch, [tab.all("other").await[0].id.clone()].as_slice()));
        assert!(fault.record.contains("message 1"), "{}", fault.record);
    }

    async fn an_object_that_is_not_what_was_written_is_a_hash_mismatch_and_says_who_is_hit(kit) {
        let tab = fill(&kit).await;
        let kinds: [fn(&mut Content<T>) -> bool; 3] = [spoil_text, spoil_bytes, spoil_node];
        for spoil in kinds {
            let (key, row) = kit.rows(Store::Objects).await.into_iter().find(|(_, row)| {
                matches!(&**row, Row::Object(object) if spoil(&mut object.content.clone()))
            }).unwrap();
            kit.spoil(&key, |row| {
                let Row::Object(object) = row else { panic!("an object") };
                assert!(spoil(&mut object.content));
            }).await;
            let found = faults(&tab).await;
            let about = about(&found, key.text(0).unwrap());
            assert!(about.iter().any(|fault| fault.wrong == Wrong::HashMismatch), "{key}: {found:#?}");
            kit.tamper(&key, Some((*row).clone())).await;
        }
        assert_eq!(faults(&tab).await, []);
    }

    async fn a_pending_write_that_is_not_what_was_written_is_a_hash_mismatch(kit) {
        let tab = fill(&kit).await;
        let key = first(&kit, Store::Writes, |_, row| matches!(row, Row::Write(write) if write.text.is_some())).await;
        kit.spoil(&key, |row| {
            let Row::Write(write) = row else { panic!("a write") };
            write.text = Some(text("tampered"));
        }).await;
        let found = faults(&tab).await;
        assert_eq!(found.iter().map(|fault| (fault.wrong, fault.record.clone())).collect::<Vec<_>>(), [(Wrong::HashMismatch, key.to_string())]);
    }

    async fn books_that_do_not_agree_are_inconsistent(kit) {
        let tab = fill(&kit).await;
        type Spoil = fn(&mut turnmark::model::session::Session);
        let sessions: [(Spoil, Wrong); 7] = [
            (|session| session.checkpoints -= 1, Wrong::Inconsistent),
            (|session| session.head = None, Wrong::Inconsistent),
            (|session| session.oldest = 1, Wrong::Inconsistent),
            (|session| session.next = 1, Wrong::Inconsistent),
            (|session| session.state.size += 1, Wrong::Inconsistent),
            (|session| session.state.history = Hash::default(), Wrong::Inconsistent),
            (|session| session.head.as_mut().unwrap().seq = 9, Wrong::Dangling),
        ];
        let key = Key::session(tab.engine.scope(), &sid("s"));
        for (at, (spoil, wrong)) in sessions.into_iter().enumerate() {
            let before = kit.dump().await.into_iter().find(|(found, _)| *found == key).unwrap().1;
            kit.spoil(&key, |row| {
                let Row::Session(session) = row else { panic!("a session") };
                spoil(session);
            }).await;
            let found = faults(&tab).await;
            assert!(about(&found, &key.to_string()).iter().any(|fault| fault.wrong == wrong), "{at}: {found:#?}");
            kit.tamper(&key, Some((*before).clone())).await;
        }
        let base = tab.all("s").await.pop().unwrap();
        let key = Key::checkpoint(tab.engine.scope(), &sid("s"), base.seq);
        kit.spoil(&key, |row| {
            let Row::Checkpoint(checkpoint) = row else { panic!("a checkpoint") };
            checkpoint.pending += 1;
        }).await;
        let found = faults(&tab).await;
        assert!(about(&found, &key.to_string()).iter().any(|fault| fault.wrong == Wrong::Inconsistent), "{found:#?}");
    }

    async fn what_has_no_owner_any_more_is_dangling(kit) {
        let tab = fill(&kit).await;
        kit.tamper(&Key::session(tab.engine.scope(), &sid("other")), None).await;
        let found = faults(&tab).await;
        assert!(found.iter().any(|fault| fault.wrong == Wrong::Dangling && fault.record.starts_with("checkpoints")), "{found:#?}");
        let forked = tab.all("f").await.pop().unwrap();
        kit.tamper(&Key::checkpoint(tab.engine.scope(), &sid("f"), forked.seq), None).await;
        let found = faults(&tab).await;
        assert_eq!(found.iter().filter(|fault| fault.wrong == Wrong::Dangling && fault.record.starts_with("writes")).count(), 2, "{found:#?}");
    }

    /// ai-shifu/ChatALL#594, w3c/IndexedDB#423: one bad record never hides the others.
    async fn several_faults_are_all_named(kit) {
        let tab = fill(&kit).await;
        let message = first(&kit, Store::Messages, |_, row| format!("{row:?}").contains("m1")).await;
        let object = first(&kit, Store::Objects, |key, _| key.number(1) == Some(1)).await;
        let write = first(&kit, Store::Writes, |_, _| true).await;
        for key in [&message, &object, &write] {
            kit.tamper(key, None).await;
        }
        kit.spoil(&Key::session(tab.engine.scope(), &sid("other")), |row| {
            let Row::Session(session) = row else { panic!("a session") };
            session.checkpoints = 0;
        }).await;
        let found = faults(&tab).await;
        for record in [message.to_string(), object.text(0).unwrap().to_owned(), "\"other\"".to_owned(), "checkpoints".to_owned()] {
            assert!(!about(&found, &record).is_empty(), "{record}: {found:#?}");
        }
    }

    /// A fault is named once, with everybody it hits.
    async fn one_missing_record_is_one_fault_with_all_it_affects(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        for n in 0..5 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        let node = first(&kit, Store::Objects, |_, row| matches!(row, Row::Object(object) if matches!(object.content, Content::Node(_)))).await;
        kit.tamper(&node, None).await;
        let found = faults(&tab).await;
        let about = about(&found, node.text(0).unwrap());
        assert_eq!((about.len(), about[0].wrong, about[0].affects.len()), (1, Wrong::Missing, 6), "{found:#?}");
    }

    /// Nothing is collected while it is not known what is reached.
    async fn collection_stops_at_damage_and_deletions_go_on(kit) {
        let tab = fill(&kit).await;
        let node = first(&kit, Store::Objects, |_, row| matches!(row, Row::Object(object) if matches!(object.content, Content::Node(_)))).await;
        kit.tamper(&node, None).await;
        let before = kit.dump().await;
        assert_eq!(code(tab.engine.collect().await), Code::RecordUnreadable);
        assert_eq!(kit.dump().await, before);
        tab.engine.delete_session(&sid("other")).await.unwrap();
        assert!(kit.rows_of(&sid("other")).await.is_empty());
        assert!(kit.rows(Store::Messages).await.len() >= 2);
    }

    /// CherryHQ/cherry-studio#6183: a bad old record does not keep new ones from being written.
    async fn a_turn_is_appended_to_a_session_whose_old_messages_cannot_be_read(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..40);
        for message in &messages {
            tab.append("s", std::slice::from_ref(message)).await.unwrap();
        }
        let oldest = first(&kit, Store::Messages, |_, _| true).await;
        kit.tamper(&oldest, None).await;
        assert_eq!(code(tab.engine.load(&sid("s"), None).await.map(|_| ())), Code::RecordUnreadable);
        for n in 0..40 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        let newest = tab.all("s").await.remove(0);
        assert_eq!(newest.state.spans.count(), 80);
        // A failed read is never "empty": the state cannot be replaced by one that was not read (SillyTavern#5941).
        let fresh = kit.tab().await;
        assert_eq!(code(fresh.put("s", &[user("hello")], &[]).await), Code::RecordUnreadable);
    }

    /// OneKeyHQ/app-monorepo#12827: a header that cannot be read is passed over and never deleted for it.
    async fn one_header_that_cannot_be_read_is_left_alone_and_hides_no_other(kit) {
        let row = Row::Meta(Meta { device: DeviceId::parse("d").unwrap(), created: 0 });
        let tab = kit.tab_keeping(4, 0).await;
        let mut ids = Vec::new();
        for n in 0..4 {
            ids.push(tab.append("s", &[user(&n.to_string())]).await.unwrap().id);
        }
        let key = Key::checkpoint(tab.engine.scope(), &sid("s"), 1);
        if !kit.can_hold(&key, &row) {
            return;
        }
        kit.tamper(&key, Some(row)).await;
        let seqs = async || tab.all("s").await.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>();
        assert_eq!(seqs().await, [3, 2, 0]);
        assert_eq!(tab.engine.operations(&sid("s"), 9).await.unwrap().0.len(), 3);
        // An older state does not stand for it.
        tab.delete("s", &ids[3]).await.unwrap();
        assert_eq!(code(tab.delete("s", &ids[2]).await), Code::RecordUnreadable);
        for n in 0..6 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        assert_eq!(seqs().await, [9, 8, 7]);
        tab.engine.prune(sid("s"), 1).await.unwrap();
        assert!(kit.rows(Store::Checkpoints).await.iter().any(|(found, _)| *found == key));
        assert!(faults(&tab).await.iter().any(|fault| fault.wrong == Wrong::Unreadable));
        // A writer that is behind gets its branch all the same.
        let other = kit.tab().await;
        other.seen.borrow_mut().insert("s".to_owned(), 0);
        assert_eq!(code(other.append("s", &[user("x")]).await), Code::Conflict);
    }

    /// element-hq/element-web#33183
    async fn one_session_that_cannot_be_read_does_not_hide_the_others(kit) {
        let tab = fill(&kit).await;
        let run = first(&kit, Store::Messages, |_, row| format!("{row:?}").contains("m1")).await;
        kit.tamper(&run, None).await;
        assert_eq!(tab.engine.sessions().await.unwrap().len(), 3);
        assert_eq!(tab.live("other").await, shot(&chat("o", 0..3), &[("n", "1")]));
        assert_eq!(code(tab.engine.load(&sid("s"), None).await.map(|_| ())), Code::RecordUnreadable);
        // Its channels and headers still can.
        assert_eq!(tab.all("s").await.len(), 2);
    }
}
