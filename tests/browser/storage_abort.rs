//! Aborts, exceptions and silence: every promise settles, with the real reason, and nothing is half written.

use turnmark::browser::{rotates, sleep};
use turnmark::codec::key::Store;
use turnmark::error::Code;
use turnmark::store::{Access, Level, Op, Plan, Storage};
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

#[wasm_bindgen_test]
async fn a_full_disk_is_a_quota_error_however_the_engine_says_it() {
    // dexie/Dexie.js#776 and #1794, jakearchibald/idb#23, localForage#822: the reason is in `transaction.error`.
    let name = fresh("quota");
    let storage = open(&name).await;
    let reasons = [
        (Some("QuotaExceededError"), "", Code::QuotaExceeded),
        (
            Some("UnknownError"),
            "Internal error committing transaction: IO error: /x/000004.log: NO_SPACE",
            Code::QuotaExceeded,
        ),
        (Some("AbortError"), "QuotaExceededError: The quota has been exceeded.", Code::QuotaExceeded),
        // WebKit, measured: a full disk gives no reason at all.
        (None, "", Code::Aborted),
        (Some("AbortError"), "The transaction was aborted.", Code::Aborted),
        (Some("UnknownError"), "Internal error", Code::Aborted),
    ];
    for (reason, message, expected) in reasons {
        abort_reason(reason, message);
        abort_at("put", 3);
        let error = write(&storage, puts(3)).await.unwrap_err();
        mend();
        assert_eq!(error.code, expected, "{reason:?} {message}");
        assert_eq!(error.cause.is_some(), reason.is_some(), "{error:?}");
        if let (Some(cause), Some(reason)) = (&error.cause, reason) {
            assert!(cause.contains(reason), "{cause}");
        }
        assert_eq!(count(&storage).await, 0);
    }
    // Nothing is stuck, and deleting was never refused.
    write(&storage, puts(1)).await.unwrap();
    write(&storage, vec![Op::Delete(key(0))]).await.unwrap();
}

#[wasm_bindgen_test]
async fn an_io_error_makes_the_store_suspect_until_it_is_healed() {
    let name = fresh("suspect");
    let storage = open(&name).await;
    abort_reason(Some("UnknownError"), "IO error: NO_SPACE");
    abort_at("put", 1);
    assert_eq!(code(write(&storage, puts(1)).await), Code::QuotaExceeded);
    mend();
    assert_eq!(storage.suspicion(), Some(("an I/O error", 1)));
    write(&storage, puts(1)).await.unwrap();
    assert_eq!(storage.level(), Level::Os);
    storage.heal().await.unwrap();
    assert_eq!(storage.suspicion(), None);
    assert_eq!(storage.level(), Level::Disk);
    assert_eq!(raw_count(&name, "meta").await, 0, "the cure leaves nothing behind");
}

#[wasm_bindgen_test]
async fn every_engines_word_for_a_full_disk_makes_the_store_suspect_until_it_is_healed() {
    // LevelDB, SQLite in Chromium; Firefox, and WebKit, which gives no reason.
    let disk = [
        Some(("UnknownError", "IO error: NO_SPACE")),
        Some(("QuotaExceededError", "Encountered disk full while committing")),
    ];
    let others = [Some(("QuotaExceededError", "The current transaction exceeded its quota limitations.")), None];
    for (reason, is_fault) in
        disk.map(|reason| (reason, true)).into_iter().chain(others.map(|reason| (reason, !rotates())))
    {
        let storage = open(&fresh("full")).await;
        abort_reason(reason.map(|(name, _)| name), reason.map_or("", |(_, message)| message));
        abort_at("put", 1);
        let expected = if reason.is_some() { Code::QuotaExceeded } else { Code::Aborted };
        assert_eq!(code(write(&storage, puts(1)).await), expected, "{reason:?}");
        mend();
        assert_eq!(storage.suspicion().map(|(why, _)| why), is_fault.then_some("an I/O error"), "{reason:?}");
        storage.heal().await.unwrap();
        assert_eq!(storage.level(), Level::Disk, "{reason:?}");
    }
}

#[wasm_bindgen_test]
async fn a_cure_that_fails_leaves_the_store_suspect() {
    let name = fresh("cure");
    let storage = open(&name).await;
    storage.distrust("a test says so");
    // The first reason counts.
    storage.distrust("another");
    assert_eq!(storage.level(), Level::Os);
    // In the midst of the cure. Where no log is rotated, as in Firefox, it is a single put.
    let put = if rotates() { 50 } else { 1 };
    throw_at("IDBObjectStore", "put", put, "QuotaExceededError", "full", true);
    assert_eq!(code(storage.heal().await), Code::QuotaExceeded);
    mend();
    assert_eq!(storage.suspicion(), Some(("a test says so", 2)));
    assert_eq!(raw_count(&name, "meta").await, 0);
    storage.heal().await.unwrap();
    assert_eq!(storage.level(), Level::Disk);
    // A fault that comes while it is healed, here or by another tab, is not healed by that.
    storage.distrust("a first fault");
    let (_, faults) = storage.suspicion().unwrap();
    let (healed, ()) = both(storage.heal(), async { storage.distrust("a second fault") }).await;
    healed.unwrap();
    storage.trust(faults);
    assert_eq!(storage.level(), Level::Os);
    storage.heal().await.unwrap();
    assert_eq!(storage.level(), Level::Disk);
    storage.close().await;
    assert_eq!(code(storage.heal().await), Code::Closed);
}

