//! A fake of IndexedDB and of the disk below it, as far as a storage can tell: transactions with scopes that queue as the
//! specification says, requests that are answered later, aborts for any reason, deaths of pages, of the browser and of the
//! machine. Nothing happens by itself: each step is chosen from outside.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::Row;
use turnmark::store::memory::MemoryStorage;
use turnmark::store::{Access, Answer, Op, Planned, Read, Request, Storage, View};

use super::rng::Rng;

/// Why the browser aborted a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It gave none, as some do on a full disk.
    None,
    /// The quota, or the disk.
    Full,
    /// An I/O error.
    Unknown,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    Aborted(Reason),
    /// The connection went away, and that is all that is known.
    Lost,
    /// The browser has been silent for too long.
    TimedOut,
}

/// What goes wrong at the next occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    Request(Reason),
    Commit(Reason),
    /// `put` throws.
    Throw,
    /// A transaction is never answered.
    Silence,
}

/// A step of a transaction.
pub(crate) enum Item {
    Ask(Request),
    Write(Op<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Running,
    /// It cannot be aborted any more.
    Committing,
    Over,
}

pub(super) struct Transaction {
    pub(super) connection: usize,
    pub(super) op: usize,
    pub(super) access: Access,
    pub(super) strict: bool,
    pub(super) stage: Stage,
    pub(super) items: VecDeque<Item>,
    pub(super) answers: Vec<(Request, Answer<String>)>,
    pub(super) writes: Vec<Op<String>>,
    /// All its writes are sent.
    pub(super) sealed: bool,
    /// It has read what it wanted.
    pub(super) released: bool,
    pub(super) silent: bool,
    /// An event was sent that its page has not seen yet: none follows before.
    pub(super) told: bool,
    /// Its page does not wait for it any more.
    pub(super) orphan: bool,
    pub(super) end: Option<End>,
    pub(super) waker: Option<Waker>,
}

/// What was committed.
pub(crate) struct Commit {
    /// Its place among all that happened.
    pub(crate) serial: u64,
    /// The command it was for.
    pub(crate) op: usize,
    pub(crate) writes: Rc<Vec<Op<String>>>,
    /// It did not survive.
    pub(crate) lost: bool,
}

/// What is not flushed: all rows before it, and the commits since.
pub(super) struct Tail {
    pub(super) rows: Vec<(Key, Rc<Row<String>>)>,
    pub(super) commits: Vec<usize>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) rows: MemoryStorage<String>,
    pub(super) transactions: BTreeMap<usize, Transaction>,
    /// Those that are not closed, and the page of each.
    pub(super) connections: BTreeMap<usize, usize>,
    pub(super) named: usize,
    pub(super) serial: u64,
    pub(super) commits: Vec<Commit>,
    pub(super) notes: BTreeMap<usize, u64>,
    pub(super) heard: BTreeSet<usize>,
    pub(super) traps: Vec<Trap>,
    pub(super) full: bool,
    pub(super) tail: Option<Tail>,
    pub(super) torn: Option<u64>,
    pub(super) written_behind: bool,
}

/// The database of one browser profile.
#[derive(Clone, Default)]
pub(crate) struct Disk(pub(super) Rc<RefCell<State>>);

/// The key of what makes a log rotate.
pub(crate) fn filler() -> Key {
    Key { store: Store::Meta, pieces: vec!["filler".into()] }
}

/// A future that never waits.
fn now<A>(future: impl Future<Output = A>) -> A {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("memory answers at once"),
    }
}

fn answer(view: &View<String>, request: &Request) -> Planned<Answer<String>> {
    Ok(match request.clone() {
        Request::Row(key) => Answer::Row(view.raw(key)?),
        Request::Rows { range, limit } => Answer::Rows(view.rows(range, limit)?),
        Request::Keys(range) => Answer::Keys(view.keys(range)?),
        Request::Where(those) => Answer::Rows(view.having(those)?),
        Request::ById(by_id) => Answer::Row(view.by_id(by_id)?.map(Read::Row)),
    })
}

fn has_put(items: &[Op<String>]) -> bool {
    items.iter().any(|op| matches!(op, Op::Put(..)))
}

impl Transaction {
    /// Ends it for its page, which may have gone on.
    pub(super) fn finish(&mut self, end: End) {
        self.stage = Stage::Over;
        self.end.get_or_insert(end);
        self.tell();
    }

    pub(super) fn tell(&mut self) {
        self.told = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn is_in_the_way_of(&self, later: &Access) -> bool {
        self.stage != Stage::Over
            && (self.access.write || later.write)
            && self.access.stores.iter().any(|store| later.stores.contains(store))
    }

    pub(super) fn is_asking(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Ask(_)))
    }
}

