//! The connection: lost, given away, closed, and open again.

use turnmark::browser::{ConnectionEvent, IndexedDbStorage, sleep};
use turnmark::codec::key::{Key, Store};
use turnmark::codec::schema;
use turnmark::error::Code;
use turnmark::store::{Access, Level, Op, Plan, Storage};
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

fn kinds(heard: &Heard) -> Vec<&'static str> {
    let kind = |event: &ConnectionEvent| match event {
        ConnectionEvent::Opened => "opened",
        ConnectionEvent::Closed { .. } => "closed",
        ConnectionEvent::Lost { .. } => "lost",
        ConnectionEvent::Blocked { .. } => "blocked",
        ConnectionEvent::Suspect { .. } => "suspect",
    };
    heard.borrow().iter().map(kind).collect()
}

/// A storage, what it tells, and its browser connections.
async fn watched(name: &str) -> (IndexedDbStorage, Heard, js_sys::Array) {
    let seen = watch_connections();
    let (options, heard) = options(name);
    let storage = IndexedDbStorage::open(options).await.unwrap();
    sleep(1).await;
    (storage, heard, seen)
}

#[wasm_bindgen_test]
async fn another_tab_that_upgrades_is_not_held_up() {
    // vm0-ai/vm0#19770: an old tab closes on versionchange.
    let name = fresh("versionchange");
    let (storage, heard, _) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    raw_upgrade(&name, schema::version() + 1, "").await;
    assert_eq!(kinds(&heard), ["opened", "closed"]);
    // A minor: the next command opens it again.
    write(&storage, puts(2)).await.unwrap();
    assert_eq!(count(&storage).await, 2);
    assert_eq!(kinds(&heard), ["opened", "closed", "opened"]);
    // A major: it is refused, and left alone.
    let next = schema::version() + schema::STRIDE;
    raw_upgrade(&name, next, "").await;
    assert_eq!(code(write(&storage, puts(3)).await), Code::SchemaTooNew);
    assert_eq!(code(read(&storage, &key(0)).await), Code::SchemaTooNew);
    assert_eq!(raw_version(&name).await, next);
}

#[wasm_bindgen_test]
async fn running_commands_finish_when_another_tab_upgrades() {
    let name = fresh("versionchange-running");
    let storage = open(&name).await;
    let (written, ()) = both(write(&storage, puts(200)), raw_upgrade(&name, schema::version() + 1, "")).await;
    written.unwrap();
    assert_eq!(count(&storage).await, 200);
}

