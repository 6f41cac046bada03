//! The browser's side of the storage port: IndexedDB, as browsers really are.
//!
//! Everything a browser can do to a store ends here, as data: what it throws becomes a typed error, a connection it
//! closes is opened again, and no future stays pending because an event never came. There is no rule of the domain here.

mod bindings;
mod clock;
mod connection;
mod convert;
mod error;
mod guess;
mod handle;
mod heal;
mod open;
mod reads;
mod request;
mod signal;
mod storage;
mod tabs;
mod text;
mod transaction;
mod value;

use std::fmt;
use std::rc::Rc;

pub use bindings::{Record, name};
pub use clock::{now, random, sleep};
pub use convert::{from_js, to_js};
pub use heal::rotates;
pub use storage::{IndexedDbStorage, delete_database};
pub use tabs::Tabs;
pub use text::JsText;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is on the disk.
    #[default]
    Strict,
    /// When the operating system has it. A power cut may take it back.
    Relaxed,
}

impl Durability {
    /// The word IndexedDB uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Durability::Strict => "strict",
            Durability::Relaxed => "relaxed",
        }
    }
}

/// What becomes of the connection to a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It is open, for the first time or again.
    Opened,
    /// It was closed in good order: by its owner, or to let another tab upgrade or delete the database. Unless the owner
    /// closed it, the next command opens it again.
    Closed {
        /// Why.
        reason: String,
    },
    /// The browser ended it, or it was found dead. The next command opens it again.
    Lost {
        /// Why.
        reason: String,
    },
    /// It may have been damaged. Until it is healed, what it acknowledges does not count as being on the disk.
    Suspect {
        /// Why.
        reason: &'static str,
    },
    /// Another tab is in the way.
    Blocked {
        /// What people can do.
        message: String,
    },
}

/// Hears of connection events. It may be called from inside a browser event, so it must not throw.
pub type Listener = Rc<dyn Fn(ConnectionEvent)>;

/// How to open a database.
#[derive(Clone)]
pub struct OpenOptions {
    /// Its name.
    pub name: String,
    /// When a write counts as done.
    pub durability: Durability,
    /// How long opening or deleting may take before it fails with `Blocked` or `TimedOut`, in milliseconds.
    pub timeout_ms: u32,
    /// Hears of connection events.
    pub on_event: Option<Listener>,
    /// Says, as a promise, whether the disk has room. Asked before a database is opened again after a fault.
    pub has_room: Option<js_sys::Function>,
}

impl OpenOptions {
    /// The usual options: strict, ten seconds, no listener.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (name, durability) = (name.into(), Durability::default());
        OpenOptions { name, durability, timeout_ms: 10_000, on_event: None, has_room: None }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("name", &self.name)
            .field("durability", &self.durability)
            .field("timeout_ms", &self.timeout_ms)
            .finish_non_exhaustive()
    }
}
