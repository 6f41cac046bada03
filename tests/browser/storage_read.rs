//! Reads: ranges as the twin has them, and records that cannot be read.

use js_sys::Array;
use turnmark::browser::{IndexedDbStorage, JsText};
use turnmark::codec::key::{ById, Key, Piece, Range, Store};
use turnmark::codec::row::{Reference, Row};
use turnmark::error::Code;
use turnmark::ids::{CheckpointId, LogId, ScopeId, SessionId};
use turnmark::store::memory::MemoryStorage;
use turnmark::store::{Access, Op, Plan, Read, Storage};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use super::storage_values::checkpoint;
use super::support::*;

fn log(id: &str) -> LogId {
    LogId::parse(id).unwrap()
}

fn js_key(parts: &[JsValue]) -> JsValue {
    parts.iter().collect::<Array>().into()
}

#[wasm_bindgen_test]
async fn ranges_hold_what_the_twin_says_they_hold() {
    let name = fresh("ranges");
    let storage = open(&name).await;
    let twin: MemoryStorage<JsText> = MemoryStorage::default();
    let mut writes = Vec::new();
    for id in ["l", "l1", "l10", "l2", "m", "\u{e9}"] {
        for seq in [0, 1, 2, 9, 10, 300, u32::MAX] {
            writes.push(Op::Put(Key::reference(&log(id), seq, hash(1)), Row::Reference(Reference {})));
            writes.push(Op::Put(Key::reference(&log(id), seq, hash(2)), Row::Reference(Reference {})));
        }
    }
    write(&storage, writes.clone()).await.unwrap();
    twin.run(ALL, |_| Ok(Plan { writes: writes.clone(), answer: () })).await.unwrap();
    let mut ranges = vec![Range::all(Store::References), Range::all(Store::Objects)];
    for id in ["l", "l1", "l3", "\u{e9}"] {
        let all = Range { store: Store::References, ..Range::log(&log(id)) };
        ranges.push(all.clone());
        for n in [0, 1, 3, 10, 301, u32::MAX] {
            ranges.push(Range { from: Some(n), ..all.clone() });
            ranges.push(Range { to: Some(n), ..all.clone() });
            for m in [0, 1, 2, 10, u32::MAX] {
                ranges.push(Range::references(&log(id), n, m));
            }
        }
        ranges.push(Range { prefix: vec![Piece::from(id), Piece::from(9_u32)], ..all });
    }
    for range in ranges {
        let expected =
            twin.run(Access::read(Store::ALL), |view| Ok(Plan::read(view.keys(range.clone())?))).await.unwrap();
        assert_eq!(keys(&storage, &range).await.unwrap(), expected, "keys of {range:?}");
        for limit in [None, Some(0), Some(1), Some(5), Some(1000)] {
            let most = limit.map_or(usize::MAX, |n| n as usize);
            let found = rows(&storage, &range, limit).await.unwrap();
            assert_eq!(found.len(), expected.len().min(most), "rows of {range:?}, at most {limit:?}");
        }
        if range.from.is_some() && range.from >= range.to && range.to.is_some() {
            assert!(expected.is_empty());
            write(&storage, vec![Op::DeleteRange(range)]).await.unwrap();
        }
    }
    assert_eq!(keys(&storage, &Range::all(Store::References)).await.unwrap().len(), writes.len());
}

#[wasm_bindgen_test]
async fn a_deleted_range_is_the_range_that_was_read() {
    let name = fresh("delete-range");
    let storage = open(&name).await;
    let id = log("l1");
    let seqs = [0, 1, 2, 3, 9, 10];
    let put = |seq: &u32| Op::Put(Key::reference(&id, *seq, hash(1)), Row::Reference(Reference {}));
    write(&storage, seqs.iter().map(put).collect()).await.unwrap();
    write(&storage, vec![Op::DeleteRange(Range::references(&id, 1, 9))]).await.unwrap();
    let left: Vec<u32> =
        keys(&storage, &Range::all(Store::References)).await.unwrap().iter().filter_map(|key| key.number(1)).collect();
    assert_eq!(left, [0, 9, 10]);
}

#[wasm_bindgen_test]
async fn a_checkpoint_is_found_by_its_id_within_its_session() {
    let name = fresh("by-id");
    let storage = open(&name).await;
    write(&storage, vec![checkpoint("s1", 1, "cp_a"), checkpoint("s1", 2, "cp_b"), checkpoint("s2", 1, "cp_a")])
        .await
        .unwrap();
    let find = |session: &str, id: &str| {
        let by_id = ById {
            scope: ScopeId::parse("scope").unwrap(),
            session: SessionId::parse(session).unwrap(),
            id: CheckpointId::parse(id).unwrap(),
        };
        let storage = storage.clone();
        async move {
            let found = storage
                .run(Access::read(&[Store::Checkpoints]), |view| Ok(Plan::read(view.by_id(by_id.clone())?)))
                .await;
            found.unwrap().map(|row| match &*row {
                Row::Checkpoint(row) => (row.session.to_string(), row.seq),
                other => panic!("{other:?}"),
            })
        }
    };
    assert_eq!(find("s1", "cp_b").await, Some(("s1".into(), 2)));
    assert_eq!(find("s2", "cp_a").await, Some(("s2".into(), 1)));
    assert_eq!(find("s2", "cp_b").await, None);
}

/// The codes of what was read, `Internal` standing for "it can be read".
fn codes(rows: &[Read<JsText>]) -> Vec<Code> {
    rows.iter().map(|read| read.row().map_or_else(|error| error.code, |_| Code::Internal)).collect()
}

