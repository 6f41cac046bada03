//! The storage port over IndexedDB: one command is one transaction.

use std::rc::Rc;

use super::connection::Connection;
use super::error::{Thrown, aborted, lost, refused, timed_out};
use super::guess;
use super::handle::{Handle, stores};
use super::heal::{heal, rotates};
use super::reads::{self, Stop, check};
use super::text::JsText;
use super::transaction::{End, Transaction};
use super::{Durability, OpenOptions, open, value};
use crate::codec::key::Key;
use crate::error::{Code, Error, Result};
use crate::store::{Access, Guess, Level, Op, Pause, Step, Storage, View};

/// A store in IndexedDB. Clones share it. It is closed by [`IndexedDbStorage::close`], or when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct IndexedDbStorage(Rc<Handle>);

impl IndexedDbStorage {
    /// Opens a database, making or upgrading it where needed. Waits for a store of the same name that is being closed.
    ///
    /// # Errors
    /// `Unavailable` where the page has no usable IndexedDB, `Blocked` by another tab, `TimedOut`, `QuotaExceeded`,
    /// `SchemaTooNew` or `SchemaMismatch`; in all cases what was there is left untouched.
    pub async fn open(options: OpenOptions) -> Result<Self> {
        for other in stores(&options.name) {
            if other.is_closing() {
                other.close().await;
            }
        }
        let handle = Handle::new(options);
        handle.connect().await?;
        handle.watch();
        Ok(IndexedDbStorage(handle))
    }

    /// Closes it, once every running command has ended. From the call on, every new command fails with `Closed`.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// What is known of data that is gone: Chromium found the database damaged and made an empty one, or it was deleted
    /// while it was open here. `None` is no proof: see the witness.
    #[must_use]
    pub fn data_lost(&self) -> Option<String> {
        self.0.data_lost.borrow().clone()
    }

    /// Why the database is not trusted: it had a fault (an I/O error, a forced close, lost data), and how many there were.
    /// Until it is healed, nothing it acknowledges counts as being on the disk.
    #[must_use]
    pub fn suspicion(&self) -> Option<(&'static str, u32)> {
        self.0.suspicion()
    }

    /// Says that it had a fault which only the caller can know of, such as a last session that did not end well.
    pub fn distrust(&self, reason: &'static str) {
        self.0.distrust(reason);
    }

    /// Says that another tab has healed it of so many faults. A further one counts all the same.
    pub fn trust(&self, faults: u32) {
        self.0.trust(faults);
    }

    /// Cures it. In Chromium that writes and deletes nine megabytes, after which what comes is independent of what was
    /// damaged, and takes some tenths of a second.
    ///
    /// # Errors
    /// As every command that writes; it stays suspect then, and after a further fault.
    pub async fn heal(&self) -> Result<()> {
        let _running = self.0.enter()?;
        let faults = self.0.suspicion().map_or(0, |(_, faults)| faults);
        let connection = self.0.connect().await?;
        heal(&connection, self.0.patience.get()).await?;
        self.trust(faults);
        Ok(())
    }

    /// Sends writes in the last instant of a page, of which it will not hear any more. They may be lost.
    pub fn send_off(&self, access: Access, writes: &[Op<JsText>]) {
        let Some(connection) = self.0.current() else { return };
        let begun = Transaction::begin(&connection, access, Durability::Relaxed, self.0.patience.get());
        if let Ok(transaction) = begun
            && writes.iter().all(|op| write(&transaction, access, op).is_ok())
        {
            transaction.send_off();
        }
    }

    /// Sets how long a command may wait for the browser before it fails with `TimedOut`. A minute, unless set.
    pub fn set_patience(&self, milliseconds: u32) {
        self.0.patience.set(milliseconds);
    }
}

/// Deletes a database. Stores of that name in this page are closed first. It needs no successful open before, and works
/// when the disk is full.
///
/// # Errors
/// `Blocked` when another tab does not let go until the deadline (the browser deletes it as soon as it does), `TimedOut`,
/// `Unavailable`.
pub async fn delete_database(options: &OpenOptions) -> Result<()> {
    for store in stores(&options.name) {
        store.close().await;
    }
    open::delete(options).await
}

