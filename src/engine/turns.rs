//! Turns and conversations: what the chat of a scope is made of.

use super::{Engine, Event, LOAD, Saved, WHOLE_STEP};
use crate::codec::key::Store;
use crate::codec::row::Stream;
use crate::error::{Error, Result};
use crate::ids::{CheckpointId, RunId, SessionId};
use crate::model::session::{Run, Session};
use crate::plan::change::Change;
use crate::plan::head;
use crate::plan::log::Incoming;
use crate::plan::prompt::{Place, check_users, place};
use crate::plan::sessions::{self, NewSession, Opened};
use crate::plan::stream;
use crate::plan::turn::{Begin, Step, check_idle};
use crate::plan::versions::{self, Version};
use crate::plan::write::Metadata;
use crate::store::{Access, Plan, Storage};

/// A turn that began, or a step of one.
#[derive(Clone, Debug)]
pub struct Stepped<T> {
    /// The checkpoint.
    pub saved: Saved<T>,
    /// Set when another writer was first: everything is in the branch that it names, and the turn can go on there.
    pub conflict: Option<Error>,
}

/// What a restore to a message would go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The prompt checkpoint.
    pub checkpoint: CheckpointId,
    /// The host's reference of its own files then.
    pub commit: Option<String>,
}

impl<S: Storage> Engine<S> {
    /// Begins a turn: one prompt checkpoint, before the user's message exists.
    ///
    /// # Errors
    /// `ActiveRun` when another run is at work in the session, `NotLoaded`, `InvalidArgument`, `TooLarge`.
    pub async fn begin(
        &self,
        session: SessionId,
        begin: Begin<S::Text>,
        change: Change<S::Text>,
        metadata: Metadata<S::Text>,
        expect: Option<u64>,
    ) -> Result<Stepped<S::Text>> {
        let run = begin.run.clone();
        let (saved, conflict) = self.save(session, change, metadata, Some(Step::Begin(begin)), expect).await?;
        (self.listener)(Event::Began(saved.checkpoint.session.clone(), run));
        Ok(Stepped { saved, conflict })
    }

    /// Goes on with a turn, or ends it.
    ///
    /// # Errors
    /// As [`Engine::write`], and `InvalidArgument` when the turn is over.
    pub async fn step(
        &self,
        session: SessionId,
        run: RunId,
        ends: bool,
        change: Change<S::Text>,
        metadata: Metadata<S::Text>,
        expect: Option<u64>,
    ) -> Result<Saved<S::Text>> {
        let step = if ends { Step::End(run.clone()) } else { Step::Go(run.clone()) };
        let (saved, conflict) = self.save(session.clone(), change, metadata, Some(step), expect).await?;
        if let Some(conflict) = conflict {
            return Err(conflict);
        }
        if ends {
            self.ended(&session, run);
            if let Some(turn) = &saved.checkpoint.turn {
                let (turn, checkpoint) = (turn.id.clone(), saved.checkpoint.id.clone());
                (self.listener)(Event::Turned { session, turn, checkpoint });
            }
        }
        Ok(saved)
    }

    fn ended(&self, session: &SessionId, run: RunId) {
        (self.listener)(Event::Ended(session.clone(), run));
    }

    /// Saves what was added to a message that is still being written.
    ///
    /// # Errors
    /// `Conflict` when the run is not the session's any more.
    pub async fn stream(&self, session: &SessionId, n: u32, row: &Stream<S::Text>) -> Result<()> {
        let access = Access::write(&[Store::Sessions, Store::Streams]);
        let guess = self.recall.guess(session);
        self.storage.run_guessing(access, &guess, |view| stream::put(view, &self.scope, session, n, row)).await?;
        (self.listener)(Event::Streamed(session.clone(), row.run.clone()));
        Ok(())
    }

    /// The turn that is answered in a session, and what was saved of the answer.
    ///
    /// # Errors
    /// `RecordUnreadable`.
    pub async fn streaming(&self, id: &SessionId) -> Result<Option<(Run, Option<Incoming<S::Text>>)>> {
        let plan = |view: &crate::store::View<S::Text>| {
            let Some(session) = head::find(view, &self.scope, id)? else { return Ok(Plan::read(None)) };
            let message = stream::read(view, &session)?;
            Ok(Plan::read(session.run.map(|run| (run, message))))
        };
        self.storage.run(Access::read(&[Store::Sessions, Store::Streams]), plan).await
    }

