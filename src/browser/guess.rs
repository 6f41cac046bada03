//! Writes planned on a guess. A turn reads one row, the head, and a read is a round trip to the browser's process; where the
//! head is believed to be known, the writes go with the read, and the transaction is aborted if the belief was wrong.

use std::rc::Rc;

use js_sys::{JSON, JsString};
use wasm_bindgen::JsValue;

use super::connection::Connection;
use super::handle::Handle;
use super::open;
use super::reads::{ask_row, brought};
use super::storage::{unfinished, write};
use super::text::JsText;
use super::transaction::{End, Transaction};
use super::value;
use crate::error::{Code, Error, Result};
use crate::store::{Access, Answer, Guess, Read, Request, Step, View};

/// Commits a command's writes if the guess they were planned on holds. `None`: nothing was written, and the command must go
/// the long way, which also finds out what is wrong where something is.
pub(super) async fn commit(
    handle: &Rc<Handle>,
    access: Access,
    guess: &[Guess<JsText>],
    step: &mut Step<'_, JsText>,
) -> Option<Result<()>> {
    let connection = handle.connect().await.ok()?;
    let durability = handle.options.durability;
    // Dropped on the way out, it is aborted.
    let transaction = Transaction::begin(&connection, access, durability, handle.patience.get()).ok()?;
    handle.level.set(open::level(durability, transaction.durability().as_deref()));
    let asked: Vec<_> = guess.iter().map(|(key, _)| ask_row(&transaction, key)).collect::<Result<_, _>>().ok()?;
    let last = asked.last()?;
    // The plan is made while the browser reads.
    let view = View::default();
    for (key, row) in guess {
        view.learn(Request::Row(key.clone()), Answer::Row(Some(Read::Row(row.clone()))));
    }
    let writes = step(&view).ok().filter(|writes| !writes.is_empty())?;
    transaction.start_writing();
    for op in &writes {
        if write(&transaction, access, op).is_err() {
            transaction.abort();
            return give_up(&transaction).await;
        }
    }
    let believed: Vec<_> =
        guess.iter().map(|(key, row)| value::encode(key, row).ok().and_then(|row| text(&row))).collect();
    match transaction.answered(last).await {
        Ok(()) => {}
        Err(end) => {
            let is_undone = matches!(end, End::Aborted(_));
            let failed = failed(handle, &connection, &transaction, end);
            return (!is_undone).then_some(Err(failed));
        }
    }
    let holds =
        asked.iter().zip(&believed).all(|(raw, row)| row.is_some() && brought(raw).and_then(|raw| text(&raw)) == *row);
    if !holds {
        // The answers to the writes come after this one, so the browser cannot have begun to commit.
        if !transaction.abort() {
            return Some(Err(Error::new(
                Code::Internal,
                "the browser would not abort a transaction that was still running",
            )));
        }
        return give_up(&transaction).await;
    }
    match transaction.ended().await {
        End::Complete => Some(Ok(())),
        end => Some(Err(failed(handle, &connection, &transaction, end))),
    }
}

/// A row as a text. Equal texts are equal rows, for all that rows hold; it is compared so because the browser waits
/// with its commit until that is done.
fn text(row: &JsValue) -> Option<JsString> {
    JSON::stringify(row).ok()
}

/// Waits for the end of a transaction that was aborted.
async fn give_up(transaction: &Transaction) -> Option<Result<()>> {
    match transaction.ended().await {
        End::Complete => Some(Err(Error::new(Code::Internal, "a transaction that was aborted has committed"))),
        _ => None,
    }
}

/// What to tell of a transaction that ended without being committed by us. A dead connection is not used again.
fn failed(handle: &Rc<Handle>, connection: &Rc<Connection>, transaction: &Transaction, end: End) -> Error {
    let failure = unfinished(handle, transaction, end, true);
    if failure.is_dead {
        handle.forget(connection, &failure.error.message);
    }
    failure.error
}
