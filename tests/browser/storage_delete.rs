//! Deleting a database.

use turnmark::browser::{ConnectionEvent, OpenOptions, delete_database};
use turnmark::error::Code;
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

#[wasm_bindgen_test]
async fn deleting_closes_our_own_stores_first() {
    // dexie/Dexie.js#17: it neither resolved nor rejected.
    let name = fresh("delete-own");
    let (a, b) = (open(&name).await, open(&name).await);
    let (written, deleted) = both(write(&a, puts(20)), async { delete_database(&options(&name).0).await }).await;
    written.unwrap();
    deleted.unwrap();
    assert_eq!(raw_version(&name).await, 0);
    assert_eq!(code(write(&a, puts(1)).await), Code::Closed);
    assert_eq!(code(read(&b, &key(0)).await), Code::Closed);
    assert_eq!(count(&open(&name).await).await, 0);
}

#[wasm_bindgen_test]
async fn deleting_reports_another_tab_and_goes_on_when_it_closes() {
    let name = fresh("delete-blocked");
    open(&name).await.close().await;
    let other = raw_open(&name, None, &[]).await;
    let (options, heard) = options(&name);
    close_later(&other, 100);
    delete_database(&options).await.unwrap();
    assert!(matches!(&heard.borrow()[..], [ConnectionEvent::Blocked { .. }]), "{heard:?}");
    assert_eq!(raw_version(&name).await, 0);
}

#[wasm_bindgen_test]
async fn deleting_gives_up_on_a_tab_that_never_closes() {
    let name = fresh("delete-held");
    open(&name).await.close().await;
    let other = raw_open(&name, None, &[]).await;
    let error = delete_database(&OpenOptions { timeout_ms: 150, ..OpenOptions::new(&name) }).await.unwrap_err();
    assert_eq!(error.code, Code::Blocked);
    other.close();
    until(async || raw_version(&name).await == 0).await;
    assert_eq!(raw_version(&name).await, 0, "the browser deletes it as soon as it can");
}

#[wasm_bindgen_test]
async fn deleting_needs_no_open_before_it() {
    // apache/pouchdb#6050 and #4637: a reset that works when nothing can be opened, and when the disk is full.
    let name = fresh("delete-damaged");
    raw_upgrade(&name, 9_900, "database.createObjectStore('sessions', { autoIncrement: true });").await;
    throw_at("IDBFactory", "open", 1, "InvalidStateError", "refused", true);
    delete_database(&options(&name).0).await.unwrap();
    mend();
    assert_eq!(raw_version(&name).await, 0);
    delete_database(&options(&name).0).await.unwrap();
}

#[wasm_bindgen_test]
async fn deleting_without_indexed_db_fails_with_a_typed_error() {
    let name = fresh("delete-missing");
    replace_global("indexedDB", &wasm_bindgen::JsValue::UNDEFINED);
    let error = delete_database(&options(&name).0).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::Unavailable);
    throw_at("IDBFactory", "deleteDatabase", 1, "SecurityError", "refused", true);
    let error = delete_database(&options(&name).0).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::Unavailable);
}

#[wasm_bindgen_test]
async fn a_delete_that_never_settles_ends_in_a_time_out() {
    let name = fresh("delete-never");
    never_settles("deleteDatabase");
    let error = delete_database(&OpenOptions { timeout_ms: 150, ..OpenOptions::new(&name) }).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::TimedOut);
}
