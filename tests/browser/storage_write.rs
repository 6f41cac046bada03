//! Commands that write: all of it or nothing, acknowledged only when it is committed.

use std::rc::Rc;

use turnmark::browser::{Durability, IndexedDbStorage, OpenOptions, sleep};
use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::Row;
use turnmark::error::{Code, Error};
use turnmark::store::{Access, Level, Op, Pause, Plan, Request, Storage};
use wasm_bindgen_test::wasm_bindgen_test;

use super::support::*;

#[wasm_bindgen_test]
async fn what_was_written_is_read_back() {
    let name = fresh("write");
    let storage = open(&name).await;
    write(&storage, puts(3)).await.unwrap();
    assert_eq!(text(&read(&storage, &key(1)).await.unwrap().unwrap()), "record 1");
    assert!(read(&storage, &key(9)).await.unwrap().is_none());
    storage.close().await;
    // pubkey/rxdb#3787: a resolved write survives a reload.
    let storage = open(&name).await;
    assert_eq!(count(&storage).await, 3);
}

#[wasm_bindgen_test]
async fn writes_are_strict_unless_asked_otherwise() {
    let name = fresh("strict");
    let storage = open(&name).await;
    assert_eq!(storage.level(), Level::Disk, "known before the first write");
    write(&storage, puts(1)).await.unwrap();
    assert_eq!(storage.level(), Level::Disk);
    storage.close().await;
    let relaxed = OpenOptions { durability: Durability::Relaxed, ..OpenOptions::new(&name) };
    let storage = IndexedDbStorage::open(relaxed).await.unwrap();
    write(&storage, puts(1)).await.unwrap();
    assert_eq!(storage.level(), Level::Os);
}

#[wasm_bindgen_test]
async fn an_engine_that_does_not_report_strict_is_not_called_disk() {
    let name = fresh("level");
    for word in [None, Some("relaxed"), Some("default")] {
        report_durability(word);
        let storage = open(&name).await;
        assert_eq!(storage.level(), Level::Os, "{word:?}");
        write(&storage, puts(1)).await.unwrap();
        assert_eq!(storage.level(), Level::Os, "{word:?}");
        storage.close().await;
        mend();
    }
}

#[wasm_bindgen_test]
async fn reads_and_writes_of_one_command_share_one_transaction() {
    // devashishdxt/rexie#36, idb#18, Alorel/rust-indexed-db#33, apache/pouchdb#8084: the writes follow many rounds of reads.
    let name = fresh("rounds");
    let storage = open(&name).await;
    write(&storage, puts(20)).await.unwrap();
    let mut calls = 0;
    storage
        .run(ALL, |view| {
            calls += 1;
            for n in 0..20 {
                view.row(key(n))?;
            }
            Ok(Plan { writes: vec![Op::Put(key(20), row("last"))], answer: () })
        })
        .await
        .unwrap();
    assert_eq!(calls, 21, "one round for each dependent read");
    assert_eq!(count(&storage).await, 21);
}

#[wasm_bindgen_test]
async fn two_commands_that_read_and_write_the_same_row_never_lose_an_update() {
    // oobabooga/textgen#5136, Nozbe/WatermelonDB#827, zewish/redux-remember#29: one transaction reads and writes.
    let name = fresh("updates");
    let (a, b) = (open(&name).await, open(&name).await);
    let add = |storage: IndexedDbStorage| async move {
        for _ in 0..25 {
            storage
                .run(ALL, |view| {
                    let old = view.row(key(0))?.map_or(0, |row| text(&row).parse::<u32>().unwrap());
                    Ok(Plan { writes: vec![Op::Put(key(0), row(&(old + 1).to_string()))], answer: () })
                })
                .await
                .unwrap();
        }
    };
    both(add(a.clone()), add(b)).await;
    assert_eq!(text(&read(&a, &key(0)).await.unwrap().unwrap()), "50");
}