#[wasm_bindgen_test]
async fn a_database_that_is_deleted_under_us_is_reported() {
    // rocicorp/replicache#973, rocicorp/repc#161, matrix-org/matrix-js-sdk#4433.
    let name = fresh("deleted");
    // It was there before this page, as it usually is.
    open(&name).await.close().await;
    let (storage, heard, _) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    delete_in_another_tab(&name).await;
    assert!(matches!(&heard.borrow()[1], ConnectionEvent::Closed { reason } if reason.contains("delete")), "{heard:?}");
    // The next command finds a new database, and says so.
    assert!(read(&storage, &key(0)).await.unwrap().is_none());
    assert!(storage.data_lost().unwrap().contains("deleted"));
    assert_eq!(storage.level(), Level::Os);
    write(&storage, puts(1)).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_connection_that_the_browser_closes_is_opened_again() {
    // dexie/Dexie.js#2186 and #613, idb-keyval#175, garden-co/classic-jazz#3530, pubkey/rxdb#5138.
    let name = fresh("forced");
    let (storage, heard, seen) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    force_close(&seen.get(0));
    assert_eq!(kinds(&heard), ["opened", "suspect", "lost"]);
    assert_eq!(count(&storage).await, 1);
    write(&storage, puts(2)).await.unwrap();
    assert_eq!(count(&storage).await, 2);
    assert_eq!(kinds(&heard), ["opened", "suspect", "lost", "opened"]);
    assert!(storage.suspicion().is_some(), "after a forced close nothing is called disk until it is healed");
    assert_eq!(seen.length(), 2);
}

#[wasm_bindgen_test]
async fn a_write_that_loses_its_connection_is_rejected_and_not_repeated() {
    // dexie/Dexie.js#613 and #2296: pending writes reject, none is reported as saved.
    let name = fresh("lost-write");
    let (storage, _, seen) = watched(&name).await;
    // Neither end of the transaction is ever reported.
    swallow("IDBTransaction", "complete");
    let mut calls = 0;
    let writing = storage.run(ALL, |_| {
        calls += 1;
        Ok(Plan { writes: puts(3), answer: () })
    });
    let losing = async {
        sleep(30).await;
        force_close(&seen.get(0));
    };
    let (written, ()) = both(writing, losing).await;
    mend();
    let error = written.unwrap_err();
    assert_eq!(error.code, Code::ConnectionLost);
    assert!(error.message.contains("not known"), "{}", error.message);
    assert_eq!(calls, 1);
    // As the error says: all of it, or nothing.
    assert!([0, 3].contains(&count(&storage).await));
}

#[wasm_bindgen_test]
async fn a_read_that_loses_its_connection_is_repeated_once() {
    let name = fresh("lost-read");
    let (storage, heard, seen) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    swallow("IDBRequest", "success");
    swallow("IDBTransaction", "complete");
    let losing = async {
        sleep(30).await;
        mend();
        force_close(&seen.get(0));
    };
    let (found, ()) = both(read(&storage, &key(0)), losing).await;
    assert!(found.unwrap().is_some());
    assert_eq!(kinds(&heard), ["opened", "suspect", "lost", "opened"]);
}

#[wasm_bindgen_test]
async fn a_dead_handle_is_replaced_before_anything_is_sent() {
    // dexie/Dexie.js#1139, Expensify/App#87864, vm0-ai/vm0#32143, pubkey/rxdb#8496: no event ever told us.
    let name = fresh("dead");
    let (storage, heard, seen) = watched(&name).await;
    let kill = |n: u32| seen.get(n).dyn_ref_close();
    kill(0);
    write(&storage, puts(2)).await.unwrap();
    kill(1);
    assert_eq!(count(&storage).await, 2);
    assert_eq!(kinds(&heard), ["opened", "lost", "opened", "lost", "opened"]);
    // For ever dead: one repetition, then a typed error.
    throw_at("IDBDatabase", "transaction", 2, "InvalidStateError", "The database connection is closing.", true);
    kill(2);
    let error = write(&storage, puts(3)).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::Unavailable, "the reopened one cannot be verified: {error:?}");
    write(&storage, puts(3)).await.unwrap();
}

trait Kill {
    /// Closes a connection as an engine does that tells nobody.
    fn dyn_ref_close(&self);
}

impl Kill for wasm_bindgen::JsValue {
    fn dyn_ref_close(&self) {
        use wasm_bindgen::JsCast;
        self.unchecked_ref::<web_sys::IdbDatabase>().close();
    }
}

#[wasm_bindgen_test]
async fn many_commands_on_a_dead_handle_share_one_reopening() {
    let name = fresh("single-flight");
    let (storage, _, seen) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    seen.get(0).dyn_ref_close();
    let wanted = key(0);
    let some = both(read(&storage, &wanted), read(&storage, &wanted));
    let more = both(write(&storage, vec![Op::Put(key(1), row("a"))]), write(&storage, vec![Op::Put(key(2), row("b"))]));
    let ((a, b), (c, d)) = both(some, more).await;
    assert!(a.unwrap().is_some() && b.unwrap().is_some());
    c.unwrap();
    d.unwrap();
    assert_eq!(seen.length(), 2);
    assert_eq!(count(&storage).await, 3);
}

