//! Opening: the ladder of versions, the shape that must come out, and browsers that refuse.

use turnmark::browser::{ConnectionEvent, IndexedDbStorage, OpenOptions, sleep};
use turnmark::codec::key::Store;
use turnmark::codec::schema::{self, Change};
use turnmark::error::{Code, Error};
use turnmark::store::Storage;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

async fn refused(name: &str) -> Error {
    IndexedDbStorage::open(options(name).0).await.expect_err("it should not open")
}

#[wasm_bindgen_test]
async fn opening_makes_every_store_and_index_of_the_schema() {
    let name = fresh("open");
    let (options, heard) = options(&name);
    let storage = IndexedDbStorage::open(options).await.unwrap();
    assert_eq!(raw_version(&name).await, schema::version());
    for store in Store::ALL {
        assert_eq!(raw_count(&name, store.name()).await, 0, "{store:?}");
    }
    sleep(1).await;
    assert_eq!(*heard.borrow(), [ConnectionEvent::Opened]);
    assert_eq!(storage.data_lost(), None);
    assert_eq!(storage.suspicion(), None);
}

#[wasm_bindgen_test]
async fn a_database_of_a_newer_release_is_refused_untouched() {
    // electric-sql/pglite#874: a typed refusal.
    let name = fresh("newer");
    open(&name).await.close().await;
    raw_upgrade(
        &name,
        schema::version() + schema::STRIDE + 3,
        "database.createObjectStore('future'); database.deleteObjectStore('writes');",
    )
    .await;
    let error = refused(&name).await;
    assert_eq!(error.code, Code::SchemaTooNew);
    assert!(error.message.contains("303"), "it names the version: {}", error.message);
    assert_eq!(raw_version(&name).await, 303);
    assert_eq!(raw_count(&name, "future").await, 0);
    assert_eq!(raw_count(&name, "writes").await, -1);
}

#[wasm_bindgen_test]
async fn a_database_of_the_first_version_is_brought_up_with_everything_in_it() {
    // The shape as the first step made it, by hand: what it was must stay readable for ever.
    let name = fresh("first");
    let stores =
        "for (const name of ['meta', 'sessions', 'messages', 'references', 'checkpoints', 'objects', 'writes']) {
            const store = database.createObjectStore(name);
            if (name === 'checkpoints') store.createIndex('id', ['scope', 'session', 'id'], { unique: true });
            if (name === 'objects') store.put({ of: 1, content: { text: 'kept' } }, ['00', 0]);
        }";
    raw_upgrade(&name, schema::STRIDE, stores).await;
    let storage = open(&name).await;
    assert_eq!(raw_version(&name).await, schema::version());
    assert_eq!((raw_count(&name, "objects").await, raw_count(&name, "streams").await), (1, 0));
    write(&storage, puts(2)).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_newer_minor_of_the_same_hundred_is_read_and_written() {
    let name = fresh("minor");
    let storage = open(&name).await;
    write(&storage, puts(1)).await.unwrap();
    storage.close().await;
    raw_upgrade(&name, schema::version() + 7, "database.createObjectStore('more');").await;
    let storage = open(&name).await;
    write(&storage, puts(2)).await.unwrap();
    assert_eq!(count(&storage).await, 2);
    assert_eq!(raw_version(&name).await, schema::version() + 7);
}

#[wasm_bindgen_test]
async fn a_database_without_its_stores_is_a_mismatch() {
    // jakearchibald/idb#212: open succeeded, the stores were never made.
    let cases = [
        ("", "no stores at all"),
        (
            "for (const name of ['meta','sessions','messages','references','checkpoints','objects']) database.createObjectStore(name);",
            "one store is missing",
        ),
        ("for (const name of STORES) database.createObjectStore(name);", "the index is missing"),
        (
            "for (const name of STORES) database.createObjectStore(name, { keyPath: 'id' }); transaction.objectStore('checkpoints').createIndex('id', ['scope', 'session', 'id'], { unique: true });",
            "keys are inside the rows",
        ),
        (
            "for (const name of STORES) database.createObjectStore(name); transaction.objectStore('checkpoints').createIndex('id', ['scope', 'session', 'id']);",
            "the index is not unique",
        ),
        (
            "for (const name of STORES) database.createObjectStore(name); transaction.objectStore('checkpoints').createIndex('id', ['scope', 'id'], { unique: true });",
            "the index has other fields",
        ),
        (
            "for (const name of STORES) database.createObjectStore(name, { autoIncrement: true }); transaction.objectStore('checkpoints').createIndex('id', ['scope', 'session', 'id'], { unique: true });",
            "keys are generated",
        ),
    ];
    let stores: Vec<_> = Store::ALL.iter().map(|store| format!("'{}'", store.name())).collect();
    for (source, what) in cases {
        let name = fresh("mismatch");
        let source = source.replace("STORES", &format!("[{}]", stores.join(",")));
        raw_upgrade(&name, schema::version(), &source).await;
        let error = refused(&name).await;
        assert_eq!(error.code, Code::SchemaMismatch, "{what}: {error:?}");
        assert_eq!(raw_version(&name).await, schema::version());
    }
}