impl Storage for IndexedDbStorage {
    type Text = JsText;

    async fn transact(&self, access: Access, guess: &[Guess<JsText>], step: &mut Step<'_, JsText>) -> Result<()> {
        let handle = &self.0;
        let _running = handle.enter()?;
        if !guess.is_empty()
            && let Some(done) = guess::commit(handle, access, guess, step).await
        {
            return done;
        }
        let mut may_repeat = true;
        loop {
            let connection = handle.connect().await?;
            let failure = match attempt(handle, &connection, access, step).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if failure.is_dead {
                handle.forget(&connection, &failure.error.message);
            }
            // On a dead connection and with no write sent, the command can be given again as if for the first time.
            if !(failure.is_dead && failure.is_unsent && std::mem::take(&mut may_repeat)) {
                return Err(failure.error);
            }
        }
    }

    fn level(&self) -> Level {
        if self.0.suspicion().is_some() { Level::Os } else { self.0.level.get() }
    }
}

/// Why an attempt failed, and what that says of its connection.
pub(super) struct Failure {
    pub(super) error: Error,
    /// The connection cannot be used any more.
    pub(super) is_dead: bool,
    /// No write was sent.
    is_unsent: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, is_dead: false, is_unsent: true }
    }
}

/// Runs a command in one transaction. Between the answers and the writes nothing is awaited, and whatever leaves early
/// drops the transaction, which aborts it.
async fn attempt(
    handle: &Handle,
    connection: &Rc<Connection>,
    access: Access,
    step: &mut Step<'_, JsText>,
) -> Result<(), Failure> {
    let durability = handle.options.durability;
    let transaction = Transaction::begin(connection, access, durability, handle.patience.get())
        .map_err(|thrown| not_begun(&thrown))?;
    if access.write {
        handle.level.set(open::level(durability, transaction.durability().as_deref()));
    }
    let view = View::default();
    let writes = loop {
        match step(&view) {
            Ok(writes) => break writes,
            Err(Pause::Fail(error)) => return Err(error.into()),
            Err(Pause::Need(requests)) if requests.is_empty() => {
                return Err(Error::new(Code::Internal, "a command stopped without saying what it needs").into());
            }
            Err(Pause::Need(requests)) => match reads::read(&transaction, access, requests).await {
                Ok(answers) => answers.into_iter().for_each(|(request, answer)| view.learn(request, answer)),
                Err(stop) => return Err(stopped(handle, &transaction, stop, false).await),
            },
        }
    };
    if writes.is_empty() {
        transaction.release();
        return Ok(());
    }
    if !access.write {
        return Err(Error::new(Code::Internal, "a reading command planned a write").into());
    }
    let moved = match reads::stored(&transaction, access, &writes).await {
        Ok(moved) => moved,
        Err(stop) => return Err(stopped(handle, &transaction, stop, false).await),
    };
    transaction.start_writing();
    for op in &writes {
        let sent = match op {
            Op::Move(from, to) => transfer(&transaction, access, from, to, &moved),
            _ => write(&transaction, access, op),
        };
        if let Err(stop) = sent {
            return Err(stopped(handle, &transaction, stop, true).await);
        }
    }
    match transaction.ended().await {
        End::Complete => Ok(()),
        end => Err(unfinished(handle, &transaction, end, true)),
    }
}

/// Sends the move of a row whose stored value was read before.
fn transfer(
    transaction: &Transaction,
    access: Access,
    from: &Key,
    to: &Key,
    moved: &reads::Stored,
) -> Result<(), Stop> {
    check(access, to.store)?;
    let Some(value) = moved.get(from) else { return Ok(()) };
    let threw = |thrown: Thrown| Stop::Threw(format!("the record {to}"), thrown);
    let store = transaction.store(to.store).map_err(threw)?;
    store.put(value, Some(&value::key(to))).map_err(|error| threw(error.into()))?;
    write(transaction, access, &Op::Delete(from.clone()))
}

