//! What becomes of the disk when a connection, a page, the browser or the machine dies.

use std::rc::Rc;

use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::Row;
use turnmark::store::Access;
use turnmark::store::memory::MemoryStorage;

use super::disk::{Commit, Disk, End, Stage, State, Tail};
use super::rng::Rng;

impl State {
    /// The transactions of some connections.
    fn of(&self, is_one: impl Fn(usize) -> bool) -> Vec<usize> {
        self.transactions.iter().filter(|(_, one)| is_one(one.connection)).map(|(id, _)| *id).collect()
    }

    /// Ends the transactions of a connection that goes away. What had begun to commit is committed or not.
    fn lose(&mut self, connection: usize, rng: &mut Rng) {
        for id in self.of(|of| of == connection) {
            let Some(mut transaction) = self.transactions.remove(&id) else { continue };
            if transaction.stage == Stage::Committing && rng.percent(50) {
                self.commit(&mut transaction);
            }
            if transaction.stage != Stage::Over {
                transaction.finish(End::Lost);
            }
            if !transaction.orphan {
                self.transactions.insert(id, transaction);
            }
        }
        self.connections.remove(&connection);
    }

    /// Takes back what was not flushed, but for a part that happened to be.
    fn cut_power(&mut self, rng: &mut Rng) {
        let Some(Tail { rows, commits }) = self.tail.take() else { return };
        let kept = rng.below(commits.len() + 1);
        self.become_rows(rows);
        for (n, at) in commits.into_iter().enumerate() {
            if n < kept {
                let writes = self.commits[at].writes.clone();
                self.apply(Access::write(Store::ALL), &writes);
            } else {
                self.commits[at].lost = true;
            }
        }
    }
}

impl Disk {
    /// The browser closes a page's connection under it.
    pub(crate) fn close(&self, page: usize, rng: &mut Rng) {
        let mut state = self.0.borrow_mut();
        let ids: Vec<usize> = state.connections.iter().filter(|(_, of)| **of == page).map(|(id, _)| *id).collect();
        for id in ids {
            state.lose(id, rng);
        }
    }

    /// A page dies. Its tasks must be gone already.
    pub(crate) fn bury(&self, page: usize) {
        self.0.borrow_mut().connections.retain(|_, of| *of != page);
    }

    /// The browser dies, or, with it, the machine. Its tasks must be gone already, so only what had begun to commit is left:
    /// that is there whole, or not, or torn.
    pub(crate) fn die(&self, power: bool, rng: &mut Rng) {
        let mut state = self.0.borrow_mut();
        let mut torn = false;
        for id in state.of(|_| true) {
            let Some(mut transaction) = state.transactions.remove(&id) else { continue };
            if transaction.stage != Stage::Committing {
                continue;
            }
            match rng.below(3) {
                0 => state.commit(&mut transaction),
                1 => torn = true,
                _ => {}
            }
        }
        state.connections.clear();
        state.traps.clear();
        state.full = false;
        if power {
            state.cut_power(rng);
        }
        state.tail = None;
        // A mark that tore is no mark, and nobody can know: the very first write of a browser is not torn here.
        let marks = Range::marks();
        if torn && state.rows.dump().iter().any(|(key, _)| marks.contains(key)) && state.torn.is_none() {
            let serial = state.serial;
            (state.torn, state.written_behind) = (Some(serial), false);
        }
    }

    /// The browser starts again. Chromium finds damage behind which something was written, and throws everything away. The
    /// place of the damage is told.
    pub(crate) fn start(&self) -> Option<u64> {
        let mut state = self.0.borrow_mut();
        let torn = state.torn.filter(|_| state.written_behind)?;
        state.become_rows(Vec::new());
        (state.torn, state.written_behind) = (None, false);
        Some(torn)
    }

    /// Everything that is committed reaches the disk.
    pub(crate) fn flush(&self) {
        self.0.borrow_mut().tail = None;
    }

    /// No transaction is left that could go on.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.borrow().transactions.is_empty()
    }

    /// The rows, for who may look without asking.
    pub(crate) fn rows(&self) -> MemoryStorage<String> {
        self.0.borrow().rows.clone()
    }

    /// Makes the rows what they were.
    pub(crate) fn put_back(&self, rows: Vec<(Key, Rc<Row<String>>)>) {
        self.0.borrow().become_rows(rows);
    }

    pub(crate) fn dump(&self) -> Vec<(Key, Rc<Row<String>>)> {
        self.0.borrow().rows.dump()
    }

    /// What was committed since this was last called.
    pub(crate) fn take_commits(&self) -> Vec<Commit> {
        let mut state = self.0.borrow_mut();
        state.traps.clear();
        std::mem::take(&mut state.commits)
    }
}
