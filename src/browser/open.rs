//! Opening: the ladder of schema versions, the shape that must come out of it, and every way the browser may refuse.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use idb::{Database, Factory, IndexParams, KeyPath, ObjectStore, ObjectStoreParams};
use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::{IdbDatabase, IdbTransaction};

use super::clock::sleep;
use super::connection::Connection;
use super::error::{REFUSALS, Thrown, missing, opening, timed_out};
use super::request::{Opening, Outcome, Upgrade};
use super::{ConnectionEvent, Durability, OpenOptions, bindings};
use crate::codec::key::Store;
use crate::codec::schema::{self, Change};
use crate::error::{Code, Error, Result};
use crate::model::sorted::Set;
use crate::store::Level;

/// Pauses before an open that failed for no lasting reason is tried again, in milliseconds.
const RETRIES: [u32; 3] = [50, 200, 600];

/// An open database whose shape has been verified.
#[derive(Debug)]
pub(super) struct Opened {
    /// The connection.
    pub(super) connection: Connection,
    /// What its transactions are worth.
    pub(super) level: Level,
    /// Whether this call made the database.
    pub(super) is_new: bool,
    /// Chromium's report that it lost what was there.
    pub(super) data_loss: Option<String>,
}

/// Opens a database, making or upgrading it where needed.
///
/// # Errors
/// `Unavailable`, `QuotaExceeded`, `Blocked`, `TimedOut`, `SchemaTooNew`, `SchemaMismatch` or `Aborted`; the database is
/// left as it was.
pub(super) async fn open(options: &OpenOptions) -> Result<Opened> {
    let name = &options.name;
    let mut pauses = RETRIES.iter();
    let seen = Rc::new(Seen::default());
    loop {
        let thrown = match attempt(options, Some(schema::version()), &seen).await? {
            Attempt::Opened(opened) => return Ok(opened),
            Attempt::Failed(thrown) if thrown.is(&["VersionError"]) => match attempt(options, None, &seen).await? {
                // A newer minor of the same hundred, which this release may read.
                Attempt::Opened(opened) => return Ok(opened),
                Attempt::Failed(thrown) => thrown,
            },
            Attempt::Failed(thrown) => thrown,
        };
        let lasting = thrown.is_full() || thrown.is(&REFUSALS);
        match pauses.next() {
            Some(pause) if !lasting => sleep(*pause).await,
            _ => return Err(opening(name, &thrown)),
        }
    }
}

thread_local! {
    /// Databases with a request that was blocked and may still be waiting in the browser.
    static STUCK: RefCell<Set<String>> = RefCell::default();
}

/// Whether a database is stuck behind a blocked request; first notes that it is, or is not any more.
fn is_stuck(name: &str, note: Option<bool>) -> bool {
    STUCK.with_borrow_mut(|stuck| match note {
        Some(true) => stuck.insert(name.to_owned()),
        Some(false) => !stuck.remove(name),
        None => stuck.contains(name),
    })
}

enum Attempt {
    Opened(Opened),
    Failed(Thrown),
}

/// What the upgrades of one opening told.
#[derive(Default)]
struct Seen {
    is_new: Cell<bool>,
    data_loss: RefCell<Option<String>>,
}

/// Opens at a version or, without one, at the version that is there.
async fn attempt(options: &OpenOptions, version: Option<u32>, seen: &Rc<Seen>) -> Result<Attempt> {
    let name = &options.name;
    let raw = match factory(name)?.open(name, version) {
        Ok(request) => request.into(),
        Err(error) => return Ok(Attempt::Failed(error.into())),
    };
    let request = Opening::follow(raw, tell_blocked(options, "opening"), {
        let (seen, name) = (seen.clone(), name.clone());
        move |upgrade| {
            if version.is_none() {
                // It was deleted since. Left to go on, this would make a database of version 1 without stores.
                let message = format!("the database \"{name}\" was deleted while it was being opened; try again");
                return Err(Error::new(Code::Aborted, message));
            }
            seen.is_new.set(upgrade.old == 0);
            if upgrade.data_loss.is_some() {
                seen.data_loss.replace(upgrade.data_loss.clone());
            }
            climb(&name, upgrade)
        }
    });
    match request.outcome(options.timeout_ms).await {
        Outcome::Done => _ = is_stuck(name, Some(false)),
        Outcome::Refused(error) => return Err(error),
        Outcome::Failed(thrown) => return Ok(Attempt::Failed(thrown)),
        Outcome::Blocked => {
            is_stuck(name, Some(true));
            return Err(blocked(name, "opening"));
        }
        // Behind a request that was blocked, the browser does not even say so again.
        Outcome::Silent if is_stuck(name, None) => {
            tell_blocked(options, "opening")();
            return Err(blocked(name, "opening"));
        }
        Outcome::Silent => {
            return Err(timed_out(&format!(
                "opening the database \"{name}\"; reload the page, or restart the browser"
            )));
        }
    }
    let Some(database) = request.database() else {
        return Err(Error::new(Code::Internal, format!("opening the database \"{name}\" brought no connection")));
    };
    // Dropped, it closes again: when its shape is wrong, and when nobody waits for it.
    let connection = Connection::new(database);
    Ok(match verify(options, &connection.raw)? {
        Ok(level) => {
            let (is_new, data_loss) = (seen.is_new.get(), seen.data_loss.take());
            Attempt::Opened(Opened { connection, level, is_new, data_loss })
        }
        Err(thrown) => Attempt::Failed(thrown),
    })
}

