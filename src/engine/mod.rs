//! The engine: one method for each command, over any storage. Natively and in the browser it is the same code.
//!
//! A method draws what is not a function of stored rows (time, randomness), runs one planner in one transaction, and tells
//! listeners what happened, in that order: nothing is announced before it is committed.

mod marks;
mod reading;
mod recall;
mod removal;
mod turns;
mod writing;

use std::cell::Cell;

use recall::Recall;
pub use turns::{Match, Stepped};
pub use writing::Saved;
use writing::{WHOLE_STEP, WRITE};

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Meta, Row};
use crate::error::Result;
use crate::ids::{CheckpointId, DeviceId, RunId, ScopeId, SessionId, Stamp, TaskId, TurnId, WriterId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::part::Part;
use crate::model::retention::Retention;
use crate::plan::bundle::{self, Bundle, Imported, OnExisting};
use crate::plan::fork::{self, Fork};
use crate::plan::marks::all as marked;
use crate::plan::parts::Named;
use crate::plan::recover::{self, Recover};
use crate::plan::repair::{self, Repaired};
use crate::plan::restore::{self, Restore, Restored, Target};
use crate::plan::{delete, inspect, pending};
use crate::store::{Access, Level, Op, Plan, Planned, Request, Storage, View};

/// Time and randomness.
pub trait Platform {
    /// The clock, in epoch milliseconds.
    fn now(&self) -> u64;
    /// 32 random bytes.
    ///
    /// # Errors
    /// `Unavailable` where the platform has no source of randomness.
    fn random(&self) -> Result<[u8; 32]>;
}

/// What a listener hears, after it is committed.
#[derive(Clone, Debug)]
pub enum Event<T> {
    /// A checkpoint was written (P-10).
    Created(Box<Checkpoint<T>>),
    /// A session's head, title or checkpoints changed.
    Changed {
        /// The session.
        session: SessionId,
        /// Why, in a word.
        reason: &'static str,
    },
    /// A session was deleted.
    Deleted(SessionId),
    /// A turn was begun.
    Began(SessionId, RunId),
    /// A run ended: its turn was finished, taken away or recovered.
    Ended(SessionId, RunId),
    /// A turn was finished.
    Turned {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// Its last checkpoint.
        checkpoint: CheckpointId,
    },
    /// More of a message that is still being written was saved.
    Streamed(SessionId, RunId),
    /// A restore was made.
    Restored {
        /// The session.
        session: SessionId,
        /// The new newest checkpoint.
        checkpoint: CheckpointId,
        /// The checkpoint that was restored.
        target: Option<CheckpointId>,
        /// The state before.
        restore_point: CheckpointId,
    },
}

/// Every store that holds what sessions are made of.
const HISTORY: &[Store] =
    &[Store::Sessions, Store::Checkpoints, Store::Messages, Store::References, Store::Objects, Store::Writes];
const READ: Access = Access::read(&[Store::Sessions, Store::Checkpoints]);
const LOAD: Access = Access::read(&[
    Store::Sessions,
    Store::Checkpoints,
    Store::Messages,
    Store::Objects,
    Store::Writes,
    Store::Streams,
]);
const HEADS: Access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Streams]);
const RESTORE: Access =
    Access::write(&[Store::Sessions, Store::Checkpoints, Store::Messages, Store::Objects, Store::Streams]);
const PENDING: Access =
    Access::write(&[Store::Sessions, Store::Checkpoints, Store::References, Store::Objects, Store::Writes]);

/// What a recovery left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The checkpoint that was interrupted, or holds what was.
    pub checkpoint: CheckpointId,
    /// The run that was interrupted, where a turn was.
    pub run: Option<RunId>,
    /// The session's epoch before.
    pub from: u64,
    /// The session's epoch now.
    pub epoch: u64,
}

/// The device id of a database; `None` where it has none yet. Where its row cannot be read nothing is written over it until
/// it is repaired, and whoever opens the database goes by an id of its own.
fn identity<T: Text>(view: &View<T>, own: &DeviceId) -> Planned<Option<DeviceId>> {
    Ok(view.raw(Key::meta())?.map(|read| match read.row().map(|row| &**row) {
        Ok(Row::Meta(meta)) => meta.device.clone(),
        _ => own.clone(),
    }))
}

/// Gives a database a device id, unless it has one.
async fn identify<S: Storage>(storage: &S, device: &DeviceId, now: u64) -> Result<DeviceId> {
    let create = |view: &View<S::Text>| {
        // Another tab may have been first.
        if let Some(device) = identity(view, device)? {
            return Ok(Plan::read(device));
        }
        let meta = Row::Meta(Meta { device: device.clone(), created: now });
        Ok(Plan { writes: vec![Op::Put(Key::meta(), meta)], answer: device.clone() })
    };
    storage.run(Access::write(&[Store::Meta]), create).await
}

