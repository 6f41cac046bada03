//! Rows, keys and ranges as the values IndexedDB holds.

use idb::KeyRange;
use js_sys::{Array, Number};
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

use super::convert::{from_js, to_js};
use super::error::Thrown;
use super::text::JsText;
use crate::codec::key::{Key, Piece, Range, Store};
use crate::codec::row::Row;
use crate::error::{Code, Error, Result};

#[wasm_bindgen(module = "/src/browser/checksum.js")]
extern "C" {
    fn seal(row: &JsValue, key: &JsValue);

    #[wasm_bindgen(js_name = isSound)]
    fn is_sound(row: &JsValue, key: &JsValue) -> bool;
}

/// A row as it is stored: its fields alone, since the store already says which kind it is, and their checksum.
///
/// # Errors
/// `NotStorable` for a number that JavaScript has not, `Internal` when the row is not of the key's store.
pub(super) fn encode(key: &Key, row: &Row<JsText>) -> Result<JsValue> {
    if kind(row) != key.store {
        return Err(Error::new(Code::Internal, format!("a {} row was to be written to {key}", kind(row).name())));
    }
    let value = match row {
        Row::Meta(row) => to_js(row),
        Row::Session(row) => to_js(row),
        Row::Messages(row) => to_js(row),
        Row::Reference(row) => to_js(row),
        Row::Checkpoint(row) => to_js(row),
        Row::Object(row) => to_js(row),
        Row::Write(row) => to_js(row),
        Row::Stream(row) => to_js(row),
    };
    let value =
        value.map_err(|error| Error::new(Code::NotStorable, format!("the record {key} cannot be stored: {error}")))?;
    // A reference says everything in its key.
    if key.store != Store::References {
        seal(&value, &self::key(key));
    }
    Ok(value)
}

fn kind(row: &Row<JsText>) -> Store {
    match row {
        Row::Meta(_) => Store::Meta,
        Row::Session(_) => Store::Sessions,
        Row::Messages(_) => Store::Messages,
        Row::Reference(_) => Store::References,
        Row::Checkpoint(_) => Store::Checkpoints,
        Row::Object(_) => Store::Objects,
        Row::Write(_) => Store::Writes,
        Row::Stream(_) => Store::Streams,
    }
}

/// A stored value as the row its store holds; `key` is `undefined` where a read brings none.
///
/// # Errors
/// Why it is none, in words.
pub(super) fn decode(store: Store, key: &JsValue, value: JsValue) -> std::result::Result<Row<JsText>, String> {
    fn read<R: DeserializeOwned>(
        value: JsValue,
        row: impl FnOnce(R) -> Row<JsText>,
    ) -> std::result::Result<Row<JsText>, String> {
        from_js(value).map(row).map_err(|error| error.to_string())
    }
    if !is_sound(&value, key) {
        return Err("it is not what was written".to_owned());
    }
    match store {
        Store::Meta => read(value, Row::Meta),
        Store::Sessions => read(value, Row::Session),
        Store::Messages => read(value, Row::Messages),
        Store::References => read(value, Row::Reference),
        Store::Checkpoints => read(value, Row::Checkpoint),
        Store::Objects => read(value, Row::Object),
        Store::Writes => read(value, Row::Write),
        Store::Streams => read(value, Row::Stream),
    }
}

/// A key as IndexedDB takes it.
pub(super) fn key(key: &Key) -> JsValue {
    array(&key.pieces, None).into()
}

/// A key of a store; `None` for one that this library never writes.
pub(super) fn read_key(store: Store, value: &JsValue) -> Option<Key> {
    let pieces = value.dyn_ref::<Array>()?.iter();
    let pieces: Option<Vec<Piece>> = pieces.map(|piece| read_piece(&piece)).collect();
    Some(Key { store, pieces: pieces? })
}

fn read_piece(value: &JsValue) -> Option<Piece> {
    if let Some(text) = value.as_string() {
        return Some(Piece::Text(text));
    }
    // A safe integer is exact in both types.
    #[allow(clippy::cast_possible_truncation)]
    let number = Number::is_safe_integer(value).then(|| value.as_f64()).flatten()? as i64;
    Some(Piece::Number(number))
}

/// Some key in words, whoever wrote it.
pub(super) fn key_in_words(store: Store, value: &JsValue) -> String {
    match read_key(store, value) {
        Some(key) => key.to_string(),
        None => format!("{} with a key that is none of this library", store.name()),
    }
}

/// A range as IndexedDB takes it; `None` for one that holds nothing, which IndexedDB would refuse with an exception.
///
/// # Errors
/// What the browser threw.
pub(super) fn range(range: &Range) -> std::result::Result<Option<KeyRange>, Thrown> {
    let number = |n: u32| JsValue::from(n);
    let (lower, upper, open) = match (range.from, range.to) {
        // Arrays sort after everything else, so `[]` in the next place is above every key that begins with the prefix.
        (None, None) => (None, Array::new().into(), false),
        (from, Some(to)) if from.unwrap_or(0) >= to => return Ok(None),
        (from, Some(to)) => (Some(number(from.unwrap_or(0))), number(to), true),
        // Strings sort after all numbers.
        (Some(from), None) => (Some(number(from)), JsValue::from_str(""), true),
    };
    let lower = array(&range.prefix, lower);
    let upper = array(&range.prefix, Some(upper));
    KeyRange::bound(&lower, &upper, Some(false), Some(open)).map(Some).map_err(Thrown::from)
}

fn array(pieces: &[Piece], last: Option<JsValue>) -> Array {
    pieces
        .iter()
        .map(|piece| match piece {
            // Every number in a key is a 32-bit one, which is exact.
            #[allow(clippy::cast_precision_loss)]
            Piece::Number(number) => JsValue::from_f64(*number as f64),
            Piece::Text(text) => JsValue::from_str(text),
        })
        .chain(last)
        .collect()
}
