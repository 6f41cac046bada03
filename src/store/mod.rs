//! The storage port: one atomic command is reads, then a pure plan, then writes.
//!
//! A planner is a plain function of a [`View`]. Where it asks for a row the view has not read yet, it stops with
//! [`Pause::Need`]; the storage reads the row in the same transaction and calls the planner again from the top. So
//! planners read like straight code, reads that do not depend on each other go out together, and no foreign await can
//! ever stand between the reads and the writes of a transaction: by type, not by discipline.

pub mod memory;

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use crate::codec::key::{ById, Key, Range, Store, Where};
use crate::codec::row::Row;
use crate::error::{Code, Error, Result};
use crate::model::body::Text;
use crate::model::sorted::Map;

/// Something a planner wants to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Request {
    /// One row.
    Row(Key),
    /// The rows of a range in key order.
    Rows {
        /// The range.
        range: Range,
        /// At most this many.
        limit: Option<u32>,
    },
    /// The keys of a range in key order.
    Keys(Range),
    /// A checkpoint by its id.
    ById(ById),
    /// The checkpoints of a session that have something in common, in key order.
    Where(Where),
}

/// A row as it was read.
#[derive(Clone, Debug)]
pub enum Read<T> {
    /// The row.
    Row(Rc<Row<T>>),
    /// A row that is there and cannot be read. Never treated as absent, never deleted for it.
    Unreadable(Error),
}

impl<T> Read<T> {
    /// The row.
    ///
    /// # Errors
    /// `RecordUnreadable` when it cannot be read.
    pub fn row(&self) -> Result<&Rc<Row<T>>> {
        match self {
            Read::Row(row) => Ok(row),
            Read::Unreadable(error) => Err(error.clone()),
        }
    }
}

/// What a storage answers to a request.
#[derive(Clone, Debug)]
pub enum Answer<T> {
    /// To `Row` and `ById`.
    Row(Option<Read<T>>),
    /// To `Rows` and `Where`.
    Rows(Rc<Vec<Read<T>>>),
    /// To `Keys`.
    Keys(Rc<Vec<Key>>),
}

/// Why a planner stopped.
#[derive(Debug)]
pub enum Pause {
    /// It needs these answers first.
    Need(Vec<Request>),
    /// The command fails; nothing is written.
    Fail(Error),
}

impl From<Error> for Pause {
    fn from(error: Error) -> Self {
        Pause::Fail(error)
    }
}

/// A planner's result.
pub type Planned<A> = std::result::Result<A, Pause>;

/// Joins two results that do not depend on each other, so that what they need is read together.
///
/// # Errors
/// `Need` with what either needs; `Fail` when either fails.
pub fn both<A, B>(a: Planned<A>, b: Planned<B>) -> Planned<(A, B)> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(Pause::Need(mut first)), Err(Pause::Need(second))) => {
            first.extend(second);
            Err(Pause::Need(first))
        }
        (Err(fail @ Pause::Fail(_)), _) | (_, Err(fail @ Pause::Fail(_))) => Err(fail),
        (Err(need), _) | (_, Err(need)) => Err(need),
    }
}

/// What a transaction has read so far.
#[derive(Debug)]
pub struct View<T> {
    answers: RefCell<Map<Request, Answer<T>>>,
}

impl<T> Default for View<T> {
    fn default() -> Self {
        View { answers: RefCell::new(Map::new()) }
    }
}

impl<T: Text> View<T> {
    /// Keeps what the storage answered.
    pub fn learn(&self, request: Request, answer: Answer<T>) {
        self.answers.borrow_mut().insert(request, answer);
    }

    fn ask(&self, request: Request) -> Planned<Answer<T>> {
        match self.answers.borrow().get(&request) {
            Some(answer) => Ok(answer.clone()),
            None => Err(Pause::Need(vec![request])),
        }
    }

    /// Stops with every request that is not answered yet, so that they are read together.
    ///
    /// # Errors
    /// `Need` with those requests.
    pub fn want(&self, requests: impl IntoIterator<Item = Request>) -> Planned<()> {
        let answers = self.answers.borrow();
        let missing: Vec<_> = requests.into_iter().filter(|request| !answers.contains_key(request)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Pause::Need(missing)) }
    }

    /// One row, or that there is none.
    ///
    /// # Errors
    /// `Need` until it is read, `Fail` when it cannot be read.
    pub fn row(&self, key: Key) -> Planned<Option<Rc<Row<T>>>> {
        match self.ask(Request::Row(key.clone()))? {
            Answer::Row(None) => Ok(None),
            Answer::Row(Some(read)) => Ok(Some(read.row()?.clone())),
            _ => Err(mismatch()),
        }
    }

    /// One row as it was read, unreadable or not.
    ///
    /// # Errors
    /// `Need` until it is read.
    pub fn raw(&self, key: Key) -> Planned<Option<Read<T>>> {
        match self.ask(Request::Row(key.clone()))? {
            Answer::Row(read) => Ok(read),
            _ => Err(mismatch()),
        }
    }

    /// The rows of a range in key order.
    ///
    /// # Errors
    /// `Need` until they are read.
    pub fn rows(&self, range: Range, limit: Option<u32>) -> Planned<Rc<Vec<Read<T>>>> {
        match self.ask(Request::Rows { range: range.clone(), limit })? {
            Answer::Rows(rows) => Ok(rows),
            _ => Err(mismatch()),
        }
    }

    /// The keys of a range in key order.
    ///
    /// # Errors
    /// `Need` until they are read.
    pub fn keys(&self, range: Range) -> Planned<Rc<Vec<Key>>> {
        match self.ask(Request::Keys(range.clone()))? {
            Answer::Keys(keys) => Ok(keys),
            _ => Err(mismatch()),
        }
    }

    /// The checkpoints of a session that have something in common, in key order.
    ///
    /// # Errors
    /// `Need` until they are read.
    pub fn having(&self, those: Where) -> Planned<Rc<Vec<Read<T>>>> {
        match self.ask(Request::Where(those))? {
            Answer::Rows(rows) => Ok(rows),
            _ => Err(mismatch()),
        }
    }

    /// A checkpoint row by its id.
    ///
    /// # Errors
    /// `Need` until it is read, `Fail` when it cannot be read.
    pub fn by_id(&self, by_id: ById) -> Planned<Option<Rc<Row<T>>>> {
        match self.ask(Request::ById(by_id.clone()))? {
            Answer::Row(None) => Ok(None),
            Answer::Row(Some(read)) => Ok(Some(read.row()?.clone())),
            _ => Err(mismatch()),
        }
    }
}

