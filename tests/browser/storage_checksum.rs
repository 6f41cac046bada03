//! Checksums: whatever changes in a stored value, it is noticed when it is read.

use js_sys::Array;
use turnmark::browser::{IndexedDbStorage, JsText};
use turnmark::codec::key::{Key, Piece, Range};
use turnmark::codec::row::Row;
use turnmark::error::Code;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;

use super::storage_values::rows_of_every_kind;
use super::support::*;
use turnmark::store::{Op, Read};

#[wasm_bindgen(module = "/tests/browser/damage.js")]
extern "C" {
    pub(crate) fn damages(row: &JsValue) -> Array;
    fn monsters() -> Array;
    fn bare(row: &JsValue) -> JsValue;
    fn has(row: &JsValue) -> bool;
}

/// A key as IndexedDB takes it.
pub(crate) fn raw_key(key: &Key) -> JsValue {
    let piece = |piece: &Piece| match piece {
        Piece::Number(n) => JsValue::from(i32::try_from(*n).unwrap()),
        Piece::Text(text) => JsValue::from_str(text),
    };
    key.pieces.iter().map(piece).collect::<Array>().into()
}

async fn filled(name: &str) -> (IndexedDbStorage, Vec<(Key, Row<JsText>)>) {
    let storage = open(name).await;
    let all = rows_of_every_kind();
    write(&storage, all.iter().map(|(key, row)| Op::Put(key.clone(), row.clone())).collect()).await.unwrap();
    (storage, all)
}

/// How a row is read in a range.
async fn in_range(storage: &IndexedDbStorage, key: &Key) -> Read<JsText> {
    rows(storage, &Range { prefix: key.pieces.clone(), ..Range::all(key.store) }, None).await.unwrap()[0].clone()
}

/// google/leveldb#251, w3c/IndexedDB#423: a value that is not what was written is never taken for it.
#[wasm_bindgen_test]
async fn whatever_changes_in_any_field_of_a_row_makes_it_unreadable() {
    let name = fresh("checksum");
    let (storage, all) = filled(&name).await;
    for (key, row) in &all {
        let sound = raw_get(&name, key.store, &raw_key(key)).await;
        assert!(has(&sound), "{key} has no checksum");
        let damages = damages(&sound);
        assert!(damages.length() > 20);
        for damage in damages {
            let [place, damaged] = [0, 1].map(|at| damage.unchecked_ref::<Array>().get(at));
            raw_put(&name, key.store, &raw_key(key), &damaged).await;
            assert_eq!(code(read(&storage, key).await), Code::RecordUnreadable, "{key}: {place:?}");
            // A range brings no keys, so of the checksum only that of the content counts.
            let read = in_range(&storage, key).await;
            assert!(matches!(read, Read::Unreadable(_)) || place == "sum", "{key}: {place:?} in a range");
        }
        raw_put(&name, key.store, &raw_key(key), &sound).await;
        assert_eq!(&*super::support::read(&storage, key).await.unwrap().unwrap(), row);
    }
}

#[wasm_bindgen_test]
async fn a_row_under_the_key_of_another_is_unreadable() {
    let name = fresh("misplaced");
    let (storage, all) = filled(&name).await;
    for (key, _) in &all {
        let mut other = key.clone();
        if let Some(last) = other.pieces.last_mut() {
            *last = match last {
                Piece::Number(n) => Piece::Number(*n + 7),
                Piece::Text(text) => Piece::Text(format!("{text}x")),
            };
        }
        let value = raw_get(&name, key.store, &raw_key(key)).await;
        if key.store == turnmark::codec::key::Store::Checkpoints {
            // An index allows no two of one id.
            write(&storage, vec![Op::Delete(key.clone())]).await.unwrap();
        }
        raw_put(&name, key.store, &raw_key(&other), &value).await;
        assert_eq!(code(read(&storage, &other).await), Code::RecordUnreadable, "{other}");
    }
}

/// Needs no step of the schema: what an earlier release wrote has no checksum, and is read as before.
#[wasm_bindgen_test]
async fn rows_of_a_release_without_checksums_are_read_as_before() {
    let name = fresh("bare");
    let (storage, all) = filled(&name).await;
    for (key, row) in &all {
        let value = bare(&raw_get(&name, key.store, &raw_key(key)).await);
        assert!(!has(&value));
        raw_put(&name, key.store, &raw_key(key), &value).await;
        assert_eq!(&*read(&storage, key).await.unwrap().unwrap(), row);
        assert_eq!(&**in_range(&storage, key).await.row().unwrap(), row);
    }
}

/// A stored value may be anything at all: it takes neither the stack nor a second to find that it is no row.
#[wasm_bindgen_test]
async fn a_value_that_is_deep_or_wide_or_without_an_end_is_unreadable_at_once() {
    let name = fresh("monsters");
    let (storage, all) = filled(&name).await;
    let key = &all[0].0;
    for monster in monsters() {
        raw_put(&name, key.store, &raw_key(key), &monster).await;
        let start = clock();
        assert_eq!(code(read(&storage, key).await), Code::RecordUnreadable);
        assert!(clock() - start < 2_000.0, "{} ms", clock() - start);
    }
}
