//! The one place that knows whether a store is open: it opens, closes, loses and reopens the connection.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use gloo::events::EventListener;
use js_sys::Promise;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::EventTarget;

use super::bindings::{global, property};
use super::connection::Connection;
use super::heal::rotates;
use super::open::{Opened, open};
use super::reads;
use super::signal::Signal;
use super::transaction::Transaction;
use super::{ConnectionEvent, Durability, OpenOptions, error};
use crate::codec::key::{Key, Store};
use crate::error::Result;
use crate::store::{Access, Level, Request};

/// How long a command may wait for the browser, in milliseconds.
const PATIENCE: u32 = 60_000;
/// How long a page that was hidden waits for its first answer before it takes another connection, in milliseconds.
const PROBE_PATIENCE: u32 = 5_000;

/// A store, open or not. Its clones share one connection.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) options: OpenOptions,
    pub(super) patience: Cell<u32>,
    pub(super) level: Cell<Level>,
    /// Why what it acknowledges does not count as being on the disk.
    suspect: Cell<Option<&'static str>>,
    /// Whether there was a fault that a full disk may have caused, and no room has been found since.
    doubts_room: Cell<bool>,
    /// How many faults there were: one that comes while a former one is healed is not healed by that.
    faults: Cell<u32>,
    pub(super) data_lost: RefCell<Option<String>>,
    state: RefCell<State>,
    was_open: Cell<bool>,
    running: Cell<usize>,
    closing: Cell<bool>,
    closed: Cell<bool>,
    signal: Signal,
    visibility: RefCell<Option<EventListener>>,
}

#[derive(Debug)]
enum State {
    Idle,
    Opening(Rc<Attempt>),
    Open(Rc<Connection>),
}

/// An opening that every command waits for together.
#[derive(Debug, Default)]
struct Attempt {
    result: RefCell<Option<Result<Rc<Connection>>>>,
    signal: Signal,
}

thread_local! {
    /// Every store of this page or worker, so that deleting and reopening can wait for those of the same name.
    static STORES: RefCell<Vec<Weak<Handle>>> = const { RefCell::new(Vec::new()) };
}

/// The stores of a name.
pub(super) fn stores(name: &str) -> Vec<Rc<Handle>> {
    STORES.with_borrow(|stores| {
        stores.iter().filter_map(Weak::upgrade).filter(|handle| handle.options.name == name).collect()
    })
}

/// A command that runs; a store closes when none does.
pub(super) struct Running(Rc<Handle>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get().saturating_sub(1));
        self.0.signal.notify();
    }
}

impl Handle {
    /// A store that is not open yet.
    pub(super) fn new(options: OpenOptions) -> Rc<Self> {
        let handle = Rc::new(Handle {
            options,
            patience: Cell::new(PATIENCE),
            level: Cell::new(Level::Os),
            suspect: Cell::new(None),
            doubts_room: Cell::new(false),
            faults: Cell::new(0),
            data_lost: RefCell::default(),
            state: RefCell::new(State::Idle),
            was_open: Cell::new(false),
            running: Cell::new(0),
            closing: Cell::new(false),
            closed: Cell::new(false),
            signal: Signal::default(),
            visibility: RefCell::default(),
        });
        STORES.with_borrow_mut(|stores| {
            stores.retain(|store| store.strong_count() > 0);
            stores.push(Rc::downgrade(&handle));
        });
        handle
    }

    /// Tells the listener. Nothing may be borrowed here: it may call back.
    pub(super) fn tell(&self, event: ConnectionEvent) {
        if let Some(on_event) = &self.options.on_event {
            on_event(event);
        }
    }

    /// Why the database is not trusted, and after how many faults.
    pub(super) fn suspicion(&self) -> Option<(&'static str, u32)> {
        self.suspect.get().map(|reason| (reason, self.faults.get()))
    }

    /// Trusts it again, unless there was a further fault.
    pub(super) fn trust(&self, after: u32) {
        if self.faults.get() == after {
            self.suspect.set(None);
        }
    }

    /// Does not trust the database any more, until it is healed.
    pub(super) fn distrust(&self, reason: &'static str) {
        self.faults.set(self.faults.get().wrapping_add(1));
        if self.suspect.get().is_none() {
            self.suspect.set(Some(reason));
            self.tell(ConnectionEvent::Suspect { reason });
        }
    }

    /// Does not trust it after a fault of the browser's, which may mean that the disk is full.
    pub(super) fn fault(&self, reason: &'static str) {
        self.doubts_room.set(true);
        self.distrust(reason);
    }

    /// After a fault, whether the disk has room. Chromium throws a damaged database away when it opens it or writes to it on a
    /// full disk; left alone until there is room, it is whole.
    async fn find_room(&self) -> Result<()> {
        let Some(has_room) = self.options.has_room.as_ref().filter(|_| self.doubts_room.get() && rotates()) else {
            return Ok(());
        };
        // Who cannot say is no hindrance.
        let said = match has_room.call0(&JsValue::UNDEFINED) {
            Ok(promise) => JsFuture::from(Promise::resolve(&promise)).await,
            Err(thrown) => Err(thrown),
        };
        if said.is_ok_and(|said| said.is_falsy()) {
            return Err(error::no_room(&self.options.name));
        }
        self.doubts_room.set(false);
        Ok(())
    }

    /// Begins a command.
    ///
    /// # Errors
    /// `Closed` once the owner has closed the store.
    pub(super) fn enter(self: &Rc<Self>) -> Result<Running> {
        if self.closing.get() {
            return Err(error::closed(&self.options.name));
        }
        self.running.set(self.running.get() + 1);
        Ok(Running(self.clone()))
    }

