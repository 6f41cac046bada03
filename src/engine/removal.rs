//! Deletion and housekeeping: what goes, and what is collected after it.

use super::{Engine, HEADS, HISTORY, WRITE};
use crate::codec::key::Store;
use crate::error::{Code, Result};
use crate::ids::{CheckpointId, SessionId};
use crate::plan::collect::{self, Collected};
use crate::plan::prune::{self, Prune, Pruned};
use crate::plan::write::Upkeep;
use crate::plan::{compact, delete};
use crate::store::{Access, Op, Plan, Planned, Storage, View};

use super::Event;

impl<S: Storage> Engine<S> {
    /// Runs a command that deletes. On a full disk browsers refuse every transaction that writes a row; then the command is
    /// run without the rows it would write, where its answer allows that. They only keep books, and the books may count too much.
    async fn delete<A>(
        &self,
        access: Access,
        planner: impl Fn(&View<S::Text>) -> Planned<Plan<S::Text, A>>,
        needs_no_rows: impl Fn(&A) -> bool,
    ) -> Result<A> {
        match self.storage.run(access, &planner).await {
            Err(full) if full.code == Code::QuotaExceeded => {
                let lean = |view: &View<S::Text>| {
                    let mut plan = planner(view)?;
                    if !needs_no_rows(&plan.answer) {
                        return Err(full.clone().into());
                    }
                    plan.writes.retain(|op| !matches!(op, Op::Put(..)));
                    Ok(plan)
                };
                self.storage.run(access, lean).await
            }
            done => done,
        }
    }

    /// Deletes a checkpoint, then collects what nothing reaches any more. Where it was the newest, the one before it is the
    /// newest now, and the answer is the session's new epoch.
    ///
    /// # Errors
    /// `UnknownSession`, `UnknownCheckpoint`, `Protected`.
    pub async fn delete_checkpoint(&self, session: &SessionId, checkpoint: &CheckpointId) -> Result<Option<u64>> {
        let access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Writes]);
        let plan = |view: &View<S::Text>| delete::checkpoint(view, &self.scope, session, checkpoint);
        let moved = self.delete(access, plan, Option::is_none).await?;
        self.changed(session, "delete");
        self.collect_if_possible().await;
        Ok(moved)
    }

    /// Deletes all but the newest checkpoints (P-03), then collects what nothing reaches any more.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn prune(&self, session: SessionId, keep_last: u32) -> Result<Pruned> {
        let command = Prune { scope: self.scope.clone(), session, keep_last };
        let pruned = self.delete(HEADS, |view| prune::plan(view, &command), |_| true).await?;
        if !pruned.deleted.is_empty() {
            self.changed(&command.session, "prune");
            self.collect_if_possible().await;
        }
        Ok(pruned)
    }

    /// Deletes a session, then collects what only it reached.
    ///
    /// # Errors
    /// `UnknownSession`.
    pub async fn delete_session(&self, session: &SessionId) -> Result<()> {
        let access = Access::write(&[Store::Meta, Store::Sessions, Store::Checkpoints, Store::Writes, Store::Streams]);
        self.delete(access, |view| delete::session(view, &self.scope, session), |()| true).await?;
        self.recall.forget(session);
        (self.listener)(Event::Deleted(session.clone()));
        self.collect_if_possible().await;
        Ok(())
    }

    /// The deletion itself is committed. Where a damaged record forbids collecting, the records stay, and `verify` names it.
    async fn collect_if_possible(&self) {
        // Boxed, so that the commands do not each contain it.
        let _: Result<Collected> = Box::pin(self.collect()).await;
    }

    /// Removes what nothing reaches.
    ///
    /// # Errors
    /// `RecordUnreadable` when it cannot be known what is reached; then nothing is removed.
    pub async fn collect(&self) -> Result<Collected> {
        let access = Access::write(HISTORY);
        self.delete(access, collect::plan, |_| true).await
    }

    /// Does the housekeeping that a write found due. A failure only leaves it for the next time.
    ///
    /// # Errors
    /// Whatever the storage fails with.
    pub async fn upkeep(&self, session: &SessionId, due: Upkeep) -> Result<()> {
        self.recall.unsure(session);
        if due.compact {
            self.storage.run(WRITE, |view| compact::plan(view, &self.scope, session)).await?;
        }
        if due.collect {
            Box::pin(self.collect()).await?;
        }
        Ok(())
    }
}
