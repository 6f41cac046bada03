//! One open connection and the transactions that run on it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use gloo::events::EventListener;
use web_sys::IdbDatabase;

use super::transaction::{End, Life};

/// A connection. Dropping it closes it; the browser lets running transactions finish.
#[derive(Debug)]
pub(super) struct Connection {
    /// The browser's handle.
    pub(super) raw: IdbDatabase,
    running: RefCell<Vec<Weak<Life>>>,
    listeners: RefCell<Vec<EventListener>>,
}

impl Connection {
    /// Takes over an open handle.
    pub(super) fn new(raw: IdbDatabase) -> Self {
        Connection { raw, running: RefCell::default(), listeners: RefCell::default() }
    }

    /// Calls back when another tab wants to upgrade or delete the database (`true`: delete), and when the browser ends
    /// the connection.
    pub(super) fn listen(&self, on_change: impl Fn(bool) + 'static, on_end: impl Fn() + 'static) {
        let change = EventListener::new(&self.raw, "versionchange", move |event| {
            // `newVersion` is null when the database is to be deleted.
            on_change(super::bindings::property(event, "newVersion").is_none());
        });
        let end = EventListener::new(&self.raw, "close", move |_| on_end());
        self.listeners.borrow_mut().extend([change, end]);
    }

    /// Remembers a running transaction, so that it can be told when the connection is lost.
    pub(super) fn adopt(&self, life: &Rc<Life>) {
        let mut running = self.running.borrow_mut();
        running.retain(|life| life.strong_count() > 0);
        running.push(Rc::downgrade(life));
    }

    /// Settles every running transaction that the browser has not settled itself.
    pub(super) fn lose(&self, why: &str) {
        let running: Vec<_> = self.running.borrow().iter().filter_map(Weak::upgrade).collect();
        for life in running {
            life.end(End::Lost(why.to_owned()));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.listeners.borrow_mut().clear();
        self.raw.close();
    }
}
