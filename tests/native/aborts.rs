//! Faults of the storage, where the contract cannot inject them: between the transactions of one call.

use std::cell::RefCell;
use std::rc::Rc;

use turnmark::engine::{Engine, Event};
use turnmark::error::{Code, Error};
use turnmark::ids::ScopeId;
use turnmark::model::retention::Retention;

use crate::backend::Backend;
use crate::contract::kit::{Kit, chat, code, meta, shot, sid, user, whole};

fn full() -> Error {
    Error::new(Code::QuotaExceeded, "the disk is full")
}

fn aborted() -> Error {
    Error::new(Code::Aborted, "the browser aborted the transaction")
}

/// What could not be collected is collected later.
#[test]
fn a_deletion_is_done_though_the_collection_after_it_fails() {
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..10), &[("x", &"v".repeat(50_000))]).await.unwrap();
        let heard: Rc<RefCell<Vec<Event<String>>>> = Rc::default();
        let (notes, storage) = (heard.clone(), kit.backend.clone());
        // The listener hears of the deletion before the collection begins.
        let listener = Box::new(move |event| {
            storage.abort_next(aborted());
            notes.borrow_mut().push(event);
        });
        let scope = ScopeId::parse("scope").unwrap();
        let engine: Engine<Backend> =
            Engine::open(kit.backend.clone(), scope, Retention::default(), Box::new(kit.clock.clone()), listener)
                .await
                .unwrap();
        engine.delete_session(&sid("s")).await.unwrap();
        assert!(matches!(heard.borrow().as_slice(), [Event::Deleted(_)]));
        assert!(tab.load("s").await.is_none());
        let report = tab.engine.verify().await.unwrap();
        assert!(report.is_ok() && !report.faults.is_empty(), "what was left is unreachable, and nothing else");
        tab.clean().await;
    });
}

/// CherryHQ/cherry-studio#15423 and #8734, dexie#776: a full disk is told by its own code, leaves what was there, and what
/// the engine remembers is not what it failed to write.
#[test]
fn a_write_that_did_not_fit_is_not_remembered() {
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        let tab = kit.tab().await;
        let mut messages = chat("m", 0..6);
        tab.put("s", &messages, &[]).await.unwrap();
        let before = messages.clone();
        messages.push(user("too much"));
        kit.backend.abort_next(full());
        assert_eq!(code(tab.put("s", &messages, &[]).await), Code::QuotaExceeded);
        assert_eq!(tab.live("s").await, shot(&before, &[]));
        // The same again, once there is room.
        tab.put("s", &messages, &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        tab.clean().await;
    });
}

#[test]
fn a_database_that_cannot_be_written_is_told_when_it_is_opened() {
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        kit.backend.abort_next(full());
        let scope = ScopeId::parse("scope").unwrap();
        let opened: Result<Engine<Backend>, Error> =
            Engine::open(kit.backend.clone(), scope, Retention::default(), Box::new(kit.clock.clone()), Box::new(drop))
                .await;
        assert_eq!(opened.err().map(|error| error.code), Some(Code::QuotaExceeded));
        assert!(kit.dump().await.is_empty());
    });
}

/// automerge-repo-rs#52: a compaction that fails changes nothing, and is due again.
#[test]
fn an_aborted_compaction_changes_nothing() {
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        let tab = kit.tab().await;
        let mut messages = chat("m", 0..300);
        tab.put("s", &messages, &[]).await.unwrap();
        let mut due = turnmark::plan::write::Upkeep::default();
        for at in (1..299).step_by(4) {
            if due.compact {
                break;
            }
            messages[at] = messages[at].clone().saying("edited");
            due = tab.write("s", whole(&messages, &[]), meta()).await.unwrap().upkeep;
        }
        assert!(due.compact);
        let before = kit.dump().await;
        kit.backend.abort_next(aborted());
        assert_eq!(code(tab.engine.upkeep(&sid("s"), due).await), Code::Aborted);
        assert_eq!(kit.dump().await, before);
        let again = tab.write("s", whole(&messages, &[]), meta()).await.unwrap().upkeep;
        tab.engine.upkeep(&sid("s"), again).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        tab.clean().await;
    });
}

/// R1: a command touches only the stores it names, or it would fail in a browser. The twin fails too.
#[test]
fn a_command_that_touches_a_store_it_did_not_name_fails() {
    use turnmark::codec::key::{Key, Store};
    use turnmark::store::{Access, Op, Plan, Storage};
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        kit.tab().await;
        let read = kit
            .backend
            .run(Access::read(&[Store::Sessions]), |view| Ok(Plan::read(view.row(Key::meta())?.is_some())))
            .await;
        assert_eq!(code(read), Code::Internal);
        let delete = || Plan { writes: vec![Op::Delete(Key::meta())], answer: () };
        assert_eq!(code(kit.backend.run(Access::write(&[Store::Sessions]), |_| Ok(delete())).await), Code::Internal);
        assert_eq!(code(kit.backend.run(Access::read(&[Store::Meta]), |_| Ok(delete())).await), Code::Internal);
        assert_eq!(kit.dump().await.len(), 1);
    });
}

/// apache/pouchdb#4637: on a full disk, where no row can be written, deleting is possible, and the books are put
/// right by the next write.
#[test]
fn a_full_disk_lets_deletions_through() {
    pollster::block_on(async {
        let kit = Kit::fresh().await;
        let tab = kit.tab_keeping(6, 0).await;
        let mut ids = Vec::new();
        for n in 0..6 {
            ids.push(tab.append("s", &[user(&n.to_string())]).await.unwrap().id);
        }
        let fork = tab.fork("s", &ids[5], "f").await.unwrap();
        kit.backend.abort_next(full());
        assert_eq!(tab.engine.prune(sid("s"), 3).await.unwrap().deleted, ids[..3]);
        kit.backend.abort_next(full());
        tab.delete("s", &ids[3]).await.unwrap();
        // The newest cannot go without a row that says which is the newest then.
        kit.backend.abort_next(full());
        assert_eq!(code(tab.delete("f", &fork.id).await), Code::QuotaExceeded);
        kit.backend.abort_next(full());
        tab.engine.delete_session(&sid("f")).await.unwrap();
        assert!(tab.engine.session(&sid("f")).await.unwrap().is_none());
        tab.sound().await;
        assert_eq!(tab.live("s").await.messages.len(), 6);
        // Nothing more is pruned than the ceiling asks for.
        for n in 6..13 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
            assert_eq!(tab.all("s").await.len(), (n - 3).min(6), "{n}");
        }
        tab.clean().await;
    });
}
