//! The storage port over the fake, as `src/browser` has it over the real one: one command is one transaction, a guess is
//! verified by what its own transaction reads, and every way a transaction can end is told by its code.

use std::cell::Cell;
use std::rc::Rc;

use turnmark::error::{Code, Error, Result};
use turnmark::store::{Access, Answer, Guess, Level, Op, Pause, Read, Request, Step, Storage, View};

use super::disk::{Disk, End, Item, Reason, filler};
use super::executor::give_way;

/// What a page knows of its connection.
pub(crate) struct Handle {
    disk: Disk,
    page: usize,
    pub(crate) strict: bool,
    connection: Cell<Option<usize>>,
    suspect: Cell<bool>,
    /// The command that is given now.
    pub(crate) op: Rc<Cell<usize>>,
}

/// A store of a page. Clones share its connection; each lane of a page has its own current command.
#[derive(Clone)]
pub(crate) struct SimStorage(pub(crate) Rc<Handle>);

/// A transaction of a page. Dropped before its end, it is aborted.
struct Open {
    disk: Disk,
    id: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.disk.leave(self.id);
    }
}

struct Failure {
    error: Error,
    is_dead: bool,
    is_unsent: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, is_dead: false, is_unsent: true }
    }
}

fn lost(sent: bool) -> Error {
    let after = if sent { "whether this was saved is not known" } else { "nothing was written" };
    Error::new(Code::ConnectionLost, format!("the connection went away; {after}"))
}

fn threw() -> Error {
    Error::new(Code::NotStorable, "put threw; nothing was written")
}

impl SimStorage {
    pub(crate) fn new(disk: &Disk, page: usize, strict: bool, op: Rc<Cell<usize>>) -> SimStorage {
        let (connection, suspect) = Default::default();
        SimStorage(Rc::new(Handle { disk: disk.clone(), page, strict, connection, suspect, op }))
    }

    pub(crate) fn distrust(&self) {
        self.0.suspect.set(true);
    }

    pub(crate) fn trust(&self) {
        self.0.suspect.set(false);
    }

    pub(crate) fn is_suspect(&self) -> bool {
        self.0.suspect.get()
    }

    async fn connect(&self) -> usize {
        if let Some(connection) = self.0.connection.get() {
            if self.0.disk.is_open(connection) {
                return connection;
            }
            // The browser closed it, which it tells.
            self.distrust();
        }
        give_way().await;
        let connection = self.0.disk.connect(self.0.page);
        self.0.connection.set(Some(connection));
        connection
    }

    /// Makes the log rotate, by writing and removing what fills it.
    pub(crate) async fn heal(&self) -> Result<()> {
        use turnmark::codec::row::{Meta, Row};
        let access = turnmark::plan::marks::ACCESS;
        let device = turnmark::ids::DeviceId::parse("filler")?;
        let put = Op::Put(filler(), Row::Meta(Meta { device, created: 0 }));
        self.transact(access, &[], &mut |_| Ok(vec![put.clone()])).await?;
        self.transact(access, &[], &mut |_| Ok(vec![Op::Delete(filler())])).await?;
        self.trust();
        Ok(())
    }

    fn begin(&self, connection: usize, access: Access) -> Option<Open> {
        let handle = &self.0;
        let id = handle.disk.begin(connection, handle.op.get(), access, handle.strict)?;
        Some(Open { disk: handle.disk.clone(), id })
    }

    /// Sends writes. `Err` where the browser throws; then nothing of them counts.
    fn send(&self, open: &Open, writes: Vec<Op<String>>) -> Result<(), ()> {
        for op in writes {
            if matches!(op, Op::Put(..)) && self.0.disk.throws() {
                open.disk.abort(open.id);
                return Err(());
            }
            open.disk.send(open.id, [Item::Write(op)]);
        }
        Ok(())
    }

    fn unfinished(&self, open: &Open, end: End, sent: bool) -> Failure {
        match end {
            End::Aborted(reason) => {
                if reason == Reason::Unknown {
                    self.distrust();
                }
                let error = match reason {
                    Reason::Full => Error::new(Code::QuotaExceeded, "the disk is full; nothing was written"),
                    Reason::None | Reason::Unknown => Error::new(Code::Aborted, "aborted; nothing was written"),
                };
                let is_dead = reason == Reason::Unknown || (reason == Reason::None && !sent);
                Failure { error, is_dead, is_unsent: !sent }
            }
            End::Lost => Failure { error: lost(sent), is_dead: true, is_unsent: !sent },
            End::TimedOut if sent && !open.disk.abort(open.id) => {
                Failure { error: lost(true), is_dead: true, is_unsent: false }
            }
            End::TimedOut => {
                let error = Error::new(Code::TimedOut, "no answer; nothing was written");
                Failure { error, is_dead: true, is_unsent: false }
            }
            End::Complete => Error::new(Code::Internal, "committed while it was still reading").into(),
        }
    }