fn unreadable(rows: &[Read<JsText>]) -> Vec<String> {
    rows.iter().filter_map(|read| read.row().err()).map(|error| error.message.clone()).collect()
}

#[wasm_bindgen_test]
async fn a_record_that_is_no_row_does_not_hide_the_others() {
    // ai-shifu/ChatALL#594, CherryHQ/cherry-studio#11516, element-hq/element-web#33183.
    let name = fresh("bad-row");
    let storage = open(&name).await;
    write(&storage, puts(3)).await.unwrap();
    let hex = hash(1).to_hex();
    for bad in [
        JsValue::NULL,
        JsValue::from_str("text"),
        JsValue::from_f64(1.5),
        js_sys::Object::new().into(),
        Array::new().into(),
    ] {
        raw_put(&name, Store::Objects, &js_key(&[hex.as_str().into(), 0.into()]), &bad).await;
        let found = rows(&storage, &Range::all(Store::Objects), None).await.unwrap();
        assert_eq!(codes(&found), [Code::Internal, Code::RecordUnreadable, Code::Internal], "{bad:?}");
        assert!(unreadable(&found)[0].contains(&format!("objects [\"{hex}\", 0]")), "{:?}", unreadable(&found));
        assert_eq!(code(read(&storage, &key(1)).await), Code::RecordUnreadable);
        assert!(read(&storage, &key(2)).await.unwrap().is_some());
    }
    // Nothing is deleted for it, and it can be written over.
    assert_eq!(count(&storage).await, 3);
    write(&storage, puts(3)).await.unwrap();
    assert!(read(&storage, &key(1)).await.unwrap().is_some());
}

#[wasm_bindgen_test]
async fn a_record_whose_value_the_browser_lost_does_not_hide_the_others() {
    // CherryHQ/cherry-studio#6183, w3c/IndexedDB#423, OneKeyHQ/app-monorepo#12827.
    let name = fresh("lost-value");
    let storage = open(&name).await;
    write(&storage, puts(4)).await.unwrap();
    fail_requests("getAll", "");
    fail_requests("get", &hash(2).to_hex());
    let range = Range::all(Store::Objects);
    let found = storage
        .run(ALL, |view| {
            let all = view.rows(range.clone(), None)?;
            let one = view.raw(key(2))?;
            let (first, last) = (view.rows(range.clone(), Some(2))?.len(), view.row(key(3))?.is_some());
            Ok(Plan { writes: vec![Op::Put(key(9), row("written after"))], answer: (all, one, first, last) })
        })
        .await;
    mend();
    let (all, one, first, last) = found.unwrap();
    assert_eq!(codes(&all), [Code::Internal, Code::Internal, Code::RecordUnreadable, Code::Internal]);
    assert!(unreadable(&all)[0].contains(&hash(2).to_hex()));
    let error = match one {
        Some(Read::Unreadable(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error.code, Code::RecordUnreadable);
    assert!(error.cause.as_deref().unwrap().contains("NotReadableError"));
    assert_eq!((first, last), (2, true));
    // A bad old record cannot block a new one, and it was not deleted: the error may be transient.
    assert_eq!(count(&storage).await, 5);
    assert!(read(&storage, &key(2)).await.unwrap().is_some());
}

#[wasm_bindgen_test]
async fn a_list_that_cannot_be_read_is_an_error_and_never_empty() {
    // SillyTavern/SillyTavern#5941, rt2zz/redux-persist#1105: a failed read taken for an empty one loses the data.
    let name = fresh("lost-list");
    let storage = open(&name).await;
    write(&storage, puts(2)).await.unwrap();
    let range = Range::all(Store::Objects);
    fail_requests("getAllKeys", "");
    let listed = storage
        .run(ALL, |view| {
            let keys = view.keys(range.clone())?.len();
            Ok(Plan { writes: vec![Op::DeleteRange(range.clone())], answer: keys })
        })
        .await;
    assert_eq!(code(listed), Code::RecordUnreadable);
    fail_requests("getAll", "");
    let read =
        storage.run(ALL, |view| Ok(Plan { writes: vec![], answer: view.rows(range.clone(), None)?.len() })).await;
    mend();
    assert_eq!(code(read), Code::RecordUnreadable);
    assert_eq!(count(&storage).await, 2);
}

#[wasm_bindgen_test]
async fn keys_that_nobody_here_wrote_are_passed_over() {
    let name = fresh("foreign-keys");
    let storage = open(&name).await;
    write(&storage, puts(2)).await.unwrap();
    for foreign in [
        JsValue::from_str("text"),
        JsValue::from_f64(5.0),
        js_key(&[JsValue::from_f64(0.5)]),
        js_key(&[js_sys::Date::new_0().into()]),
    ] {
        raw_put(&name, Store::Objects, &foreign, &JsValue::NULL).await;
    }
    assert_eq!(keys(&storage, &Range::all(Store::Objects)).await.unwrap().len(), 2);
    let found = rows(&storage, &Range::all(Store::Objects), None).await.unwrap();
    assert_eq!(found.iter().filter(|read| read.row().is_ok()).count(), 2);
}

#[wasm_bindgen_test]
async fn reading_an_empty_store_answers_nothing() {
    // dexie/Dexie.js#1030: cursors over empty stores fail in Safari; there are no cursors here.
    let storage: IndexedDbStorage = open(&fresh("empty")).await;
    for store in Store::ALL {
        assert_eq!(rows(&storage, &Range::all(*store), None).await.unwrap().len(), 0);
        assert_eq!(keys(&storage, &Range::all(*store)).await.unwrap().len(), 0);
    }
}
