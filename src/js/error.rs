//! Errors as plain objects; the package's loader makes its one `Error` subclass of them.

use wasm_bindgen::JsValue;

use super::plain::Plain;
use crate::error::{Branch, Error};

/// An error as the loader expects it.
pub fn to_js(error: &Error) -> JsValue {
    plain(error).into()
}

/// A conflict at the beginning of a turn, with the turn that was begun in the branch.
pub fn begun(error: &Error, turn: JsValue) -> JsValue {
    plain(error).with("begun", turn).into()
}

fn plain(error: &Error) -> Plain {
    let branch = |branch: &Branch| {
        Plain::new().with("sessionId", branch.session.as_str()).with("checkpointId", branch.checkpoint.as_str())
    };
    Plain::new()
        .with("turnmark", true)
        .with("code", error.code.word())
        .with("message", &error.message)
        .maybe("path", error.path.as_ref())
        .maybe("cause", error.cause.as_ref())
        .maybe("branch", error.branch.as_ref().map(branch))
}