/// Sends one write. A move is none: it needs what is stored.
pub(super) fn write(transaction: &Transaction, access: Access, op: &Op<JsText>) -> Result<(), Stop> {
    let threw = |key: &Key| {
        let what = format!("the record {key}");
        move |thrown| Stop::Threw(what, thrown)
    };
    match op {
        Op::Put(key, row) => {
            check(access, key.store)?;
            let value = value::encode(key, row)?;
            let store = transaction.store(key.store).map_err(threw(key))?;
            store.put(&value, Some(&value::key(key))).map_err(|error| threw(key)(error.into()))?;
        }
        Op::Delete(key) => {
            check(access, key.store)?;
            let store = transaction.store(key.store).map_err(threw(key))?;
            store.delete(value::key(key)).map_err(|error| threw(key)(error.into()))?;
        }
        Op::DeleteRange(range) => {
            check(access, range.store)?;
            let threw = |thrown| Stop::Threw(format!("deleting records of {}", range.store.name()), thrown);
            if let Some(query) = value::range(range).map_err(threw)? {
                let store = transaction.store(range.store).map_err(threw)?;
                store.delete(query).map_err(|error| threw(error.into()))?;
            }
        }
        Op::Move(..) => {}
    }
    Ok(())
}

/// `transaction()` threw.
fn not_begun(thrown: &Thrown) -> Failure {
    if thrown.is_dead_handle() {
        return Failure {
            error: lost(&thrown.cause(), false).caused_by(thrown.cause()),
            is_dead: true,
            is_unsent: true,
        };
    }
    if thrown.is(&["NotFoundError"]) {
        let message = "the database lacks a store that its version should have; delete it, or use another name";
        return Error::new(Code::SchemaMismatch, message).caused_by(thrown.cause()).into();
    }
    refused("opening a transaction", thrown).into()
}

/// A command stopped before its end. When this returns, the transaction has ended.
async fn stopped(handle: &Handle, transaction: &Transaction, stop: Stop, sent: bool) -> Failure {
    let (what, thrown) = match stop {
        Stop::Ended(end) => return unfinished(handle, transaction, end, sent),
        Stop::Failed(error) => {
            if transaction.abort() {
                transaction.ended().await;
            }
            return error.into();
        }
        Stop::Threw(what, thrown) => (what, thrown),
    };
    // A request that throws aborts nothing by itself: the writes before it would be committed.
    let is_ours = transaction.abort();
    let end = transaction.ended().await;
    // Aborted before we could: the exception is only an echo of that.
    if !is_ours {
        return unfinished(handle, transaction, end, sent);
    }
    Failure { error: refused(&what, &thrown), is_dead: thrown.is_dead_handle(), is_unsent: !sent }
}

/// The transaction ended without being committed by us.
pub(super) fn unfinished(handle: &Handle, transaction: &Transaction, end: End, sent: bool) -> Failure {
    match end {
        End::Aborted(reason) => {
            // WebKit gives no reason where the disk is full. An abort of our own does not come here.
            let is_fault = reason.as_ref().map_or(sent && !rotates(), Thrown::is_fault);
            if is_fault {
                handle.fault("an I/O error");
            }
            let is_full = reason.as_ref().is_some_and(Thrown::is_full);
            let is_dead = match &reason {
                Some(reason) => {
                    !is_full && (is_fault || reason.is_dead_handle() || (!sent && reason.is(&["AbortError"])))
                }
                None => !sent,
            };
            Failure { error: aborted(reason.as_ref()), is_dead, is_unsent: !sent }
        }
        End::Lost(why) => Failure { error: lost(&why, sent), is_dead: true, is_unsent: !sent },
        // Once its writes are sent, an abort may come too late, and nobody can say what has become of them.
        End::TimedOut if sent && !transaction.abort() => {
            Failure { error: lost("it did not answer in time", true), is_dead: true, is_unsent: false }
        }
        End::TimedOut => {
            let error = timed_out("the command was given up and nothing of it was written");
            Failure { error, is_dead: true, is_unsent: false }
        }
        // Ended as it should, but before its time: the browser committed it while it was still reading.
        End::Complete => {
            let message = "the browser ended a transaction that was still reading; nothing of it was written";
            Error::new(Code::Internal, message).into()
        }
    }
}