#[wasm_bindgen_test]
async fn every_command_settles_when_the_transaction_is_aborted_at_any_write() {
    // dexie/Dexie.js#840 and #1660, jakearchibald/idb#320 and #338.
    let name = fresh("abort");
    let storage = open(&name).await;
    for n in 1..=6 {
        abort_at("put", n);
        let (a, b) =
            both(write(&storage, puts(6)), write(&storage, vec![Op::Put(key(200), row("another command"))])).await;
        mend();
        assert_eq!(code(a), Code::Aborted, "aborted at put {n}");
        b.unwrap();
        assert_eq!(count(&storage).await, 1, "only the other command's record, at put {n}");
    }
    // Aborted at a put that does not come.
    abort_at("put", 7);
    write(&storage, puts(6)).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_failure_is_told_to_its_caller_and_to_nobody_else() {
    // jakearchibald/idb#320 and #338: exactly one rejection for each failed call, also when nobody has awaited yet.
    let name = fresh("unhandled");
    let storage = open(&name).await;
    let unhandled = watch_unhandled();
    abort_at("put", 2);
    assert_eq!(code(write(&storage, puts(3)).await), Code::Aborted);
    throw_at("IDBObjectStore", "put", 2, "DataError", "not a valid key", false);
    assert_eq!(code(write(&storage, puts(3)).await), Code::Internal);
    let twice = super::storage_values::checkpoint("s1", 2, "cp_1");
    write(&storage, vec![super::storage_values::checkpoint("s1", 1, "cp_1")]).await.unwrap();
    assert_eq!(code(write(&storage, vec![twice]).await), Code::AlreadyExists);
    drop(write(&storage, puts(3)));
    sleep(30).await;
    assert_eq!(unhandled.length(), 0, "{unhandled:?}");
    mend();
}

#[wasm_bindgen_test]
async fn an_abort_while_reading_is_tried_once_more_on_a_new_connection() {
    // jakearchibald/idb-keyval#171, idb#338: iOS aborts a transaction between two requests.
    let name = fresh("read-abort");
    let (options, heard) = options(&name);
    let storage = turnmark::browser::IndexedDbStorage::open(options).await.unwrap();
    write(&storage, puts(2)).await.unwrap();
    for n in 1..=2 {
        abort_at("get", n);
        let found = storage
            .run(ALL, |view| {
                view.row(key(0))?;
                view.row(key(1))?;
                Ok(Plan { writes: vec![Op::Put(key(2), row("after"))], answer: () })
            })
            .await;
        mend();
        found.unwrap();
    }
    assert_eq!(count(&storage).await, 3);
    assert!(heard.borrow().len() >= 5, "opened, and twice lost and opened: {heard:?}");
}

#[wasm_bindgen_test]
async fn an_abort_that_comes_back_is_reported() {
    let name = fresh("again");
    let storage = open(&name).await;
    throw_at(
        "IDBObjectStore",
        "get",
        1,
        "UnknownError",
        "Attempt to get a record from database without an in-progress transaction",
        true,
    );
    let error = read(&storage, &key(0)).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::ConnectionLost);
    assert!(error.cause.as_deref().unwrap().contains("in-progress"));
    assert!(read(&storage, &key(0)).await.unwrap().is_none());
}

#[wasm_bindgen_test]
async fn a_write_that_throws_at_any_place_leaves_nothing() {
    // Measured: a put that throws does not abort, and the puts before it commit by themselves.
    let name = fresh("throw");
    let storage = open(&name).await;
    let thrown = [
        ("DataCloneError", "could not be cloned", Code::NotStorable),
        ("RangeError", "Maximum call stack size exceeded", Code::NotStorable),
        ("DataError", "The parameter is not a valid key", Code::Internal),
        ("UnknownError", "The serialized keys and/or value are too large", Code::TooLarge),
        ("QuotaExceededError", "", Code::QuotaExceeded),
        ("TransactionInactiveError", "The transaction is not active", Code::Aborted),
    ];
    for (exception, message, expected) in thrown {
        for n in 1..=4 {
            throw_at("IDBObjectStore", "put", n, exception, message, false);
            let error = write(&storage, puts(4)).await.unwrap_err();
            mend();
            assert_eq!(error.code, expected, "{exception} at {n}: {error:?}");
            assert!(error.cause.as_deref().unwrap().contains(exception));
            assert_eq!(count(&storage).await, 0, "{exception} at {n}");
        }
    }
}

