//! Either storage, chosen when a store is opened.

use crate::browser::{IndexedDbStorage, JsText, OpenOptions};
use crate::error::Result;
use crate::store::memory::MemoryStorage;
use crate::store::{Access, Guess, Level, Op, Step, Storage};

/// Memory or IndexedDB. Clones share it.
#[derive(Clone)]
pub enum AnyStorage {
    /// Gone with the page.
    Memory(MemoryStorage<JsText>),
    /// Kept by the browser, with the durability it was asked for.
    IndexedDb(IndexedDbStorage, &'static str),
}

impl AnyStorage {
    /// An empty memory.
    pub fn memory() -> Self {
        AnyStorage::Memory(MemoryStorage::default())
    }

    /// Opens a database.
    ///
    /// # Errors
    /// `Unavailable`, `Blocked`, `TimedOut`, `SchemaTooNew`, `SchemaMismatch`.
    pub async fn indexed_db(options: OpenOptions) -> Result<Self> {
        let asked = options.durability.word();
        Ok(AnyStorage::IndexedDb(IndexedDbStorage::open(options).await?, asked))
    }

    /// Whether other tabs use the same rows.
    pub fn is_shared(&self) -> bool {
        matches!(self, AnyStorage::IndexedDb(..))
    }

    /// The durability that IndexedDB was asked for.
    pub fn mode(&self) -> Option<&'static str> {
        match self {
            AnyStorage::Memory(_) => None,
            AnyStorage::IndexedDb(_, asked) => Some(asked),
        }
    }

    /// What the browser said when it threw the data away, if it did and said so.
    pub fn data_lost(&self) -> Option<String> {
        match self {
            AnyStorage::Memory(_) => None,
            AnyStorage::IndexedDb(storage, _) => storage.data_lost(),
        }
    }

    /// Why the database is not trusted until it is cured, and after how many faults.
    pub fn suspicion(&self) -> Option<(&'static str, u32)> {
        match self {
            AnyStorage::Memory(_) => None,
            AnyStorage::IndexedDb(storage, _) => storage.suspicion(),
        }
    }

    /// Says why it is not to be trusted.
    pub fn distrust(&self, reason: &'static str) {
        if let AnyStorage::IndexedDb(storage, _) = self {
            storage.distrust(reason);
        }
    }

    /// Says that another tab has cured it of so many faults.
    pub fn trust(&self, faults: u32) {
        if let AnyStorage::IndexedDb(storage, _) = self {
            storage.trust(faults);
        }
    }

    /// Cures a database that had a fault; until then nothing it acknowledges counts as being on the disk.
    ///
    /// # Errors
    /// `QuotaExceeded`, and whatever else ends a transaction.
    pub async fn heal(&self) -> Result<()> {
        match self {
            AnyStorage::Memory(_) => Ok(()),
            AnyStorage::IndexedDb(storage, _) => storage.heal().await,
        }
    }

    /// Sends writes in the last instant of a page.
    pub fn send_off(&self, access: Access, writes: &[Op<JsText>]) {
        if let AnyStorage::IndexedDb(storage, _) = self {
            storage.send_off(access, writes);
        }
    }

    /// Closes it.
    pub async fn close(&self) {
        if let AnyStorage::IndexedDb(storage, _) = self {
            storage.close().await;
        }
    }
}

impl Storage for AnyStorage {
    type Text = JsText;

    // Boxed, so that the many commands do not each contain both state machines.
    async fn transact(&self, access: Access, guess: &[Guess<JsText>], step: &mut Step<'_, JsText>) -> Result<()> {
        match self {
            AnyStorage::Memory(storage) => Box::pin(storage.transact(access, guess, step)).await,
            AnyStorage::IndexedDb(storage, _) => Box::pin(storage.transact(access, guess, step)).await,
        }
    }

    fn level(&self) -> Level {
        match self {
            AnyStorage::Memory(storage) => storage.level(),
            AnyStorage::IndexedDb(storage, _) => storage.level(),
        }
    }
}