#[wasm_bindgen_test]
async fn a_command_that_waits_for_a_reopening_can_be_dropped() {
    let name = fresh("dropped-reopen");
    let (storage, _, seen) = watched(&name).await;
    write(&storage, puts(1)).await.unwrap();
    seen.get(0).dyn_ref_close();
    let wanted = key(0);
    let mut first = Box::pin(read(&storage, &wanted));
    assert!(poll_once(&mut first).await.is_none());
    let second = read(&storage, &wanted);
    drop(first);
    assert!(second.await.unwrap().is_some());
}

#[wasm_bindgen_test]
async fn a_closed_store_says_that_it_is_closed() {
    let name = fresh("close");
    let (storage, heard, seen) = watched(&name).await;
    let clone = storage.clone();
    storage.close().await;
    assert_eq!(code(write(&clone, puts(1)).await), Code::Closed);
    assert_eq!(code(read(&clone, &key(0)).await), Code::Closed);
    clone.close().await;
    assert_eq!(kinds(&heard), ["opened", "closed"], "told once");
    // Events of the old connection mean nothing any more.
    force_close(&seen.get(0));
    assert_eq!(kinds(&heard), ["opened", "closed"]);
}

#[wasm_bindgen_test]
async fn closing_waits_for_what_is_running() {
    // yjs/y-indexeddb#13: reopening right after a close waits for the old one.
    let name = fresh("close-running");
    let storage = open(&name).await;
    let reopened = async {
        storage.close().await;
        let again = open(&name).await;
        count(&again).await
    };
    let (written, found) = both(write(&storage, puts(50)), reopened).await;
    written.unwrap();
    assert_eq!(found, 50);
    assert_eq!(code(write(&storage, puts(1)).await), Code::Closed);
}

#[wasm_bindgen_test]
async fn opening_waits_for_a_store_of_the_same_name_that_is_closing() {
    let name = fresh("close-reopen");
    let storage = open(&name).await;
    let mut writing = Box::pin(write(&storage, puts(50)));
    assert!(poll_once(&mut writing).await.is_none());
    let mut closing = Box::pin(storage.close());
    assert!(poll_once(&mut closing).await.is_none());
    // Nobody waits for the close any more; the next opening does.
    drop(closing);
    let (written, again) = both(writing, open(&name)).await;
    written.unwrap();
    assert_eq!(count(&again).await, 50);
}

#[wasm_bindgen_test]
async fn a_store_that_is_dropped_holds_nothing_open() {
    let name = fresh("dropped-store");
    drop(open(&name).await);
    sleep(1).await;
    delete_in_another_tab(&name).await;
}

#[wasm_bindgen_test]
async fn a_connection_that_died_while_the_page_was_hidden_is_replaced_when_it_is_shown() {
    let name = fresh("visible");
    let (storage, heard, seen) = watched(&name).await;
    if !show_again() {
        return;
    }
    sleep(50).await;
    assert_eq!(kinds(&heard), ["opened"], "a living one is kept");
    seen.get(0).dyn_ref_close();
    show_again();
    until(async || heard.borrow().len() > 1).await;
    assert_eq!(kinds(&heard), ["opened", "lost"]);
    write(&storage, puts(1)).await.unwrap();
    storage.close().await;
    show_again();
    sleep(20).await;
    assert_eq!(kinds(&heard), ["opened", "lost", "opened", "closed"]);
}

#[wasm_bindgen_test]
async fn commands_on_different_stores_do_not_wait_for_each_other() {
    let name = fresh("scopes");
    let storage = open(&name).await;
    let other = raw_open(&name, None, &[]).await;
    let stop = hold(&other, "objects");
    storage.set_patience(150);
    let look = |stores| storage.run(Access::read(stores), |view| Ok(Plan::read(view.row(Key::meta())?.is_some())));
    assert!(!look(&[Store::Meta]).await.unwrap());
    assert_eq!(code(look(&[Store::Meta, Store::Objects]).await), Code::TimedOut);
    stop.call0(&wasm_bindgen::JsValue::NULL).unwrap();
    storage.set_patience(5_000);
    assert!(!look(&[Store::Meta, Store::Objects]).await.unwrap());
    other.close();
}
