//! What browsers throw and abort with, as plain data and then as our own errors.

use wasm_bindgen::JsValue;
use web_sys::DomException;

use super::bindings::property;
use super::heal::rotates;
use crate::error::{Code, Error};

/// Names by which browsers say that a page may not use IndexedDB, which asking again does not change.
pub(super) const REFUSALS: [&str; 4] = ["SecurityError", "InvalidStateError", "NotSupportedError", "TypeError"];

/// Something a browser threw, or gave as the reason of an abort: its name and text, and nothing that is tied to a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thrown {
    /// The error's name. Names are compared, never classes: `QuotaExceededError` has become a class of its own.
    pub(super) name: String,
    /// Its text. Engines change these, so only what has no name of its own is told by it.
    pub(super) message: String,
}

impl Thrown {
    /// Reads any thrown value.
    pub(super) fn of(value: &JsValue) -> Self {
        let field = |name| property(value, name).and_then(|field| field.as_string());
        match field("name") {
            Some(name) => Thrown { name, message: field("message").unwrap_or_default() },
            None => Thrown { name: "Error".into(), message: value.as_string().unwrap_or_default() },
        }
    }

    /// Whether the name is one of these.
    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.as_bytes();
        let says = |word: &str| message.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
        words.iter().any(|word| says(word))
    }

    /// The disk or the quota is full. LevelDB and WebKit say so only in the text of an `UnknownError`.
    pub(super) fn is_full(&self) -> bool {
        self.is(&["QuotaExceededError", "NS_ERROR_DOM_INDEXEDDB_QUOTA_ERR"])
            || self.is(&["UnknownError", "AbortError"])
                && self.says(&["no_space", "no space", "enospc", "disk", "quota", "not enough space"])
    }

    /// The disk has failed, or is full. A quota that is used up harms nothing; where the name is the same for both, the cure is cheap.
    pub(super) fn is_fault(&self) -> bool {
        self.is(&["UnknownError"]) || self.is(&["QuotaExceededError"]) && (!rotates() || self.says(&["disk"]))
    }

    /// The handle is dead, whatever is tried with it; another connection may work.
    pub(super) fn is_dead_handle(&self) -> bool {
        self.is(&["InvalidStateError"])
            || self.says(&[
                "connection is closing",
                "connection is closed",
                "connection was closed",
                "in-progress transaction",
                "indexed database server lost",
            ])
    }

    /// Name and text, as an error's cause.
    pub(super) fn cause(&self) -> String {
        if self.message.is_empty() { self.name.clone() } else { format!("{}: {}", self.name, self.message) }
    }
}

impl From<DomException> for Thrown {
    fn from(exception: DomException) -> Self {
        Thrown { name: exception.name(), message: exception.message() }
    }
}

impl From<JsValue> for Thrown {
    fn from(value: JsValue) -> Self {
        Thrown::of(&value)
    }
}

impl From<idb::Error> for Thrown {
    fn from(error: idb::Error) -> Self {
        use idb::Error as E;
        match error {
            E::DeleteFailed(value)
            | E::GetAllKeysFailed(value)
            | E::GetFailed(value)
            | E::IndexCreateFailed(value)
            | E::IndexNotFound(value)
            | E::IndexedDbDeleteFailed(value)
            | E::IndexedDbNotFound(value)
            | E::IndexedDbOpenFailed(value)
            | E::KeyPathNotFound(value)
            | E::KeyRangeCreateFailed(value)
            | E::ObjectStoreCreateFailed(value)
            | E::ObjectStoreNotFound(value)
            | E::UpdateFailed(value) => Thrown::of(&value),
            // Of requests that are not made here. Their texts would be loaded by every page.
            _ => Thrown { name: "Error".into(), message: "the request was refused".into() },
        }
    }
}

fn full(thrown: &Thrown) -> Error {
    Error::new(
        Code::QuotaExceeded,
        "the disk or this site's storage quota is full; nothing of this command was written. Pruning and deleting still work",
    )
    .caused_by(thrown.cause())
}