fn mismatch() -> Pause {
    Pause::Fail(Error::new(Code::Internal, "the storage answered something else than it was asked"))
}

/// One write of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Op<T> {
    /// Writes a row.
    Put(Key, Row<T>),
    /// Removes a row.
    Delete(Key),
    /// Removes every row of a range.
    DeleteRange(Range),
    /// Moves a row as it is stored, whether it can be read or not.
    Move(Key, Key),
}

/// What a command will do: its writes, and what to answer once they are committed.
#[derive(Clone, Debug)]
pub struct Plan<T, A> {
    /// The writes, in order.
    pub writes: Vec<Op<T>>,
    /// The answer.
    pub answer: A,
}

impl<T, A> Plan<T, A> {
    /// A plan that writes nothing.
    pub fn read(answer: A) -> Self {
        Plan { writes: Vec::new(), answer }
    }
}

/// What a command may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether it writes.
    pub write: bool,
    /// The stores it reads or writes. Commands that share no store do not wait for each other.
    pub stores: &'static [Store],
}

impl Access {
    /// Reads from stores.
    #[must_use]
    pub const fn read(stores: &'static [Store]) -> Self {
        Access { write: false, stores }
    }

    /// Reads from and writes to stores.
    #[must_use]
    pub const fn write(stores: &'static [Store]) -> Self {
        Access { write: true, stores }
    }
}

/// How durable what a storage has acknowledged is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Gone with the page.
    Memory,
    /// Handed to the operating system, not known to be flushed.
    Os,
    /// A strict transaction has completed.
    Disk,
}

impl Level {
    /// The word JavaScript uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::Memory => "memory",
            Level::Os => "os",
            Level::Disk => "disk",
        }
    }
}

/// A row as the caller believes it to be.
pub type Guess<T> = (Key, Rc<Row<T>>);

/// The step of a command as a storage sees it: what was read goes in, the writes come out.
pub type Step<'a, T> = dyn FnMut(&View<T>) -> Planned<Vec<Op<T>>> + 'a;

/// A place that runs commands atomically.
pub trait Storage {
    /// The kind of text it holds.
    type Text: Text;

    /// Runs one command: calls `step` until it gives writes, writes them, and returns once they are committed.
    ///
    /// `guess` may save a storage a round trip: it may plan on rows believed to be so, if it commits nothing of that plan
    /// unless its own transaction reads the very same rows.
    ///
    /// # Errors
    /// What `step` failed with, or why the storage could not commit; in both cases nothing was written. Only
    /// `ConnectionLost` leaves open whether it was.
    fn transact(
        &self,
        access: Access,
        guess: &[Guess<Self::Text>],
        step: &mut Step<'_, Self::Text>,
    ) -> impl Future<Output = Result<()>>;

    /// Runs one planner, and gives its answer once its writes are committed.
    ///
    /// # Errors
    /// As [`Storage::transact`].
    fn run<A>(
        &self,
        access: Access,
        planner: impl FnMut(&View<Self::Text>) -> Planned<Plan<Self::Text, A>>,
    ) -> impl Future<Output = Result<A>> {
        self.run_guessing(access, &[], planner)
    }

    /// [`Storage::run`] with a guess at what the planner will read.
    ///
    /// # Errors
    /// As [`Storage::transact`].
    fn run_guessing<A>(
        &self,
        access: Access,
        guess: &[Guess<Self::Text>],
        mut planner: impl FnMut(&View<Self::Text>) -> Planned<Plan<Self::Text, A>>,
    ) -> impl Future<Output = Result<A>> {
        async move {
            let mut answer = None;
            let mut step = |view: &View<Self::Text>| {
                let plan = planner(view)?;
                answer = Some(plan.answer);
                Ok(plan.writes)
            };
            // One compiled copy of a transaction serves every command.
            self.transact(access, guess, &mut step).await?;
            answer.ok_or_else(|| Error::new(Code::Internal, "a command was committed without a plan"))
        }
    }

    /// How durable its acknowledgements are now.
    fn level(&self) -> Level;
}