/// Runs every step that the database lacks, in the upgrade's own transaction. After an error that transaction is
/// aborted, so a version is never committed without all of its steps.
fn climb(name: &str, upgrade: &Upgrade) -> Result<()> {
    let database = Database::from(upgrade.database.clone());
    let transaction = &upgrade.transaction;
    let change = |change: &Change| -> Result<(), Thrown> {
        match change {
            Change::CreateStore(store) => {
                database.create_object_store(store.name(), ObjectStoreParams::new())?;
            }
            Change::CreateIndex { store, name, fields, unique } => {
                let store = ObjectStore::from(transaction.object_store(store.name())?);
                let mut params = IndexParams::new();
                params.unique(*unique);
                store.create_index(name, KeyPath::new_array(fields.iter().copied()), Some(params))?;
            }
        }
        Ok(())
    };
    schema::missing(upgrade.old).iter().copied().flatten().try_for_each(change).map_err(|thrown| {
        let what = format!(
            "the database \"{name}\" could not be brought from version {} to {}; it is left as it was",
            upgrade.old,
            schema::version()
        );
        let code = match thrown.name.as_str() {
            _ if thrown.is_full() => Code::QuotaExceeded,
            // What a step makes is there already: another program's database, or a damaged one.
            "ConstraintError" | "NotFoundError" => Code::SchemaMismatch,
            _ => Code::Aborted,
        };
        Error::new(code, what).caused_by(thrown.cause())
    })
}

/// Compares the database with the steps, and reads back which durability its transactions have. The inner error is a
/// connection that died as soon as it was open.
fn verify(options: &OpenOptions, database: &IdbDatabase) -> Result<Result<Level, Thrown>> {
    let name = &options.name;
    // The cast saturates.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let found = database.version() as u32;
    if schema::is_too_new(found) {
        let most = schema::version() + schema::STRIDE - 1;
        let message = format!(
            "the database \"{name}\" has version {found}, written by a newer release; this one reads up to {most}. \
             It is left untouched: reload the page to get the newer release"
        );
        return Err(Error::new(Code::SchemaTooNew, message));
    }
    let wrong = |what: String| {
        let message = format!("the database \"{name}\" of version {found} {what}; delete it, or use another name");
        Error::new(Code::SchemaMismatch, message)
    };
    let names = database.object_store_names();
    if let Some(store) = Store::ALL.iter().find(|store| !names.contains(store.name())) {
        return Err(wrong(format!("has no store \"{}\"", store.name())));
    }
    let stores: Array = Store::ALL.iter().map(|store| JsValue::from_str(store.name())).collect();
    let transaction = match bindings::transaction(database, &stores, false, options.durability) {
        Ok(transaction) => transaction,
        // Not what the exception's own name means when a database is opened.
        Err(thrown) => {
            return Ok(Err(Thrown { name: "UnknownError".into(), message: Thrown::of(&thrown).cause() }));
        }
    };
    match schema::STEPS.iter().copied().flatten().find(|change| !fits(change, &transaction)) {
        Some(change) => Err(wrong(format!("lacks {change}, or has another of that name"))),
        None => Ok(Ok(level(options.durability, bindings::durability(&transaction).as_deref()))),
    }
}

/// Whether what a step makes is there.
fn fits(change: &Change, transaction: &IdbTransaction) -> bool {
    match change {
        Change::CreateStore(store) => transaction
            .object_store(store.name())
            .is_ok_and(|store| !store.auto_increment() && store.key_path().is_ok_and(|path| path.is_null())),
        Change::CreateIndex { store, name, fields, unique } => {
            let index = transaction.object_store(store.name()).and_then(|store| store.index(name));
            index.is_ok_and(|index| {
                let path = index.key_path().ok().and_then(|path| KeyPath::try_from(path).ok());
                let fits = path == Some(KeyPath::new_array(fields.iter().copied()));
                fits && index.unique() == *unique && !index.multi_entry()
            })
        }
    }
}

/// What a transaction is worth: only strict writes that the engine itself calls strict are known to reach the disk.
pub(super) fn level(asked: Durability, real: Option<&str>) -> Level {
    if asked == Durability::Strict && real == Some(asked.word()) { Level::Disk } else { Level::Os }
}

/// Deletes a database that nothing here holds open any more.
///
/// # Errors
/// `Blocked`, `TimedOut`, `Unavailable`, `QuotaExceeded`.
pub(super) async fn delete(options: &OpenOptions) -> Result<()> {
    let name = &options.name;
    let request = factory(name)?.delete(name).map_err(|error| opening(name, &error.into()))?;
    let request = Opening::follow(request.into(), tell_blocked(options, "deleting"), |_| Ok(()));
    match request.outcome(options.timeout_ms).await {
        Outcome::Done => Ok(()),
        Outcome::Refused(error) => Err(error),
        Outcome::Failed(thrown) => Err(opening(name, &thrown)),
        Outcome::Blocked => Err(blocked(name, "deleting")),
        Outcome::Silent => Err(timed_out(&format!("deleting the database \"{name}\"; it may still be deleted later"))),
    }
}

fn factory(name: &str) -> Result<Factory> {
    Factory::new().map_err(|error| missing(name, &error.into()))
}

fn tell_blocked(options: &OpenOptions, doing: &'static str) -> impl Fn() + 'static {
    let (name, on_event) = (options.name.clone(), options.on_event.clone());
    move || {
        if let Some(on_event) = &on_event {
            let message = format!(
                "{doing} the database \"{name}\" waits for another tab that has it open; close that tab or reload it"
            );
            on_event(ConnectionEvent::Blocked { message });
        }
    }
}

fn blocked(name: &str, doing: &str) -> Error {
    let message = format!(
        "{doing} the database \"{name}\" waited too long for another tab that has it open; close that tab, then try again"
    );
    Error::new(Code::Blocked, message)
}