#[wasm_bindgen_test]
async fn a_database_of_another_program_is_left_alone() {
    let name = fresh("foreign");
    raw_upgrade(&name, 7, "database.createObjectStore('sessions', { autoIncrement: true });").await;
    let error = refused(&name).await;
    assert_eq!(error.code, Code::SchemaMismatch);
    assert_eq!(raw_version(&name).await, 7, "no version is committed without its steps");
    assert_eq!(raw_count(&name, "meta").await, -1);
}

#[wasm_bindgen_test]
async fn an_upgrade_that_is_interrupted_anywhere_leaves_the_old_version_and_can_be_repeated() {
    // apache/pouchdb#3971, trezor/trezor-suite#32522, matrix-sdk-crypto-wasm#196.
    let stores =
        schema::STEPS.iter().copied().flatten().filter(|change| matches!(change, Change::CreateStore(_))).count();
    let stores = u32::try_from(stores).unwrap();
    let faults =
        (1..=stores).map(|n| ("IDBDatabase", "createObjectStore", n)).chain([("IDBObjectStore", "createIndex", 1)]);
    for (owner, method, n) in faults {
        let name = fresh("interrupted");
        throw_at(owner, method, n, "UnknownError", "interrupted", false);
        let error = refused(&name).await;
        mend();
        assert_eq!(error.code, Code::Aborted, "{method} {n}: {error:?}");
        assert!(error.cause.as_deref().unwrap().contains("interrupted"));
        assert_eq!(raw_version(&name).await, 0, "{method} {n}");
        let storage = open(&name).await;
        write(&storage, puts(1)).await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn an_upgrade_that_the_browser_aborts_is_tried_again() {
    let name = fresh("aborted-upgrade");
    abort_upgrades(1);
    let storage = open(&name).await;
    mend();
    write(&storage, puts(1)).await.unwrap();

    let name = fresh("quota-upgrade");
    abort_upgrades(9);
    abort_reason(Some("QuotaExceededError"), "full");
    let error = refused(&name).await;
    mend();
    // apache/pouchdb#7025, element-hq/element-web#7769: an open over quota is rejected, and says why.
    assert_eq!(error.code, Code::QuotaExceeded);
    assert_eq!(raw_version(&name).await, 0);
}

#[wasm_bindgen_test]
async fn an_open_that_fails_for_no_lasting_reason_is_tried_again() {
    // dexie/Dexie.js#271: UnknownError now and then.
    let name = fresh("unknown");
    let calls = fail_opens(3, "UnknownError");
    let storage = open(&name).await;
    assert_eq!(calls.call0(&JsValue::NULL).unwrap().as_f64(), Some(4.0));
    mend();
    write(&storage, puts(1)).await.unwrap();

    let name = fresh("unknown-for-ever");
    let calls = fail_opens(99, "UnknownError");
    let error = refused(&name).await;
    assert_eq!(calls.call0(&JsValue::NULL).unwrap().as_f64(), Some(4.0), "a bounded number of times");
    mend();
    assert_eq!(error.code, Code::Unavailable);
    assert!(error.cause.as_deref().unwrap().contains("UnknownError"));
}

#[wasm_bindgen_test]
async fn a_page_that_may_not_use_indexed_db_is_told_so_at_once() {
    // element-hq/element-web#21098, apache/pouchdb#6050: Firefox's private windows fail with InvalidStateError.
    for exception in ["InvalidStateError", "SecurityError"] {
        let name = fresh("private");
        let calls = fail_opens(99, exception);
        let error = refused(&name).await;
        assert_eq!(calls.call0(&JsValue::NULL).unwrap().as_f64(), Some(1.0));
        mend();
        assert_eq!(error.code, Code::Unavailable, "{exception}");
        assert!(error.message.contains("memory"), "it says what to do: {}", error.message);
        throw_at("IDBFactory", "open", 1, exception, "refused", true);
        assert_eq!(refused(&name).await.code, Code::Unavailable, "{exception} thrown");
        mend();
    }
}

#[wasm_bindgen_test]
async fn a_page_without_indexed_db_is_told_so() {
    let name = fresh("missing");
    for value in [JsValue::UNDEFINED, JsValue::NULL, js_sys::Object::new().into()] {
        replace_global("indexedDB", &value);
        let error = refused(&name).await;
        mend();
        assert_eq!(error.code, Code::Unavailable);
        assert!(error.message.contains("no IndexedDB"), "{}", error.message);
    }
    throwing_global("indexedDB", "SecurityError");
    let error = refused(&name).await;
    mend();
    assert_eq!(error.code, Code::Unavailable);
    open(&name).await;
}

#[wasm_bindgen_test]
async fn an_open_that_never_settles_ends_in_a_time_out() {
    // firebase/firebase-js-sdk#4076, dexie/Dexie.js#1030.
    let name = fresh("never");
    never_settles("open");
    let error = IndexedDbStorage::open(OpenOptions { timeout_ms: 150, ..OpenOptions::new(&name) }).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::TimedOut);
}

#[wasm_bindgen_test]
async fn an_upgrade_waits_for_a_tab_that_does_not_close_and_then_gives_up() {
    // alexgusevski/carouselbot#42, vm0-ai/vm0#19770.
    let name = fresh("blocked");
    let other = raw_open(&name, Some(1), &[]).await;
    let (mut waiting, heard) = options(&name);
    waiting.timeout_ms = 200;
    let error = IndexedDbStorage::open(waiting).await.unwrap_err();
    assert_eq!(error.code, Code::Blocked);
    assert!(
        matches!(&heard.borrow()[..], [ConnectionEvent::Blocked { message }] if message.contains("tab")),
        "{heard:?}"
    );
    // The request that was given up must not upgrade behind our back, nor stay open.
    other.close();
    sleep(100).await;
    assert_eq!(raw_version(&name).await, 1);
    let storage = open(&name).await;
    write(&storage, puts(1)).await.unwrap();
}

#[wasm_bindgen_test]
async fn an_upgrade_goes_on_when_the_old_tab_closes_in_time() {
    let name = fresh("unblocked");
    let other = raw_open(&name, Some(1), &[]).await;
    let (options, heard) = options(&name);
    close_later(&other, 100);
    let storage = IndexedDbStorage::open(options).await.unwrap();
    write(&storage, puts(1)).await.unwrap();
    assert!(matches!(&heard.borrow()[..], [ConnectionEvent::Blocked { .. }, ConnectionEvent::Opened]), "{heard:?}");
}

#[wasm_bindgen_test]
async fn an_open_that_is_dropped_leaves_no_connection_behind() {
    let name = fresh("dropped");
    for polls in 0..3 {
        let mut opening = Box::pin(IndexedDbStorage::open(options(&name).0));
        for _ in 0..polls {
            if poll_once(&mut opening).await.is_some() {
                break;
            }
        }
        drop(opening);
        sleep(50).await;
        turnmark::browser::delete_database(&OpenOptions { timeout_ms: 1_000, ..OpenOptions::new(&name) })
            .await
            .unwrap();
    }
}

#[wasm_bindgen_test]
async fn data_that_the_browser_says_it_lost_is_remembered() {
    // google/leveldb#1287, CherryHQ/cherry-studio#15423: only the upgrade event tells.
    let name = fresh("lost");
    report_data_loss("Data loss due to corruption");
    let storage = open(&name).await;
    mend();
    let lost = storage.data_lost().unwrap();
    assert!(lost.contains("total") && lost.contains("corruption"), "{lost}");
    write(&storage, puts(1)).await.unwrap();
    assert_eq!(storage.level(), turnmark::store::Level::Os, "what follows is not called disk");
}

#[wasm_bindgen_test]
async fn clocks_and_random_numbers_are_those_of_the_page() {
    let start = turnmark::browser::now();
    sleep(20).await;
    assert!(turnmark::browser::now() >= start + 15);
    assert_ne!(turnmark::browser::random().unwrap(), turnmark::browser::random().unwrap());
}