/// A transaction that ended in an abort which this library did not ask for. Nothing of it was written.
pub(super) fn aborted(reason: Option<&Thrown>) -> Error {
    let Some(reason) = reason else {
        return Error::new(
            Code::Aborted,
            "the browser aborted the transaction and gave no reason; nothing of it was written. Where a reason is missing the disk is usually full",
        );
    };
    if reason.is_full() {
        return full(reason);
    }
    let error = if reason.is(&["ConstraintError"]) {
        Error::new(Code::AlreadyExists, "a checkpoint with that id exists already; nothing of this command was written")
    } else if reason.is(&["AbortError"]) {
        Error::new(
            Code::Aborted,
            "the transaction was aborted; nothing of it was written. The command can be given again",
        )
    } else {
        Error::new(
            Code::Aborted,
            "the browser could not store the transaction and aborted it; nothing of it was written",
        )
    };
    error.caused_by(reason.cause())
}

/// A request that the browser refused with an exception, after which the transaction was aborted.
pub(super) fn refused(what: &str, thrown: &Thrown) -> Error {
    if thrown.is_full() {
        return full(thrown);
    }
    let (code, why) = if thrown.is(&["DataCloneError", "RangeError"]) {
        (Code::NotStorable, "holds something the browser cannot store")
    } else if thrown.says(&["too large"]) {
        (Code::TooLarge, "is larger than the browser stores")
    } else if thrown.is_dead_handle() {
        (Code::ConnectionLost, "met a connection that the browser has closed")
    } else if thrown.is(&["TransactionInactiveError"]) {
        (Code::Aborted, "came when the browser had ended the transaction")
    } else {
        (Code::Internal, "was refused by the browser")
    };
    Error::new(code, format!("{what} {why}; nothing of this command was written")).caused_by(thrown.cause())
}

/// The connection went away under a command.
pub(super) fn lost(why: &str, sent: bool) -> Error {
    let after = if sent {
        "whether this command was saved is not known: read before giving it again"
    } else {
        "nothing of this command was written"
    };
    Error::new(Code::ConnectionLost, format!("the browser closed the connection to the database ({why}); {after}"))
}

/// The database is left alone because the disk is full.
pub(super) fn no_room(name: &str) -> Error {
    let message = format!(
        "the disk is full: the database \"{name}\" is not opened again before some megabytes are free, because the browser might throw it away"
    );
    Error::new(Code::QuotaExceeded, message)
}

/// The browser has not answered.
pub(super) fn timed_out(what: &str) -> Error {
    Error::new(Code::TimedOut, format!("the browser did not answer in time: {what}"))
}

/// The store was closed by its owner.
pub(super) fn closed(name: &str) -> Error {
    Error::new(Code::Closed, format!("the store \"{name}\" was closed; open it again"))
}

/// Opening failed for good.
pub(super) fn opening(name: &str, thrown: &Thrown) -> Error {
    if thrown.is_full() {
        let message = format!(
            "the database \"{name}\" cannot be opened because the disk or this site's storage quota is full; free some space"
        );
        return Error::new(Code::QuotaExceeded, message).caused_by(thrown.cause());
    }
    let why = if thrown.is(&REFUSALS) {
        "this page may not use IndexedDB (a private window, blocked site data, or a sandboxed frame). Allow site data for it, or use the memory backend"
    } else {
        "the browser failed to open it, also when asked again. Reload the page; if that does not help restart the browser"
    };
    Error::new(Code::Unavailable, format!("the database \"{name}\" cannot be used: {why}")).caused_by(thrown.cause())
}

/// There is no IndexedDB.
pub(super) fn missing(name: &str, thrown: &Thrown) -> Error {
    if thrown.is(&["SecurityError"]) {
        return opening(name, thrown);
    }
    Error::new(
        Code::Unavailable,
        format!("the database \"{name}\" cannot be used: this page has no IndexedDB. Use the memory backend, or a browser window that keeps site data"),
    )
    .caused_by(thrown.cause())
}