impl State {
    fn ask(&self, access: Access, request: &Request) -> Answer<String> {
        let mut found = None;
        let mut step = |view: &View<String>| {
            found = Some(answer(view, request)?);
            Ok(Vec::new())
        };
        now(self.rows.transact(Access::read(access.stores), &[], &mut step)).unwrap();
        found.unwrap()
    }

    pub(super) fn apply(&self, access: Access, writes: &[Op<String>]) {
        now(self.rows.transact(access, &[], &mut |_| Ok(writes.to_vec()))).unwrap();
    }

    /// Makes the rows others.
    pub(super) fn become_rows(&self, rows: Vec<(Key, Rc<Row<String>>)>) {
        for (key, _) in self.rows.dump() {
            self.rows.tamper(&key, None);
        }
        for (key, row) in rows {
            self.rows.tamper(&key, Some((*row).clone()));
        }
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Whether it is a transaction's turn: all before it that it shares a store with, one of the two writing, have ended.
    fn may_start(&self, id: usize) -> bool {
        let access = self.transactions[&id].access;
        self.transactions.range(..id).all(|(_, earlier)| !earlier.is_in_the_way_of(&access))
    }

    pub(super) fn may_step(&self, id: usize) -> bool {
        let transaction = &self.transactions[&id];
        if transaction.silent {
            return transaction.end.is_none() && !transaction.told;
        }
        !transaction.told
            && match transaction.stage {
                Stage::Waiting => self.may_start(id),
                Stage::Running => {
                    !transaction.items.is_empty() || transaction.sealed || transaction.released || transaction.orphan
                }
                Stage::Committing => true,
                Stage::Over => false,
            }
    }

    pub(super) fn step(&mut self, id: usize, rng: &mut Rng) {
        let silence = self.traps.iter().position(|trap| *trap == Trap::Silence);
        let Some(mut transaction) = self.transactions.remove(&id) else { return };
        match transaction.stage {
            _ if transaction.silent => {
                transaction.end = Some(End::TimedOut);
                transaction.tell();
            }
            Stage::Waiting => transaction.stage = Stage::Running,
            Stage::Running | Stage::Committing if silence.is_some() && !transaction.orphan && !transaction.released => {
                self.traps.retain(|trap| *trap != Trap::Silence);
                transaction.silent = true;
            }
            Stage::Running if transaction.items.is_empty() && !transaction.sealed => transaction.stage = Stage::Over,
            Stage::Running if transaction.items.is_empty() => {
                let traps = self.traps.iter().position(|trap| matches!(trap, Trap::Commit(_)));
                match traps.map(|at| self.traps.remove(at)) {
                    Some(Trap::Commit(reason)) => transaction.finish(End::Aborted(reason)),
                    _ if self.full && has_put(&transaction.writes) => transaction.finish(End::Aborted(Reason::Full)),
                    _ => transaction.stage = Stage::Committing,
                }
            }
            Stage::Running => self.serve(&mut transaction, rng),
            Stage::Committing => {
                self.commit(&mut transaction);
                transaction.finish(End::Complete);
            }
            Stage::Over => {}
        }
        let is_gone = transaction.stage == Stage::Over && (transaction.orphan || transaction.released);
        if !is_gone {
            self.transactions.insert(id, transaction);
        }
    }

    /// Answers some of what a transaction has asked for, in its order.
    fn serve(&mut self, transaction: &mut Transaction, rng: &mut Rng) {
        for _ in 0..=rng.below(transaction.items.len()) {
            let trap = self.traps.iter().position(|trap| matches!(trap, Trap::Request(_)));
            if let Some(Trap::Request(reason)) = trap.map(|at| self.traps.remove(at)) {
                return transaction.finish(End::Aborted(reason));
            }
            match transaction.items.pop_front() {
                Some(Item::Ask(request)) => {
                    let answer = self.ask(transaction.access, &request);
                    transaction.answers.push((request, answer));
                    if !transaction.is_asking() {
                        return transaction.tell();
                    }
                }
                Some(Item::Write(op)) => transaction.writes.push(op),
                None => return,
            }
        }
    }

    pub(super) fn commit(&mut self, transaction: &mut Transaction) {
        let serial = self.next_serial();
        let writes = Rc::new(std::mem::take(&mut transaction.writes));
        if transaction.strict {
            self.tail = None;
        } else {
            let (rows, at) = (&self.rows, self.commits.len());
            self.tail.get_or_insert_with(|| Tail { rows: rows.dump(), commits: Vec::new() }).commits.push(at);
        }
        self.apply(transaction.access, &writes);
        if writes.iter().any(|op| matches!(op, Op::Put(key, _) if *key == filler())) {
            self.torn = None;
        }
        self.written_behind |= self.torn.is_some();
        self.heard.insert(transaction.op);
        self.commits.push(Commit { serial, op: transaction.op, writes, lost: false });
    }
}