    /// The connection, opened if there is none. However many commands ask, one opening runs, and it goes on when a
    /// command that waits for it is dropped.
    ///
    /// # Errors
    /// Why the database could not be opened. The next call tries again.
    pub(super) async fn connect(self: &Rc<Self>) -> Result<Rc<Connection>> {
        let attempt = match &*self.state.borrow() {
            State::Open(connection) => return Ok(connection.clone()),
            State::Opening(attempt) => Some(attempt.clone()),
            State::Idle => None,
        };
        let attempt = attempt.unwrap_or_else(|| self.start());
        attempt.signal.until(|| attempt.result.borrow().clone()).await
    }

    /// The connection, if there is one just now.
    pub(super) fn current(&self) -> Option<Rc<Connection>> {
        match &*self.state.borrow() {
            State::Open(connection) => Some(connection.clone()),
            State::Idle | State::Opening(_) => None,
        }
    }

    fn start(self: &Rc<Self>) -> Rc<Attempt> {
        let attempt = Rc::new(Attempt::default());
        self.state.replace(State::Opening(attempt.clone()));
        let (handle, opening) = (self.clone(), attempt.clone());
        spawn_local(async move {
            let opened = match handle.find_room().await {
                Ok(()) => open(&handle.options).await,
                Err(error) => Err(error),
            };
            let result = opened.map(|opened| handle.take(opened));
            handle.state.replace(match &result {
                Ok(connection) => State::Open(connection.clone()),
                Err(_) => State::Idle,
            });
            let is_open = result.is_ok();
            opening.result.replace(Some(result));
            opening.signal.notify();
            handle.signal.notify();
            if is_open {
                handle.tell(ConnectionEvent::Opened);
            }
        });
        attempt
    }

    fn take(self: &Rc<Self>, opened: Opened) -> Rc<Connection> {
        self.level.set(opened.level);
        let was_open = self.was_open.replace(true);
        let gone = (opened.is_new && was_open).then(|| "the database was deleted while it was open here".to_owned());
        let lost = opened.data_loss.or(gone);
        if lost.is_some() {
            self.data_lost.replace(lost);
            self.distrust("data was lost");
        }
        let connection = Rc::new(opened.connection);
        let whom = (Rc::downgrade(self), Rc::downgrade(&connection));
        let both = move || Some((whom.0.upgrade()?, whom.1.upgrade()?));
        connection.listen(
            {
                let both = both.clone();
                move |deleting| {
                    if let Some((handle, connection)) = both() {
                        handle.make_way(&connection, deleting);
                    }
                }
            },
            move || {
                if let Some((handle, connection)) = both() {
                    handle.fault("the browser closed the connection");
                    handle.forget(&connection, "the browser closed it");
                    connection.lose("the browser closed it");
                }
            },
        );
        connection
    }

    /// Forgets a connection, if it is still the current one, and closes it. Its running transactions may finish.
    fn release(&self, connection: &Rc<Connection>) -> bool {
        let mut state = self.state.borrow_mut();
        let is_current = matches!(&*state, State::Open(current) if Rc::ptr_eq(current, connection));
        if is_current {
            *state = State::Idle;
        }
        drop(state);
        if is_current {
            connection.raw.close();
        }
        is_current
    }

    /// Closes a connection so that another tab can upgrade or delete the database.
    fn make_way(&self, connection: &Rc<Connection>, deleting: bool) {
        if self.release(connection) {
            let doing = if deleting { "deletes" } else { "upgrades" };
            self.tell(ConnectionEvent::Closed { reason: format!("another tab {doing} the database") });
        }
    }

    /// Forgets a connection that was found dead.
    pub(super) fn forget(&self, connection: &Rc<Connection>, why: &str) {
        if self.release(connection) {
            self.tell(ConnectionEvent::Lost { reason: why.to_owned() });
        }
    }

    /// Closes for good, once every running command has ended. Whoever calls it waits for the end, and may stop waiting.
    pub(super) async fn close(&self) {
        self.closing.set(true);
        let idle = || self.running.get() == 0 && !matches!(*self.state.borrow(), State::Opening(_));
        self.signal.until(|| idle().then_some(())).await;
        self.visibility.take();
        let last = self.state.replace(State::Idle);
        drop(last);
        if !self.closed.replace(true) {
            self.tell(ConnectionEvent::Closed { reason: "the store was closed by its owner".into() });
        }
    }

    /// Whether `close` was called.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// Looks after the connection whenever the page is shown again: Safari kills it when it suspends a page, and tells
    /// nobody. Where there is no document, in a worker, there is nothing to look for.
    pub(super) fn watch(self: &Rc<Self>) {
        let Some(document) = global("document").and_then(|document| document.dyn_into::<EventTarget>().ok()) else {
            return;
        };
        let (handle, page) = (Rc::downgrade(self), document.clone());
        let listener = EventListener::new(&document, "visibilitychange", move |_| {
            let visible =
                property(&page, "visibilityState").and_then(|state| state.as_string()).as_deref() == Some("visible");
            if let Some(handle) = handle.upgrade().filter(|_| visible) {
                spawn_local(async move { handle.probe().await });
            }
        });
        self.visibility.replace(Some(listener));
    }

    async fn probe(self: &Rc<Self>) {
        let Some(connection) = self.current() else { return };
        let Ok(_running) = self.enter() else { return };
        let access = Access::read(&[Store::Meta]);
        let alive = match Transaction::begin(&connection, access, Durability::Relaxed, PROBE_PATIENCE) {
            Ok(transaction) => match reads::read(&transaction, access, vec![Request::Row(Key::meta())]).await {
                Ok(_) => {
                    transaction.release();
                    true
                }
                Err(_) => false,
            },
            Err(_) => false,
        };
        if !alive {
            self.forget(&connection, "it no longer answered when the page was shown again");
        }
    }
}