    /// Finds the prompt that a message came from.
    ///
    /// # Errors
    /// `UnknownSession`, `InvalidArgument`.
    pub async fn find_prompt(&self, id: &SessionId, message: &str) -> Result<Option<Match>> {
        self.match_for(id, message, |_| Ok(())).await
    }

    /// The same for whoever is about to go back there, with files to bring back first. `run` is the caller's own.
    ///
    /// # Errors
    /// As [`Engine::find_prompt`], and `ActiveRun`.
    pub async fn aim(&self, id: &SessionId, message: &str, run: Option<&RunId>) -> Result<Option<Match>> {
        self.match_for(id, message, |session| check_idle(session, run)).await
    }

    async fn match_for(
        &self,
        id: &SessionId,
        message: &str,
        check: impl Fn(&Session) -> Result<()>,
    ) -> Result<Option<Match>> {
        let plan = |view: &crate::store::View<S::Text>| {
            let session = head::session(view, &self.scope, id)?;
            check(&session)?;
            let Place { entry, prompt, .. } = place(view, &self.scope, id, &session.state, message)?;
            check_users(&entry, message)?;
            Ok(Plan::read(prompt.map(|prompt| Match { checkpoint: prompt.id, commit: prompt.commit })))
        };
        self.storage.run(LOAD, plan).await
    }

    /// The versions of the turn that a message opened, oldest first.
    ///
    /// # Errors
    /// `UnknownSession`, `InvalidArgument`.
    pub async fn versions(&self, session: &SessionId, message: &str) -> Result<Vec<Version<S::Text>>> {
        self.storage.run(LOAD, |view| Ok(Plan::read(versions::list(view, &self.scope, session, message)?))).await
    }

    /// Starts a conversation, and seals the one before it.
    ///
    /// # Errors
    /// `AlreadyExists`, `ActiveRun`, `UnknownSession`, `TooLarge`.
    pub async fn new_session(
        &self,
        id: SessionId,
        title: Option<String>,
        from: Option<SessionId>,
        commit: Option<String>,
        run: Option<RunId>,
    ) -> Result<Opened<S::Text>> {
        let command = NewSession {
            scope: self.scope.clone(),
            id,
            title,
            from,
            commit,
            run,
            stamp: self.stamp()?,
            retention: self.retention,
        };
        let opened = self.storage.run(WHOLE_STEP, |view| sessions::start(view, &command)).await?;
        if let Some(previous) = &opened.previous {
            if let Some(sealed) = &opened.sealed {
                (self.listener)(Event::Created(Box::new(sealed.clone())));
            }
            if let Some(run) = &opened.ended {
                self.ended(previous, run.clone());
            }
            self.changed(previous, "seal");
        }
        self.changed(&command.id, "open");
        Ok(opened)
    }

    /// Makes a conversation the active one of its scope, and gives the one that was.
    ///
    /// # Errors
    /// `UnknownSession`.
    pub async fn open_session(&self, id: &SessionId, commit: Option<&str>) -> Result<Option<SessionId>> {
        let access = Access::write(&[Store::Sessions]);
        let previous = self.storage.run(access, |view| sessions::open(view, &self.scope, id, commit)).await?;
        if previous.as_ref() != Some(id) {
            self.changed(id, "open");
        }
        Ok(previous)
    }

    /// The active conversation of the scope.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn active_session(&self) -> Result<Option<SessionId>> {
        self.storage.run(Access::read(&[Store::Sessions]), |view| sessions::active(view, &self.scope)).await
    }

    /// Sets or removes the id of the agent's own session.
    ///
    /// # Errors
    /// `UnknownSession`, `TooLarge`.
    pub async fn set_remote(&self, id: &SessionId, remote: Option<&str>) -> Result<()> {
        let access = Access::write(&[Store::Sessions]);
        self.storage.run(access, |view| sessions::remote(view, &self.scope, id, remote)).await?;
        self.changed(id, "remote");
        Ok(())
    }
}
