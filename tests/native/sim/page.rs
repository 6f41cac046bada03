//! A page: an engine, and what its owner has seen. What pages of one history share.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

use turnmark::engine::{Engine, Event, Platform};
use turnmark::error::Result;
use turnmark::ids::{CheckpointId, ScopeId, WriterId};
use turnmark::model::hash::Hash;
use turnmark::model::retention::Retention;
use turnmark::plan::bundle::Bundle;

use super::disk::Disk;
use super::executor::give_way;
use super::port::SimStorage;
use super::sent::{Record, Sent};
use crate::contract::kit::{Msg, NOON};
use crate::histories::model::Whole;

/// What a page has seen of a session.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) epoch: u64,
    /// Where it knows that too.
    pub(crate) state: Option<Whole>,
}

/// What a page knows of its own turn.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) run: String,
    /// The text that it has saved of the growing message, and how often it has added to it.
    pub(crate) saved: String,
    pub(crate) count: u32,
    pub(crate) grown: usize,
}

pub(crate) struct Page {
    pub(crate) scope: usize,
    pub(crate) engine: Engine<SimStorage>,
    pub(crate) storage: SimStorage,
    /// The command that is given now.
    pub(crate) op: Rc<Cell<usize>>,
    pub(crate) seen: RefCell<BTreeMap<String, Seen>>,
    pub(crate) own: RefCell<BTreeMap<String, Own>>,
    /// Stores of before that were not closed well, until that is healed.
    dead: RefCell<Vec<WriterId>>,
}

impl Page {
    /// Lets the storage know for which command it is asked, whenever that goes on; 0 is for none.
    pub(crate) async fn under<A>(&self, op: usize, future: impl Future<Output = A>) -> A {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            self.op.set(op);
            future.as_mut().poll(context)
        })
        .await
    }
}

/// What all pages of a history share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) disk: Disk,
    pub(crate) setting: Vec<(usize, bool)>,
    pub(crate) retention: Retention,
    pub(crate) pages: RefCell<BTreeMap<usize, Rc<Page>>>,
    /// Stores whose lock is held.
    pub(crate) live: RefCell<BTreeSet<WriterId>>,
    pub(super) healing: Cell<bool>,
    pub(super) drawn: Cell<u64>,
    pub(super) clock: Cell<u64>,
    pub(crate) records: RefCell<Vec<Record>>,
    /// Checkpoints that were told of, by the command.
    pub(crate) told: RefCell<BTreeSet<(usize, CheckpointId)>>,
    pub(crate) wrong: RefCell<Vec<String>>,
    /// Checkpoints that somebody has heard of, by scope and session.
    pub(crate) known: RefCell<BTreeMap<(usize, String), Vec<CheckpointId>>>,
    /// Every message there ever was, by its text.
    pub(crate) texts: RefCell<BTreeMap<String, Msg>>,
    pub(crate) bundles: RefCell<Vec<Option<Bundle<String>>>>,
    /// Whether a store that is known to have come, or to have gone, must have its mark.
    pub(crate) marked: RefCell<BTreeMap<WriterId, bool>>,
    /// How often what happened.
    pub(crate) met: RefCell<BTreeMap<String, usize>>,
}

/// Time and chance of a history.
struct Chance(Rc<Shared>, u64);

impl Platform for Chance {
    fn now(&self) -> u64 {
        // It stands still, runs, and goes back.
        let now = self.0.clock.get() + 1;
        self.0.clock.set(now);
        NOON + now / 3 - if now.is_multiple_of(7) { 1_000 } else { 0 }
    }

    fn random(&self) -> Result<[u8; 32]> {
        Ok(Hash::of("random", &[&self.1.to_le_bytes(), &self.0.number().to_le_bytes()]).0)
    }
}

/// The names of the scopes.
pub(crate) const SCOPES: [&str; 2] = ["scope", "other"];

pub(crate) fn scope_id(scope: usize) -> ScopeId {
    ScopeId::parse(SCOPES[scope]).unwrap()
}