    async fn attempt(&self, connection: usize, access: Access, step: &mut Step<'_, String>) -> Result<(), Failure> {
        let gone = || Failure { error: lost(false), is_dead: true, is_unsent: true };
        let open = self.begin(connection, access).ok_or_else(gone)?;
        let view = View::default();
        let writes = loop {
            match step(&view) {
                Ok(writes) => break writes,
                Err(Pause::Fail(error)) => {
                    self.note();
                    return Err(error.into());
                }
                Err(Pause::Need(requests)) => {
                    open.disk.send(open.id, requests.into_iter().map(Item::Ask));
                    match open.disk.answered(open.id).await {
                        Ok(answers) => answers.into_iter().for_each(|(request, answer)| view.learn(request, answer)),
                        Err(end) => return Err(self.unfinished(&open, end, false)),
                    }
                }
            }
        };
        if writes.is_empty() {
            self.note();
            open.disk.release(open.id);
            return Ok(());
        }
        if !access.write {
            return Err(Error::new(Code::Internal, "a reading command planned a write").into());
        }
        if self.send(&open, writes).is_err() {
            return Err(Failure { is_unsent: false, ..threw().into() });
        }
        open.disk.seal(open.id);
        match open.disk.ended(open.id).await {
            End::Complete => Ok(()),
            end => Err(self.unfinished(&open, end, true)),
        }
    }

    /// Commits a command's writes if the guess they were planned on holds. `None`: nothing was written.
    async fn guess(&self, access: Access, guess: &[Guess<String>], step: &mut Step<'_, String>) -> Option<Result<()>> {
        let connection = self.connect().await;
        let open = self.begin(connection, access)?;
        let view = View::default();
        for (key, row) in guess {
            open.disk.send(open.id, [Item::Ask(Request::Row(key.clone()))]);
            view.learn(Request::Row(key.clone()), Answer::Row(Some(Read::Row(row.clone()))));
        }
        let writes = step(&view).ok().filter(|writes| !writes.is_empty())?;
        self.send(&open, writes).ok()?;
        let failed = |end: End| {
            let failure = self.unfinished(&open, end, true);
            if failure.is_dead {
                self.forget(connection);
            }
            failure.error
        };
        let answers = match open.disk.answered(open.id).await {
            Ok(answers) => answers,
            Err(End::Aborted(_)) => return None,
            Err(end) => return Some(Err(failed(end))),
        };
        let holds = |(request, answer): &(Request, Answer<String>)| {
            let believed = guess.iter().find(|(key, _)| *request == Request::Row(key.clone()));
            matches!((believed, answer), (Some((_, a)), Answer::Row(Some(Read::Row(b)))) if a == b)
        };
        if !answers.iter().all(holds) {
            open.disk.abort(open.id);
            return None;
        }
        open.disk.seal(open.id);
        match open.disk.ended(open.id).await {
            End::Complete => Some(Ok(())),
            end => Some(Err(failed(end))),
        }
    }

    /// What a command that writes nothing has seen, it has seen now.
    fn note(&self) {
        self.0.disk.note(self.0.op.get());
    }

    fn forget(&self, connection: usize) {
        if self.0.connection.get() == Some(connection) {
            self.0.connection.set(None);
        }
    }
}

impl Storage for SimStorage {
    type Text = String;

    async fn transact(&self, access: Access, guess: &[Guess<String>], step: &mut Step<'_, String>) -> Result<()> {
        if !guess.is_empty()
            && let Some(done) = self.guess(access, guess, step).await
        {
            return done;
        }
        let mut may_repeat = true;
        loop {
            let connection = self.connect().await;
            let Err(failure) = self.attempt(connection, access, step).await else { return Ok(()) };
            if failure.is_dead {
                self.forget(connection);
            }
            if !(failure.is_dead && failure.is_unsent && std::mem::take(&mut may_repeat)) {
                return Err(failure.error);
            }
        }
    }

    fn level(&self) -> Level {
        if self.0.suspect.get() || !self.0.strict { Level::Os } else { Level::Disk }
    }
}
