//! Announcements: to this page's listener, and to the other tabs of the same store. Made from one place, after the commit.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::output::{self, Durability};
use super::plain::{Plain, or_null};
use super::storage::AnyStorage;
use crate::browser::{ConnectionEvent, JsText, Record, Tabs, now};
use crate::engine::Event;
use crate::error::Result;
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId};
use crate::model::checkpoint::Checkpoint;
use crate::store::{Level, Storage};

/// A database that was healed.
#[derive(Clone, Debug)]
pub struct Healed {
    /// Why it was not trusted before.
    pub reason: &'static str,
    /// When, in epoch milliseconds.
    pub at: u64,
    /// How long it took.
    pub milliseconds: u32,
}

/// Tells who listens. Never throws: what it tells is committed already.
pub struct Announcer {
    scope: String,
    listener: Rc<Function>,
    tabs: RefCell<Option<Tabs>>,
    name: String,
    storage: OnceCell<AnyStorage>,
    persisted: Rc<Cell<Option<bool>>>,
    connection: Cell<&'static str>,
    lost: RefCell<Option<String>>,
    healed: RefCell<Option<Healed>>,
    view: RefCell<Option<(CheckpointId, JsValue)>>,
}

fn event(kind: &str) -> Plain {
    Plain::new().with("type", kind)
}

fn run_event(kind: &str, session: &SessionId, run: &RunId) -> Plain {
    event(kind).with("sessionId", session.as_str()).with("runId", run.as_str())
}

impl Announcer {
    /// For a scope of a database.
    pub fn new(name: &str, scope: &ScopeId, listener: Function) -> Self {
        Announcer {
            scope: scope.to_string(),
            listener: Rc::new(listener),
            tabs: RefCell::new(None),
            name: name.to_owned(),
            storage: OnceCell::new(),
            persisted: Rc::default(),
            connection: Cell::new("open"),
            lost: RefCell::default(),
            healed: RefCell::default(),
            view: RefCell::default(),
        }
    }

    /// Joins the other tabs, and tells what happened before the store was open.
    pub fn opened(&self, storage: &AnyStorage) {
        drop(self.storage.set(storage.clone()));
        if !storage.is_shared() {
            return;
        }
        let (scope, listener) = (self.scope.clone(), self.listener.clone());
        *self.tabs.borrow_mut() = Some(Tabs::join(&self.name, move |post| {
            let field = |key: &str| Reflect::get(&post, &key.into()).unwrap_or(JsValue::UNDEFINED);
            if field("scope").as_string().as_deref() == Some(&scope) {
                let event: JsValue = field("event");
                if event.is_object() {
                    let event: Record = event.unchecked_into();
                    event.put("origin", &"remote".into());
                    drop(listener.call1(&JsValue::NULL, &event));
                }
            }
        }));
        self.tell_loss();
        let persisted = self.persisted.clone();
        spawn_local(async move {
            if let Some(answer) = ask_persisted()
                && let Ok(answer) = JsFuture::from(answer).await
            {
                persisted.set(answer.as_bool());
            }
        });
    }

    /// The stamp of what is acknowledged now.
    pub fn durability(&self) -> Durability {
        let storage = self.storage.get();
        let level = storage.map_or(Level::Memory, Storage::level).word();
        let mode = storage.and_then(AnyStorage::mode);
        Durability { level, mode, persisted: self.persisted.get().filter(|_| mode.is_some()), at: now() }
    }

    /// Notes the browser's answer about keeping this origin.
    pub fn note_persisted(&self, persisted: bool) {
        self.persisted.set(Some(persisted));
    }

