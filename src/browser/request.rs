//! Requests to open or delete a database: the events they can bring, and what happens when nobody waits any more.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{IdbDatabase, IdbOpenDbRequest, IdbRequest, IdbTransaction};

use super::bindings::property;
use super::clock::after;
use super::error::Thrown;
use super::signal::Signal;
use super::transaction::error_of;
use crate::error::Error;

/// What became of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was done.
    Done,
    /// The upgrade refused to go on, and nothing of it is left.
    Refused(Error),
    /// The browser failed.
    Failed(Thrown),
    /// Another connection is in the way, and the deadline is over.
    Blocked,
    /// The browser was silent until the deadline.
    Silent,
}

/// An upgrade that the browser asks for.
#[derive(Debug)]
pub(super) struct Upgrade {
    /// The connection.
    pub(super) database: IdbDatabase,
    /// Its transaction.
    pub(super) transaction: IdbTransaction,
    /// The version before; 0 when the database is new.
    pub(super) old: u32,
    /// Chromium's report that it found the database damaged and made an empty one.
    pub(super) data_loss: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    done: RefCell<Option<Result<(), Thrown>>>,
    refused: RefCell<Option<Error>>,
    // The request itself only says `AbortError`.
    upgrade_failed: RefCell<Option<Thrown>>,
    on_abort: RefCell<Option<EventListener>>,
    blocked: Cell<bool>,
    late: Cell<bool>,
    signal: Signal,
}

/// A request on its way. When it is dropped unanswered, a connection that comes later is closed at once and an upgrade
/// that comes later is aborted: nothing stays open that nobody holds.
#[derive(Debug)]
pub(super) struct Opening {
    raw: IdbOpenDbRequest,
    state: Rc<State>,
    listeners: Vec<EventListener>,
}

impl Opening {
    /// Follows a request that was just made.
    pub(super) fn follow(
        raw: IdbOpenDbRequest,
        on_blocked: impl Fn() + 'static,
        mut on_upgrade: impl FnMut(&Upgrade) -> Result<(), Error> + 'static,
    ) -> Self {
        let state = Rc::new(State::default());
        let settled = || {
            let (raw, state) = (raw.clone(), state.clone());
            move |event: &web_sys::Event| {
                let failed = (event.type_() == "error").then(|| error_of(&raw)).flatten();
                state.done.replace(Some(failed.map_or(Ok(()), Err)));
                state.signal.notify();
            }
        };
        let listeners = vec![
            EventListener::new(&raw, "success", settled()),
            EventListener::new(&raw, "error", settled()),
            EventListener::new(&raw, "blocked", {
                let state = state.clone();
                move |_| {
                    state.blocked.set(true);
                    on_blocked();
                }
            }),
            EventListener::new(&raw, "upgradeneeded", {
                let (raw, state) = (raw.clone(), state.clone());
                move |event| {
                    let Some(upgrade) = Upgrade::of(&raw, event) else { return };
                    let (reason, aborting) = (Rc::downgrade(&state), upgrade.transaction.clone());
                    state.on_abort.replace(Some(EventListener::once(&upgrade.transaction, "abort", move |_| {
                        if let Some(state) = reason.upgrade() {
                            state.upgrade_failed.replace(aborting.error().map(Thrown::from));
                        }
                    })));
                    if let Err(error) = on_upgrade(&upgrade) {
                        state.refused.replace(Some(error));
                        let _ = upgrade.transaction.abort();
                    }
                }
            }),
        ];
        Opening { raw, state, listeners }
    }

    /// Waits for the outcome.
    pub(super) async fn outcome(&self, deadline: u32) -> Outcome {
        let _timer = after(deadline, {
            let state = self.state.clone();
            move || {
                state.late.set(true);
                state.signal.notify();
            }
        });
        let state = &self.state;
        let done = state
            .signal
            .until(|| state.done.borrow().clone().map(Some).or_else(|| state.late.get().then_some(None)))
            .await;
        match done {
            Some(Ok(())) => Outcome::Done,
            Some(Err(thrown)) => match state.refused.take() {
                Some(error) => Outcome::Refused(error),
                None => Outcome::Failed(state.upgrade_failed.take().unwrap_or(thrown)),
            },
            None if state.blocked.get() => Outcome::Blocked,
            None => Outcome::Silent,
        }
    }

    /// The connection that was opened.
    pub(super) fn database(&self) -> Option<IdbDatabase> {
        self.raw.result().ok()?.dyn_into().ok()
    }
}

impl Upgrade {
    fn of(raw: &IdbOpenDbRequest, event: &web_sys::Event) -> Option<Self> {
        let old = property(event, "oldVersion").and_then(|version| version.as_f64()).unwrap_or(0.0);
        let lost = property(event, "dataLoss").and_then(|loss| loss.as_string()).filter(|loss| loss != "none");
        let words = property(event, "dataLossMessage").and_then(|words| words.as_string()).unwrap_or_default();
        Some(Upgrade {
            database: raw.result().ok()?.dyn_into().ok()?,
            transaction: raw.transaction()?,
            // The cast saturates.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            old: old as u32,
            data_loss: lost.map(|loss| format!("{loss}: {words}")),
        })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.listeners.clear();
        if self.state.done.borrow().is_some() {
            return;
        }
        EventListener::once(&self.raw, "success", |event| {
            let database =
                event.target().and_then(|it| it.dyn_into::<IdbRequest>().ok()).and_then(|it| it.result().ok());
            if let Some(database) = database.and_then(|it| it.dyn_into::<IdbDatabase>().ok()) {
                database.close();
            }
        })
        .forget();
        EventListener::once(&self.raw, "upgradeneeded", |event| {
            let transaction =
                event.target().and_then(|it| it.dyn_into::<IdbRequest>().ok()).and_then(|it| it.transaction());
            if let Some(transaction) = transaction {
                let _ = transaction.abort();
            }
        })
        .forget();
    }
}