#[wasm_bindgen_test]
async fn a_planner_that_fails_writes_nothing() {
    let name = fresh("fail");
    let storage = open(&name).await;
    let refused = storage
        .run(ALL, |view| {
            view.row(key(0))?;
            Err::<Plan<_, ()>, _>(Pause::Fail(Error::new(Code::Conflict, "another writer was first")))
        })
        .await;
    assert_eq!(code(refused), Code::Conflict);
    // Its transaction does not stand in the way of the next.
    write(&storage, puts(1)).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_command_that_breaks_the_rules_of_the_port_fails_with_a_typed_error() {
    let name = fresh("rules");
    let storage = open(&name).await;
    let unnamed = storage.run(Access::read(&[Store::Meta]), |view| Ok(Plan::read(view.row(key(0))?.is_some()))).await;
    assert_eq!(code(unnamed), Code::Internal);
    let unnamed = storage.run(Access::write(&[Store::Meta]), |_| Ok(Plan { writes: puts(1), answer: () })).await;
    assert_eq!(code(unnamed), Code::Internal);
    let reader = storage.run(Access::read(Store::ALL), |_| Ok(Plan { writes: puts(1), answer: () })).await;
    assert_eq!(code(reader), Code::Internal);
    let wrong_store = write(&storage, vec![Op::Put(key(0), row("fine")), Op::Put(Key::meta(), row("wrong"))]).await;
    assert_eq!(code(wrong_store), Code::Internal);
    let nothing = storage.run(ALL, |_| Err::<Plan<_, ()>, _>(Pause::Need(Vec::new()))).await;
    assert_eq!(code(nothing), Code::Internal);
    assert_eq!(count(&storage).await, 0);
}

#[wasm_bindgen_test]
async fn a_plan_without_writes_answers_from_a_writing_command_too() {
    let name = fresh("empty");
    let storage = open(&name).await;
    write(&storage, puts(2)).await.unwrap();
    assert!(storage.run(ALL, |view| Ok(Plan::read(view.row(key(0))?.is_some()))).await.unwrap());
    let empty = Range::messages(&turnmark::ids::LogId::parse("l1").unwrap(), 5, 5);
    write(&storage, vec![Op::DeleteRange(empty)]).await.unwrap();
    assert_eq!(count(&storage).await, 2);
}

#[wasm_bindgen_test]
async fn deleting_removes_rows_and_ranges() {
    let name = fresh("delete");
    let storage = open(&name).await;
    write(&storage, puts(4)).await.unwrap();
    write(&storage, vec![Op::Delete(key(0)), Op::DeleteRange(Range::object(hash(1))), Op::Delete(key(9))])
        .await
        .unwrap();
    let left = keys(&storage, &Range::all(Store::Objects)).await.unwrap();
    assert_eq!(*left, [key(2), key(3)]);
    write(&storage, vec![Op::DeleteRange(Range::all(Store::Objects))]).await.unwrap();
    assert_eq!(count(&storage).await, 0);
}

#[wasm_bindgen_test]
async fn a_command_that_is_dropped_on_its_way_leaves_nothing() {
    // devashishdxt/idb#7: an early return after a put must not commit half a command.
    let name = fresh("drop");
    let storage = open(&name).await;
    let plan = || {
        storage.run(ALL, |view| {
            view.row(key(7))?;
            Ok(Plan { writes: puts(5), answer: () })
        })
    };
    drop(plan());
    let mut reading = Box::pin(plan());
    assert!(poll_once(&mut reading).await.is_none());
    drop(reading);
    assert_eq!(count(&storage).await, 0);
    // At any other time: all of it or nothing.
    for milliseconds in 0..20 {
        let command = async { plan().await.unwrap() };
        let dropped = either(command, sleep(milliseconds / 4)).await;
        let left = count(&storage).await;
        assert!(left == 5 || (left == 0 && dropped.is_none()), "{left} records after {milliseconds} quarters");
        write(&storage, vec![Op::DeleteRange(Range::all(Store::Objects))]).await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn requests_that_do_not_depend_on_each_other_are_read_in_one_round() {
    let name = fresh("round");
    let storage = open(&name).await;
    write(&storage, puts(5)).await.unwrap();
    let mut calls = 0;
    let found = storage
        .run(Access::read(Store::ALL), |view| {
            calls += 1;
            view.want((0..6).map(|n| Request::Row(key(n))))?;
            Ok(Plan::read((0..6).filter(|n| view.row(key(*n)).is_ok_and(|row| row.is_some())).count()))
        })
        .await
        .unwrap();
    assert_eq!((found, calls), (5, 2));
}

#[wasm_bindgen_test]
async fn rows_keep_their_own_types() {
    let name = fresh("types");
    let storage = open(&name).await;
    let meta = Row::Meta(turnmark::codec::row::Meta {
        device: turnmark::ids::DeviceId::parse("d1").unwrap(),
        created: 1_700_000_000_000,
    });
    write(&storage, vec![Op::Put(Key::meta(), meta.clone()), Op::Put(key(0), row("a"))]).await.unwrap();
    assert_eq!(read(&storage, &Key::meta()).await.unwrap(), Some(Rc::new(meta)));
}
