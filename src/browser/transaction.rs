//! One transaction of IndexedDB, from its opening to the event that ends it.
//!
//! Two things are taken from the transaction and from nothing else: that it has committed (`complete`), and why it has
//! not (`transaction.error`, which is set when `abort` fires and not before). A full disk may be told by `abort` alone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Interval;
use idb::ObjectStore;
use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IdbRequest, IdbTransaction};

use super::Durability;
use super::bindings;
use super::connection::Connection;
use super::error::Thrown;
use super::signal::Signal;
use crate::codec::key::Store;
use crate::store::Access;

/// A transaction is given up after this many ticks of its watchdog. Ticks, because a page that was suspended for an
/// hour sees one late tick, not an hour of them, and its answers may be waiting behind it.
const TICKS: u32 = 6;

/// How a transaction ended.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// Committed.
    Complete,
    /// Aborted, with the browser's reason.
    Aborted(Option<Thrown>),
    /// The connection went away, and this reason is all that is known.
    Lost(String),
    /// The browser has been silent for too long.
    TimedOut,
}

/// What the event handlers of a transaction know of it.
#[derive(Debug, Default)]
pub(super) struct Life {
    end: RefCell<Option<End>>,
    writing: Cell<bool>,
    last: RefCell<Option<IdbRequest>>,
    settled: Cell<bool>,
    signal: Signal,
}

impl Life {
    /// Ends it. What the browser says of the transaction itself counts more than what was concluded without it.
    pub(super) fn end(&self, end: End) {
        let mut current = self.end.borrow_mut();
        if matches!(*current, None | Some(End::Lost(_) | End::TimedOut)) {
            *current = Some(end);
        }
        drop(current);
        self.signal.notify();
    }

    fn settle(&self) {
        self.settled.set(true);
        self.signal.notify();
    }

    /// A failed read would abort the transaction. Where only a record is bad, that is prevented: one record that
    /// cannot be read must not hide the others.
    fn on_error(&self, event: &web_sys::Event) {
        let Some(request) = event.target().and_then(|target| target.dyn_into::<IdbRequest>().ok()) else { return };
        let thrown = error_of(&request);
        let is_record = thrown.is_some_and(|thrown| !thrown.is(&["AbortError"]) && !thrown.is_dead_handle());
        if self.writing.get() || !is_record {
            return;
        }
        event.prevent_default();
        if self.last.borrow().as_ref() == Some(&request) {
            self.settle();
        }
    }
}

/// The error of a request that failed.
pub(super) fn error_of(request: &IdbRequest) -> Option<Thrown> {
    match request.error() {
        Ok(error) => error.map(Thrown::from),
        // It has not been answered.
        Err(thrown) => Some(Thrown::of(&thrown)),
    }
}

/// A running transaction. Dropped before its end, it is aborted: nothing commits half done.
///
/// It is left to commit by itself. An explicit `commit()` saves a few tenths of a millisecond, but after it Firefox (ESR
/// 153, measured) reports `complete` although a write failed, and keeps the other writes; and it could not be aborted
/// any more. Only what a page does in its last instant is committed so.
#[derive(Debug)]
pub(super) struct Transaction {
    raw: IdbTransaction,
    life: Rc<Life>,
    released: bool,
    listeners: Vec<EventListener>,
    _watchdog: Interval,
    // A connection closes when it is dropped, and stays while a transaction runs on it.
    _connection: Rc<Connection>,
}

impl Transaction {
    /// Opens a transaction, to be given up after about `patience` milliseconds.
    ///
    /// # Errors
    /// What the browser threw; nothing was sent then.
    pub(super) fn begin(
        connection: &Rc<Connection>,
        access: Access,
        durability: Durability,
        patience: u32,
    ) -> Result<Self, Thrown> {
        let stores: Array = access.stores.iter().map(|store| JsValue::from_str(store.name())).collect();
        let raw = bindings::transaction(&connection.raw, &stores, access.write, durability)?;
        let life = Rc::new(Life::default());
        connection.adopt(&life);
        let listeners = vec![
            EventListener::new(&raw, "complete", {
                let life = life.clone();
                move |_| life.end(End::Complete)
            }),
            EventListener::new(&raw, "abort", {
                let (life, raw) = (life.clone(), raw.clone());
                move |_| life.end(End::Aborted(raw.error().map(Thrown::from)))
            }),
            EventListener::new_with_options(&raw, "error", EventListenerOptions::enable_prevent_default(), {
                let life = life.clone();
                move |event| life.on_error(event)
            }),
        ];
        let watchdog = Interval::new((patience / TICKS).max(1), {
            let (life, ticks) = (life.clone(), Cell::new(0));
            move || {
                ticks.set(ticks.get() + 1);
                if ticks.get() >= TICKS {
                    life.end(End::TimedOut);
                }
            }
        });
        Ok(Transaction { raw, life, released: false, listeners, _watchdog: watchdog, _connection: connection.clone() })
    }

    /// The durability it really has, where the engine says.
    pub(super) fn durability(&self) -> Option<String> {
        bindings::durability(&self.raw)
    }

    /// One of its stores.
    ///
    /// # Errors
    /// What the browser threw.
    pub(super) fn store(&self, store: Store) -> Result<ObjectStore, Thrown> {
        Ok(self.raw.object_store(store.name()).map_err(Thrown::from)?.into())
    }

    /// Waits for a request and, since a transaction answers in the order it was asked, for all requests before it.
    ///
    /// # Errors
    /// How the transaction ended, when it ended first.
    pub(super) async fn answered(&self, last: &IdbRequest) -> Result<(), End> {
        self.life.settled.set(false);
        self.life.last.replace(Some(last.clone()));
        let _listener = EventListener::once(last, "success", {
            let life = self.life.clone();
            move |_| life.settle()
        });
        self.life
            .signal
            .until(|| if self.life.settled.get() { Some(Ok(())) } else { self.life.end.borrow().clone().map(Err) })
            .await
    }

    /// Says that what follows are writes: from here on every failed request aborts the transaction.
    pub(super) fn start_writing(&self) {
        self.life.writing.set(true);
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) -> End {
        self.life.signal.until(|| self.life.end.borrow().clone()).await
    }

    /// Aborts it; `false` when the browser says that it is too late.
    pub(super) fn abort(&self) -> bool {
        self.raw.abort().is_ok()
    }

    /// Commits it without waiting for the end: the page ends first, which would abort it.
    pub(super) fn send_off(mut self) {
        self.released = bindings::commit(&self.raw);
    }

    /// Lets a transaction that has only read end by itself.
    pub(super) fn release(mut self) {
        self.released = true;
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.listeners.clear();
        let over = matches!(*self.life.end.borrow(), Some(End::Complete | End::Aborted(_)));
        if !self.released && !over {
            self.abort();
        }
    }
}