    /// How the connection stands.
    pub fn connection_state(&self) -> &'static str {
        self.connection.get()
    }

    /// Leaves the other tabs.
    pub fn close(&self) {
        *self.tabs.borrow_mut() = None;
    }

    /// Tells that the database was healed, and what it took.
    pub fn healed(&self, healed: Healed) {
        self.healed.replace(Some(healed.clone()));
        self.tell(event("healed").with("reason", healed.reason).with("milliseconds", healed.milliseconds));
    }

    /// The newest healing of this page.
    pub fn last_healing(&self) -> Option<Healed> {
        self.healed.borrow().clone()
    }

    fn tell(&self, event: Plain) {
        drop(self.listener.call1(&JsValue::NULL, &event.into()));
    }

    /// Tells once of data that is gone.
    fn tell_loss(&self) {
        let Some(lost) = self.storage.get().and_then(AnyStorage::data_lost) else { return };
        if self.lost.borrow().as_ref() != Some(&lost) {
            self.lost.replace(Some(lost.clone()));
            self.tell(event("data.lost").with("message", lost));
        }
    }

    fn tell_all(&self, event: Plain) {
        if let Some(tabs) = &*self.tabs.borrow() {
            tabs.post(&Plain::new().with("scope", &self.scope).with("event", event.so_far()).into());
        }
        self.tell(event.with("origin", "local"));
    }

    /// A checkpoint that was just written, for its announcement and for whoever wrote it.
    ///
    /// # Errors
    /// `Internal`.
    pub fn view(&self, checkpoint: &Checkpoint<JsText>) -> Result<JsValue> {
        if let Some((id, view)) = &*self.view.borrow()
            && *id == checkpoint.id
        {
            return Ok(view.clone());
        }
        let view = output::checkpoint(checkpoint, &self.durability())?;
        self.view.replace(Some((checkpoint.id.clone(), view.clone())));
        Ok(view)
    }

    /// Announces what was committed.
    pub fn announce(&self, what: Event<JsText>) {
        let told = match what {
            Event::Created(checkpoint) => match self.view(&checkpoint) {
                Ok(view) => event("checkpoint.created").with("checkpoint", view).with("seq", checkpoint.seq),
                Err(_) => return,
            },
            Event::Changed { session, reason } => {
                event("session.changed").with("sessionId", session.as_str()).with("reason", reason)
            }
            Event::Began(session, run) => run_event("run.started", &session, &run),
            Event::Ended(session, run) => run_event("run.ended", &session, &run),
            Event::Streamed(session, run) => run_event("stream", &session, &run),
            Event::Turned { session, turn, checkpoint } => event("turn.ended")
                .with("sessionId", session.as_str())
                .with("turnId", turn.as_str())
                .with("checkpointId", output::id(&checkpoint)),
            Event::Deleted(session) => event("session.deleted").with("sessionId", session.as_str()),
            Event::Restored { session, checkpoint, target, restore_point } => event("restored")
                .with("sessionId", session.as_str())
                .with("checkpointId", output::id(&checkpoint))
                .with("targetCheckpointId", or_null(target.as_ref().map(output::id)))
                .with("restorePointId", output::id(&restore_point)),
        };
        self.tell_all(told);
    }

    /// Asks whoever writes a session, here or in another tab, to stop.
    pub fn ask_abort(&self, session: &SessionId) {
        self.tell_all(event("run.abort").with("sessionId", session.as_str()));
    }

    /// Tells what became of the connection. Other tabs have their own.
    pub fn connection(&self, what: &ConnectionEvent) {
        let told = match what {
            ConnectionEvent::Opened => ("open", "the database is open"),
            ConnectionEvent::Closed { reason } => ("closed", reason.as_str()),
            ConnectionEvent::Lost { reason } => ("lost", reason.as_str()),
            ConnectionEvent::Suspect { reason } => {
                self.tell(event("suspect").with("reason", *reason));
                return;
            }
            ConnectionEvent::Blocked { message: text } => {
                self.tell(event("blocked").with("message", text));
                return;
            }
        };
        self.connection.set(told.0);
        self.tell(event("connection").with("state", told.0).with("reason", told.1));
        // A database that was gone when it was opened again.
        self.tell_loss();
    }
}

/// Asks whether the browser keeps this origin; `None` where it cannot be asked.
fn ask_persisted() -> Option<Promise> {
    let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).ok()?;
    let storage = Reflect::get(&navigator, &"storage".into()).ok()?;
    let persisted = Reflect::get(&storage, &"persisted".into()).ok()?.dyn_into::<Function>().ok()?;
    persisted.call0(&storage).ok()?.dyn_into().ok()
}