/// An exclusive lock, until it is dropped.
struct Alone(Rc<Shared>);

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.healing.set(false);
    }
}

async fn alone(shared: &Rc<Shared>) -> Alone {
    while shared.healing.replace(true) {
        give_way().await;
    }
    Alone(shared.clone())
}

impl Shared {
    /// A number that was never given before.
    pub(crate) fn number(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        self.drawn.get()
    }

    /// Counts something that happened.
    pub(crate) fn meet(&self, what: impl Into<String>) {
        *self.met.borrow_mut().entry(what.into()).or_default() += 1;
    }

    /// Notes what has become of a store's mark, where that is known.
    pub(crate) fn marks(&self, writer: &WriterId, done: &Result<()>, there: bool) {
        let mut marked = self.marked.borrow_mut();
        match done {
            Ok(()) => _ = marked.insert(writer.clone(), there),
            Err(_) => _ = marked.remove(writer),
        }
    }

    /// Notes that a command is given.
    pub(crate) fn give(&self, page: &Page, session: &str, sent: Sent) -> usize {
        let op = usize::try_from(self.number()).unwrap();
        let level = page.engine.level();
        let session = session.to_owned();
        self.records.borrow_mut().push(Record { op, scope: page.scope, session, sent, ack: None, level });
        op
    }

    pub(crate) fn knows(&self, scope: usize, session: &str, id: &CheckpointId) {
        self.known.borrow_mut().entry((scope, session.to_owned())).or_default().push(id.clone());
    }

    fn hear(&self, op: usize, event: &Event<String>) {
        // Where nothing had to be changed, it is told that something may have been.
        if !matches!(event, Event::Changed { .. }) && !self.disk.has_committed(op) {
            self.wrong.borrow_mut().push(format!("told before it was committed: {event:?}"));
        }
        if let Event::Created(cp) = event {
            self.told.borrow_mut().insert((op, cp.id.clone()));
        }
    }
}

/// Opens a store in a page, as the package does: a mark in the database tells of those that did not end well, and a database
/// that has one is healed first.
pub(crate) async fn open(shared: &Rc<Shared>, number: usize, seed: u64) -> Result<Rc<Page>> {
    let (scope, strict) = shared.setting[number];
    let op = Rc::new(Cell::new(0));
    let storage = SimStorage::new(&shared.disk, number, strict, op.clone());
    let (hears, current) = (Rc::downgrade(shared), op.clone());
    let listener = Box::new(move |event: Event<String>| {
        if let Some(shared) = hears.upgrade() {
            shared.hear(current.get(), &event);
        }
    });
    let chance = Box::new(Chance(shared.clone(), seed));
    let engine = Engine::open(storage.clone(), scope_id(scope), shared.retention, chance, listener).await?;
    shared.live.borrow_mut().insert(engine.writer().clone());
    let live = shared.live.borrow().clone();
    let dead = engine.before().iter().filter(|one| !live.contains(one)).cloned().collect();
    let (seen, own) = Default::default();
    let page = Rc::new(Page { scope, engine, storage, op, seen, own, dead: RefCell::new(dead) });
    shared.pages.borrow_mut().insert(number, page.clone());
    if page.dead.borrow().is_empty() {
        let arrived = page.under(0, page.engine.arrive(&[])).await;
        shared.marks(page.engine.writer(), &arrived, true);
    } else {
        page.storage.distrust();
        drop(page.under(0, heal(shared, &page)).await);
    }
    Ok(page)
}

/// Heals a database that is not trusted, unless another page has.
pub(crate) async fn heal(shared: &Rc<Shared>, page: &Page) -> Result<()> {
    let _alone = alone(shared).await;
    let dead = page.dead.borrow().clone();
    let marks = page.engine.marks().await?;
    if !dead.is_empty() && !dead.iter().any(|one| marks.contains(one)) {
        page.storage.trust();
    } else {
        page.engine.identify().await?;
        page.storage.heal().await?;
    }
    let dead = page.dead.take();
    let arrived = page.engine.arrive(&dead).await;
    shared.marks(page.engine.writer(), &arrived, true);
    arrived
}