/// One scope of a database.
pub struct Engine<S: Storage> {
    storage: S,
    scope: ScopeId,
    device: DeviceId,
    writer: WriterId,
    before: Vec<WriterId>,
    retention: Retention,
    platform: Box<dyn Platform>,
    listener: Box<dyn Fn(Event<S::Text>)>,
    /// The newest instant a stamp was drawn at, and how many were drawn then.
    drawn: Cell<(u64, u16)>,
    recall: Recall<S::Text>,
}

impl<S: Storage> Engine<S> {
    /// Opens a scope. A database that is new gets its device id, which also proves that it can be written.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn open(
        storage: S,
        scope: ScopeId,
        retention: Retention,
        platform: Box<dyn Platform>,
        listener: Box<dyn Fn(Event<S::Text>)>,
    ) -> Result<Self> {
        // To draw a device and a writer id needs neither: any will do.
        let nobody = WriterId::parse("new")?;
        let stamp = Stamp::new(platform.now(), DeviceId::parse("new")?, nobody, platform.random()?, 0);
        let own = stamp.fresh_device();
        let find = |view: &View<S::Text>| {
            view.want([Request::Row(Key::meta()), Request::Keys(Range::marks())])?;
            Ok(Plan::read((identity(view, &own)?, marked(view)?)))
        };
        let (device, before) = storage.run(Access::read(&[Store::Meta]), find).await?;
        let device = match device {
            Some(device) => device,
            None => identify(&storage, &own, stamp.now).await?,
        };
        Ok(Engine {
            storage,
            scope,
            device,
            writer: stamp.fresh_writer(),
            before,
            retention,
            platform,
            listener,
            drawn: Cell::new((0, 0)),
            recall: Recall::default(),
        })
    }

    /// The storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// This browser profile.
    pub fn device(&self) -> &DeviceId {
        &self.device
    }

    /// This open store.
    pub fn writer(&self) -> &WriterId {
        &self.writer
    }

    /// The open stores that had a mark in the database when this one was opened.
    pub fn before(&self) -> &[WriterId] {
        &self.before
    }

    /// The scope.
    pub fn scope(&self) -> &ScopeId {
        &self.scope
    }

    /// How durable what this engine acknowledges is.
    pub fn level(&self) -> Level {
        self.storage.level()
    }

    /// Time, randomness and device of one command.
    ///
    /// # Errors
    /// `Unavailable` where there is no randomness.
    pub fn stamp(&self) -> Result<Stamp> {
        let now = self.platform.now();
        let (last, count) = self.drawn.get();
        let count = if now == last { count.wrapping_add(1) } else { 0 };
        self.drawn.set((now, count));
        Ok(Stamp::new(now, self.device.clone(), self.writer.clone(), self.platform.random()?, count))
    }

    fn changed(&self, session: &SessionId, reason: &'static str) {
        self.recall.unsure(session);
        (self.listener)(Event::Changed { session: session.clone(), reason });
    }

    /// Restores: rollback (P-13), undo or redo.
    ///
    /// # Errors
    /// `UnknownSession`, `UnknownCheckpoint`, `NothingToUndo`, `NothingToRedo`, `Conflict`.
    pub async fn restore(
        &self,
        session: SessionId,
        target: Target,
        run: Option<RunId>,
        commit: Option<String>,
        expect: Option<u64>,
    ) -> Result<Restored<S::Text>> {
        let command = Restore {
            scope: self.scope.clone(),
            session,
            target,
            commit,
            expect,
            run,
            stamp: self.stamp()?,
            retention: self.retention,
        };
        let access = if matches!(command.target, Target::Undo | Target::Redo) { HEADS } else { RESTORE };
        let restored = self.storage.run(access, |view| restore::plan(view, &command)).await?;
        (self.listener)(Event::Created(Box::new(restored.restore_point.clone())));
        (self.listener)(Event::Created(Box::new(restored.checkpoint.clone())));
        (self.listener)(Event::Restored {
            session: command.session.clone(),
            checkpoint: restored.checkpoint.id.clone(),
            target: restored.target.clone(),
            restore_point: restored.restore_point.id.clone(),
        });
        if let Some(run) = &restored.ended {
            (self.listener)(Event::Ended(command.session.clone(), run.clone()));
        }
        self.changed(&command.session, "restore");
        self.recall.saw(&restored.checkpoint);
        Ok(restored)
    }

    /// Rolls a session back to a checkpoint, every part of it.
    ///
    /// # Errors
    /// As [`Engine::restore`].
    pub async fn rollback(
        &self,
        session: SessionId,
        id: CheckpointId,
        expect: Option<u64>,
    ) -> Result<Restored<S::Text>> {
        self.restore(session, Target::Rollback { id, parts: Part::ALL.to_vec() }, None, None, expect).await
    }

    /// Forks a session (P-15).
    ///
    /// # Errors
    /// `UnknownSession`, `UnknownCheckpoint`, `AlreadyExists`.
    pub async fn fork(
        &self,
        source: SessionId,
        checkpoint: CheckpointId,
        target: SessionId,
    ) -> Result<Checkpoint<S::Text>> {
        let command = Fork { scope: self.scope.clone(), source, checkpoint, target, stamp: self.stamp()? };
        let access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Writes]);
        let forked = self.storage.run(access, |view| fork::plan(view, &command)).await?;
        (self.listener)(Event::Created(Box::new(forked.clone())));
        self.changed(&command.target, "fork");
        Ok(forked)
    }

    /// Pins or unpins a checkpoint.
    ///
    /// # Errors
    /// `UnknownSession`, `UnknownCheckpoint`.
    pub async fn pin(&self, session: &SessionId, checkpoint: &CheckpointId, pinned: bool) -> Result<()> {
        self.storage.run(HEADS, |view| delete::pin(view, &self.scope, session, checkpoint, pinned)).await?;
        self.changed(session, "pin");
        Ok(())
    }

    /// Gives the database its device id again, where the browser has made it anew under this engine.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn identify(&self) -> Result<()> {
        identify(&self.storage, &self.device, self.platform.now()).await.map(|_| ())
    }

    /// Sets or removes a session's title.
    ///
    /// # Errors
    /// `TooLarge`.
    pub async fn set_title(&self, session: &SessionId, title: Option<String>) -> Result<()> {
        let stamp = self.stamp()?;
        let access = Access::write(&[Store::Sessions, Store::Checkpoints]);
        self.storage.run(access, |view| delete::title(view, &self.scope, session, title.clone(), &stamp)).await?;
        self.changed(session, "title");
        Ok(())
    }

    /// Attaches writes to the newest checkpoint of a session.
    ///
    /// # Errors
    /// `UnknownSession`, `UnknownCheckpoint`, `TooLarge`.
    pub async fn put_writes(&self, session: &SessionId, task: &TaskId, values: &[Named<S::Text>]) -> Result<()> {
        self.storage.run(PENDING, |view| pending::put(view, &self.scope, session, task, values)).await
    }

    /// Finalizes (or drops) an interrupted session's newest checkpoint and gives it with the session's new epoch; `None`
    /// when it is not interrupted.
    ///
    /// # Errors
    /// `UnknownSession`.
    pub async fn recover(&self, session: SessionId, drop: bool) -> Result<Option<Done>> {
        let command = Recover { scope: self.scope.clone(), session, drop, stamp: self.stamp()? };
        let recovered = self.storage.run(WHOLE_STEP, |view| recover::plan(view, &command)).await?;
        let Some(recovered) = recovered else { return Ok(None) };
        if let Some(created) = recovered.created {
            (self.listener)(Event::Created(Box::new(created)));
        }
        self.changed(&command.session, "recover");
        if let Some(run) = &recovered.run {
            (self.listener)(Event::Ended(command.session, run.clone()));
        }
        Ok(Some(Done {
            checkpoint: recovered.interrupted,
            run: recovered.run,
            from: recovered.from,
            epoch: recovered.epoch,
        }))
    }

    /// Puts aside what cannot be read, and writes the books again from what can; or only tells what that would do.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn repair(&self, dry_run: bool) -> Result<Repaired> {
        let stamp = self.stamp()?;
        let access = Access { write: !dry_run, stores: Store::ALL };
        let plan = |view: &View<S::Text>| {
            let mut plan = repair::plan(view, &stamp)?;
            if dry_run {
                plan.writes.clear();
            }
            Ok(plan)
        };
        let repaired = self.storage.run(access, plan).await?;
        for (_, session) in repaired.sessions.iter().filter(|(scope, _)| !dry_run && *scope == self.scope) {
            self.recall.forget(session);
            self.changed(session, "repair");
        }
        Ok(repaired)
    }

    /// Imports a bundle: all of it, or nothing. Everything in it is checked before the transaction opens.
    ///
    /// # Errors
    /// `BadBundle`, `AlreadyExists`.
    pub async fn import(&self, bundle: &Bundle<S::Text>, on: OnExisting) -> Result<Imported> {
        inspect::check(bundle)?;
        let stamp = self.stamp()?;
        let access = Access::write(HISTORY);
        let imported = self.storage.run(access, |view| bundle::import(view, &self.scope, bundle, on, &stamp)).await?;
        for (_, id, ..) in &imported.sessions {
            self.changed(id, "import");
        }
        Ok(imported)
    }
}
