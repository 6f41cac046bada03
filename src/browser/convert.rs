//! Rust values as JavaScript ones and back: structs and maps as plain objects, bytes as `Uint8Array`, absent values as
//! `undefined`, 64-bit numbers as numbers.

use serde::{Serialize, de::DeserializeOwned};
use serde_wasm_bindgen::{Error, Serializer};
use wasm_bindgen::JsValue;

/// The one serializer.
const SERIALIZER: Serializer = Serializer::new().serialize_maps_as_objects(true);

/// Makes a JavaScript value of a Rust one.
///
/// # Errors
/// For a number that JavaScript has not.
pub fn to_js(value: &(impl Serialize + ?Sized)) -> Result<JsValue, Error> {
    value.serialize(&SERIALIZER)
}

/// Makes a Rust value of a JavaScript one.
///
/// # Errors
/// When it has not the shape.
pub fn from_js<A: DeserializeOwned>(value: JsValue) -> Result<A, Error> {
    serde_wasm_bindgen::from_value(value)
}
