//! The cure for a database that had a fault.
//!
//! Chromium's LevelDB goes on writing behind a torn record of its log; a later session then finds the damage and throws
//! the whole database away, what was acknowledged included. It starts a new log when its buffer of 4 MB is full, so
//! writing and deleting that much makes all that follows independent of the old log, and doing so twice waits until the old
//! one has been put away: it starts no second log before. (Measured: with it nothing was lost
//! after 242 kills, torn logs and full disks, without it most were lost after the latter two.) Other browsers keep no such
//! log: there a single record shows that the database takes writes again.

use std::rc::Rc;

use idb::KeyRange;
use js_sys::{Array, Reflect, Uint8Array};
use wasm_bindgen::JsValue;

use super::Durability;
use super::bindings::{global, property};
use super::connection::Connection;
use super::error::{Thrown, aborted, lost, refused, timed_out};
use super::transaction::{End, Transaction};
use crate::codec::key::Store;
use crate::error::{Code, Error, Result};
use crate::store::Access;

/// Bytes of a filler record: below the 64 KB above which Chromium puts values into files of their own.
const PIECE: usize = 48 * 1024;
/// How many there are: more than 4 MB together.
const PIECES: u32 = 96;

/// Whether this browser has such a log: only Chromium tells what its databases have lost, because only its are thrown away.
#[must_use]
pub fn rotates() -> bool {
    let event = global("IDBVersionChangeEvent").and_then(|event| property(&event, "prototype"));
    event.is_some_and(|event| Reflect::has(&event, &"dataLoss".into()).unwrap_or(false))
}

/// Makes the database start a new log.
///
/// # Errors
/// `QuotaExceeded` on a full disk, and whatever else ends a transaction.
pub(super) async fn heal(connection: &Rc<Connection>, patience: u32) -> Result<()> {
    let mut bytes = vec![0; PIECE];
    // Random, so that it does not shrink on its way.
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(Code::Unavailable, "healing the database needs random numbers").caused_by(error.to_string())
    })?;
    let filler = Uint8Array::from(bytes.as_slice()).into();
    let (rounds, pieces) = if rotates() { (2, PIECES) } else { (1, 1) };
    for _ in 0..rounds {
        commit(connection, patience, |transaction| {
            let store = transaction.store(Store::Meta)?;
            for n in 0..pieces {
                store.put(&filler, Some(&key(Some(n.into()))))?;
            }
            Ok(())
        })
        .await?;
        commit(connection, patience, |transaction| {
            let all = KeyRange::bound(&key(None), &key(Some(Array::new().into())), None, None)?;
            transaction.store(Store::Meta)?.delete(all)?;
            Ok(())
        })
        .await?;
    }
    Ok(())
}

fn key(last: Option<JsValue>) -> JsValue {
    std::iter::once(JsValue::from_str("filler")).chain(last).collect::<Array>().into()
}

async fn commit(
    connection: &Rc<Connection>,
    patience: u32,
    send: impl FnOnce(&Transaction) -> Result<(), Thrown>,
) -> Result<()> {
    let threw = |thrown: Thrown| refused("healing the database", &thrown);
    let access = Access::write(&[Store::Meta]);
    let transaction = Transaction::begin(connection, access, Durability::Strict, patience).map_err(threw)?;
    transaction.start_writing();
    send(&transaction).map_err(threw)?;
    match transaction.ended().await {
        End::Complete => Ok(()),
        End::Aborted(reason) => Err(aborted(reason.as_ref())),
        End::Lost(why) => Err(lost(&why, true)),
        End::TimedOut => Err(timed_out("healing the database was given up")),
    }
}
