//! Whether the database is what it was left as: whether the stores that had it open before were closed well, and whether it
//! still holds what it held.

use super::Engine;
use crate::codec::key::Store;
use crate::error::Result;
use crate::ids::{SessionId, WriterId};
use crate::plan::marks;
use crate::plan::witness::{self, Missing};
use crate::store::{Access, Plan, Storage};

impl<S: Storage> Engine<S> {
    /// Marks this store as open, and takes the marks of dead ones away.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn arrive(&self, dead: &[WriterId]) -> Result<()> {
        let now = self.platform.now();
        self.storage.run(marks::ACCESS, |_| Ok(marks::leave(&self.writer, &self.device, now, dead))).await
    }

    /// Every open store that has a mark.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn marks(&self) -> Result<Vec<WriterId>> {
        self.storage.run(Access::read(&[Store::Meta]), |view| Ok(Plan::read(marks::all(view)?))).await
    }

    /// Sessions that hold less than somebody outside of the database knows them to have held: each with the sequence number of a
    /// checkpoint that it had.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn missing(&self, known: &[(SessionId, u32)]) -> Result<Vec<Missing>> {
        self.storage.run(Access::read(&[Store::Sessions]), |view| witness::missing(view, &self.scope, known)).await
    }

    /// Takes the mark of this store away.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn depart(&self) -> Result<()> {
        self.storage.run(marks::ACCESS, |_| Ok(Plan { writes: vec![marks::removal(&self.writer)], answer: () })).await
    }
}
