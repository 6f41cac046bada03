//! The fake as a page uses it, and as it is driven: connections, transactions, requests, and the steps of which the next is
//! chosen.

use std::collections::VecDeque;
use std::task::Poll;

use turnmark::store::{Access, Answer, Request};

use super::disk::{Disk, End, Item, Reason, Stage, Transaction, Trap};
use super::rng::Rng;

impl Disk {
    pub(crate) fn connect(&self, page: usize) -> usize {
        let mut state = self.0.borrow_mut();
        state.named += 1;
        let id = state.named;
        state.connections.insert(id, page);
        id
    }

    pub(crate) fn is_open(&self, connection: usize) -> bool {
        self.0.borrow().connections.contains_key(&connection)
    }

    /// Opens a transaction; `None` where the connection is closed.
    pub(crate) fn begin(&self, connection: usize, op: usize, access: Access, strict: bool) -> Option<usize> {
        let mut state = self.0.borrow_mut();
        if !state.connections.contains_key(&connection) {
            return None;
        }
        state.named += 1;
        let id = state.named;
        let transaction = Transaction {
            connection,
            op,
            access,
            strict,
            stage: Stage::Waiting,
            items: VecDeque::new(),
            answers: Vec::new(),
            writes: Vec::new(),
            sealed: false,
            released: false,
            silent: false,
            told: false,
            orphan: false,
            end: None,
            waker: None,
        };
        state.transactions.insert(id, transaction);
        Some(id)
    }

    /// Sends requests.
    pub(crate) fn send(&self, id: usize, items: impl IntoIterator<Item = Item>) {
        if let Some(transaction) = self.0.borrow_mut().transactions.get_mut(&id) {
            transaction.items.extend(items);
        }
    }

    /// Whether the next `put` throws.
    pub(crate) fn throws(&self) -> bool {
        let mut state = self.0.borrow_mut();
        let trap = state.traps.iter().position(|trap| *trap == Trap::Throw);
        trap.map(|at| state.traps.remove(at)).is_some()
    }

    /// Nothing more is sent: it may commit.
    pub(crate) fn seal(&self, id: usize) {
        if let Some(transaction) = self.0.borrow_mut().transactions.get_mut(&id) {
            transaction.sealed = true;
        }
    }

    /// Lets one that has only read end by itself.
    pub(crate) fn release(&self, id: usize) {
        let mut state = self.0.borrow_mut();
        let over = state.transactions.get_mut(&id).is_none_or(|transaction| {
            (transaction.released, transaction.told, transaction.silent) = (true, false, false);
            transaction.stage == Stage::Over
        });
        if over {
            state.transactions.remove(&id);
        }
    }

    /// Aborts it; `false` when it is too late.
    pub(crate) fn abort(&self, id: usize) -> bool {
        let mut state = self.0.borrow_mut();
        let Some(transaction) = state.transactions.get_mut(&id) else { return true };
        if transaction.stage == Stage::Committing || transaction.end == Some(End::Complete) {
            return false;
        }
        transaction.finish(End::Aborted(Reason::None));
        true
    }

    /// Its page does not wait for it any more. What has not begun to commit is aborted.
    pub(crate) fn leave(&self, id: usize) {
        let mut state = self.0.borrow_mut();
        let Some(transaction) = state.transactions.get_mut(&id) else { return };
        if transaction.stage == Stage::Committing {
            (transaction.orphan, transaction.silent, transaction.told) = (true, false, false);
        } else {
            state.transactions.remove(&id);
        }
    }

    /// Waits for the answers to all that was asked.
    pub(crate) async fn answered(&self, id: usize) -> Result<Vec<(Request, Answer<String>)>, End> {
        std::future::poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            let Some(transaction) = state.transactions.get_mut(&id) else { return Poll::Ready(Err(End::Lost)) };
            transaction.told = false;
            if let Some(end) = transaction.end {
                return Poll::Ready(Err(end));
            }
            if !transaction.is_asking() {
                return Poll::Ready(Ok(std::mem::take(&mut transaction.answers)));
            }
            transaction.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self, id: usize) -> End {
        std::future::poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            let Some(transaction) = state.transactions.get_mut(&id) else { return Poll::Ready(End::Lost) };
            transaction.told = false;
            if let Some(end) = transaction.end {
                return Poll::Ready(end);
            }
            transaction.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The place of a command that wrote nothing.
    pub(crate) fn note(&self, op: usize) {
        let mut state = self.0.borrow_mut();
        let serial = state.next_serial();
        state.notes.insert(op, serial);
    }

    /// Where a command that wrote nothing had its place.
    pub(crate) fn noted(&self, op: usize) -> Option<u64> {
        self.0.borrow().notes.get(&op).copied()
    }

    /// Whether anything was ever committed for a command.
    pub(crate) fn has_committed(&self, op: usize) -> bool {
        self.0.borrow().heard.contains(&op)
    }

    /// Transactions of which something could happen next.
    pub(crate) fn steps(&self) -> Vec<usize> {
        let state = self.0.borrow();
        state.transactions.keys().copied().filter(|id| state.may_step(*id)).collect()
    }

    pub(crate) fn step(&self, id: usize, rng: &mut Rng) {
        self.0.borrow_mut().step(id, rng);
    }

    /// Whether something is being committed just now.
    pub(crate) fn is_committing(&self) -> bool {
        self.0.borrow().transactions.values().any(|transaction| transaction.stage == Stage::Committing)
    }

    pub(crate) fn trap(&self, trap: Trap) {
        self.0.borrow_mut().traps.push(trap);
    }

    pub(crate) fn fill(&self, full: bool) {
        self.0.borrow_mut().full = full;
    }
}