#[wasm_bindgen_test]
async fn a_delete_that_throws_leaves_everything() {
    let name = fresh("throw-delete");
    let storage = open(&name).await;
    write(&storage, puts(3)).await.unwrap();
    throw_at("IDBObjectStore", "delete", 3, "DataError", "not a valid key", false);
    let all = (0..3).map(|n| Op::Delete(key(n))).collect();
    assert_eq!(code(write(&storage, all).await), Code::Internal);
    mend();
    assert_eq!(count(&storage).await, 3);
}

#[wasm_bindgen_test]
async fn a_read_that_throws_ends_the_command_and_frees_the_stores() {
    let name = fresh("throw-read");
    let storage = open(&name).await;
    for method in ["get", "getAll", "getAllKeys"] {
        throw_at("IDBObjectStore", method, 1, "DataError", "not a valid key", true);
        let failed = storage
            .run(ALL, |view| {
                view.row(key(0))?;
                view.rows(turnmark::codec::key::Range::all(Store::Objects), None)?;
                view.keys(turnmark::codec::key::Range::all(Store::Objects))?;
                Ok(Plan { writes: puts(1), answer: () })
            })
            .await;
        mend();
        assert_eq!(code(failed), Code::Internal, "{method}");
        assert_eq!(count(&storage).await, 0);
    }
}

#[wasm_bindgen_test]
async fn a_write_that_fails_late_takes_the_whole_command_with_it() {
    let name = fresh("unique");
    let storage = open(&name).await;
    let first = super::storage_values::checkpoint("s1", 1, "cp_1");
    let second = super::storage_values::checkpoint("s1", 2, "cp_1");
    write(&storage, vec![first.clone()]).await.unwrap();
    let error =
        write(&storage, vec![Op::Put(key(1), row("before")), second, Op::Put(key(0), row("after"))]).await.unwrap_err();
    assert_eq!(error.code, Code::AlreadyExists);
    assert!(error.cause.as_deref().unwrap().contains("ConstraintError"));
    assert_eq!(count(&storage).await, 0);
}

#[wasm_bindgen_test]
async fn a_browser_that_never_answers_is_given_up() {
    // dexie/Dexie.js#1030: later operations hang for ever, even after a restart.
    let name = fresh("silence");
    let (options, heard) = options(&name);
    let storage = turnmark::browser::IndexedDbStorage::open(options).await.unwrap();
    write(&storage, puts(1)).await.unwrap();
    storage.set_patience(150);
    swallow("IDBRequest", "success");
    swallow("IDBTransaction", "complete");
    assert_eq!(code(read(&storage, &key(0)).await), Code::TimedOut);
    mend();
    // The next command has a new connection.
    assert!(read(&storage, &key(0)).await.unwrap().is_some());
    assert!(heard.borrow().iter().any(|event| matches!(event, turnmark::browser::ConnectionEvent::Lost { .. })));
    // A commit that is never reported.
    swallow("IDBTransaction", "complete");
    let error = write(&storage, puts(2)).await.unwrap_err();
    mend();
    assert_eq!(error.code, Code::ConnectionLost, "it was committed, and the error does not deny it");
    assert!(error.message.contains("not known"), "{}", error.message);
}

#[wasm_bindgen_test]
async fn a_command_that_is_given_up_behind_a_busy_tab_writes_nothing() {
    let name = fresh("held");
    let storage = open(&name).await;
    let other = raw_open(&name, None, &[]).await;
    let stop = hold(&other, "objects");
    storage.set_patience(150);
    let given_up = storage
        .run(ALL, |view| {
            view.row(key(0))?;
            Ok(Plan { writes: puts(2), answer: () })
        })
        .await
        .unwrap_err();
    assert_eq!(given_up.code, Code::TimedOut);
    assert!(given_up.message.contains("nothing"), "{}", given_up.message);
    stop.call0(&wasm_bindgen::JsValue::NULL).unwrap();
    storage.set_patience(5_000);
    assert_eq!(count(&storage).await, 0);
    other.close();
}

#[wasm_bindgen_test]
async fn a_reader_is_not_held_up_by_its_own_end() {
    let name = fresh("end");
    let storage = open(&name).await;
    swallow("IDBTransaction", "complete");
    // An answer needs no commit.
    storage.set_patience(10_000);
    let reading = storage.run(Access::read(Store::ALL), |view| Ok(Plan::read(view.row(key(0))?.is_some())));
    assert!(!reading.await.unwrap());
    mend();
    sleep(1).await;
}
