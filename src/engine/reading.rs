//! Reads: none of them changes anything.

use super::{Engine, HISTORY, LOAD, READ};
use crate::codec::key::Store;
use crate::error::Result;
use crate::ids::{CheckpointId, SessionId};
use crate::model::checkpoint::Checkpoint;
use crate::model::session::Session;
use crate::plan::bundle::{self, Bundle};
use crate::plan::diff::{self, Diff, Place};
use crate::plan::mirror::{self, Seen, Share};
use crate::plan::read::{self, Contents, List, Loaded, Page};
use crate::plan::status::{self, Preview, Question, Status};
use crate::plan::verify::{self, Report};
use crate::store::{Access, Storage};

impl<S: Storage> Engine<S> {
    /// Reads a checkpoint with everything in it: the newest, or one by its id.
    ///
    /// # Errors
    /// `RecordUnreadable`.
    pub async fn load(
        &self,
        session: &SessionId,
        checkpoint: Option<&CheckpointId>,
    ) -> Result<Option<Loaded<S::Text>>> {
        let hint = self.recall.hint(session);
        let loaded =
            self.storage.run(LOAD, |view| read::load(view, &self.scope, session, checkpoint, hint.as_ref())).await?;
        if let Some(newest) = loaded.as_ref().filter(|loaded| loaded.epoch.is_some()) {
            self.recall.saw(&newest.checkpoint);
        }
        Ok(loaded)
    }

    /// Reads a checkpoint's `ui` part alone.
    ///
    /// # Errors
    /// `UnknownCheckpoint`, `RecordUnreadable`.
    pub async fn ui(&self, session: &SessionId, checkpoint: &CheckpointId) -> Result<Contents<S::Text>> {
        self.storage.run(LOAD, |view| read::ui(view, &self.scope, session, checkpoint)).await
    }

    /// Reads a state's message ids, in order.
    ///
    /// # Errors
    /// `UnknownCheckpoint`, `RecordUnreadable`.
    pub async fn message_ids(&self, session: &SessionId, checkpoint: &CheckpointId) -> Result<Vec<S::Text>> {
        self.storage.run(LOAD, |view| read::message_ids(view, &self.scope, session, checkpoint)).await
    }

    /// Reads one page of a session's checkpoints, newest first.
    ///
    /// # Errors
    /// `UnknownCheckpoint` when the page begins before one that does not exist.
    pub async fn list(&self, command: &List<S::Text>) -> Result<Page<S::Text>> {
        self.storage.run(READ, |view| read::list(view, command)).await
    }

    /// Compares two checkpoints.
    ///
    /// # Errors
    /// `UnknownCheckpoint`, `RecordUnreadable`.
    pub async fn diff(&self, a: &Place, b: &Place, load: bool) -> Result<Diff<S::Text>> {
        self.storage.run(LOAD, |view| diff::plan(view, &self.scope, a, b, load)).await
    }

    /// The newest operations of a session, and the place of the one that `undo` would undo next.
    ///
    /// # Errors
    /// `UnknownSession`.
    pub async fn operations(&self, session: &SessionId, limit: u32) -> Result<(Vec<Checkpoint<S::Text>>, Option<u32>)> {
        self.storage.run(READ, |view| read::operations(view, &self.scope, session, limit)).await
    }

    /// What an operation would change.
    ///
    /// # Errors
    /// What the operation itself would fail with.
    pub async fn preview(&self, session: &SessionId, question: &Question) -> Result<Preview<S::Text>> {
        self.storage.run(LOAD, |view| status::preview(view, &self.scope, session, question)).await
    }

    /// The sessions of the scope, newest first.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn sessions(&self) -> Result<Vec<Session>> {
        self.storage.run(Access::read(&[Store::Sessions]), |view| read::sessions(view, &self.scope)).await
    }

    /// One session's head; `None` when there is none.
    ///
    /// # Errors
    /// `RecordUnreadable`.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.storage.run(Access::read(&[Store::Sessions]), |view| read::session(view, &self.scope, id)).await
    }

    /// What the store holds.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn status(&self) -> Result<Status> {
        let access = Access::read(&[
            Store::Meta,
            Store::Sessions,
            Store::Checkpoints,
            Store::Messages,
            Store::Objects,
            Store::Writes,
        ]);
        self.storage.run(access, |view| status::status(view, &self.scope)).await
    }

    /// Checks every record.
    ///
    /// # Errors
    /// Whatever the storage fails with; a damaged record is a finding, not an error.
    pub async fn verify(&self) -> Result<Report> {
        self.storage.run(Access::read(Store::ALL), verify::plan).await
    }

    /// Exports sessions, or all of the scope.
    ///
    /// # Errors
    /// `UnknownSession`, `RecordUnreadable`.
    pub async fn export(&self, only: Option<&[SessionId]>) -> Result<Bundle<S::Text>> {
        let access = Access::read(HISTORY);
        self.storage.run(access, |view| bundle::export(view, &self.scope, only)).await
    }

    /// What a mirror is given of a session: the newest `most` headers, and what they reach beyond a checkpoint that it has.
    /// `None` when there is nothing in the session.
    ///
    /// # Errors
    /// `RecordUnreadable`.
    pub async fn share(&self, session: &SessionId, after: Option<Seen>, most: u32) -> Result<Option<Share<S::Text>>> {
        let access = Access::read(HISTORY);
        self.storage.run(access, |view| mirror::share(view, &self.scope, session, after, most)).await
    }
}
