//! Writes: new content as one checkpoint, alone or as a step of a turn.

use super::{Engine, Event};
use crate::codec::key::Store;
use crate::error::{Code, Error, Result};
use crate::ids::SessionId;
use crate::model::checkpoint::Checkpoint;
use crate::plan::change::{Change, Known};
use crate::plan::turn::Step;
use crate::plan::write::{self, Metadata, Upkeep, Write};
use crate::store::{Access, Storage, View};

pub(super) const WRITE: Access =
    Access::write(&[Store::Sessions, Store::Checkpoints, Store::Messages, Store::References, Store::Objects]);
/// What most turns touch: fewer stores, and a shorter way through the browser.
const TURN: Access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Messages]);
/// What begins a turn: the prompt, and nothing of the chat.
const BEGIN: Access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Objects, Store::References]);
/// A step of a turn, which leaves nothing of a message that was growing.
const STEP: Access = Access::write(&[Store::Sessions, Store::Checkpoints, Store::Messages, Store::Streams]);
pub(super) const WHOLE_STEP: Access = Access::write(&[
    Store::Sessions,
    Store::Checkpoints,
    Store::Messages,
    Store::References,
    Store::Objects,
    Store::Streams,
]);

/// What a write answers.
#[derive(Clone, Debug)]
pub struct Saved<T> {
    /// The new checkpoint.
    pub checkpoint: Checkpoint<T>,
    /// What should be done soon; see [`Engine::upkeep`].
    pub upkeep: Upkeep,
}

impl<S: Storage> Engine<S> {
    /// Writes new content as one checkpoint (P-02, P-10).
    ///
    /// # Errors
    /// `NotLoaded`, `EmptyOverNonEmpty`, `UnknownParent`, `TooLarge`; `Conflict` when another writer was first, with the
    /// branch that holds the work.
    pub async fn write(
        &self,
        session: SessionId,
        change: Change<S::Text>,
        metadata: Metadata<S::Text>,
        expect: Option<u64>,
    ) -> Result<Saved<S::Text>> {
        match self.save(session, change, metadata, None, expect).await? {
            (_, Some(conflict)) => Err(conflict),
            (saved, None) => Ok(saved),
        }
    }

    /// Writes new content, or a step of a turn. Work that was not first is saved too, in the branch that the error names.
    pub(super) async fn save(
        &self,
        session: SessionId,
        change: Change<S::Text>,
        metadata: Metadata<S::Text>,
        step: Option<Step<S::Text>>,
        expect: Option<u64>,
    ) -> Result<(Saved<S::Text>, Option<Error>)> {
        let command = Write {
            scope: self.scope.clone(),
            session,
            change,
            metadata,
            step,
            expect,
            stamp: self.stamp()?,
            retention: self.retention,
        };
        let known = self.recall.take(&command.session);
        // Only a plain turn reads nothing but its session's row.
        let is_plain = command.change.is_plain();
        let access = match (&command.step, is_plain) {
            (None, true) => TURN,
            (None, false) => WRITE,
            (Some(Step::Begin(begin)), true) if begin.regenerate.is_none() => BEGIN,
            (Some(Step::Go(_) | Step::End(_)), true) => STEP,
            (Some(_), _) => WHOLE_STEP,
        };
        let guess = if is_plain { self.recall.guess(&command.session) } else { Vec::new() };
        let plan = |view: &View<S::Text>| write::plan(view, &command, known.as_ref());
        let written = self.storage.run_guessing(access, &guess, plan).await;
        let written = match written {
            Ok(written) => written,
            Err(error) => {
                self.recall.keep(&command.session, known);
                return Err(error);
            }
        };
        (self.listener)(Event::Created(Box::new(written.checkpoint.clone())));
        self.changed(&written.checkpoint.session, "write");
        if let Some(branch) = written.conflict {
            let message = format!(
                "session {:?} was changed by another writer first. Nothing was lost: this work was kept as session {:?}",
                command.session, branch.session
            );
            let conflict = Error::new(Code::Conflict, message).kept_in(branch);
            self.recall.wrote(written.session);
            return Ok((Saved { checkpoint: written.checkpoint, upkeep: written.upkeep }, Some(conflict)));
        }
        if let Some(learned) = written.learned {
            let mut known = learned.read.or(known).unwrap_or(Known { epoch: 0, bytes: 0, messages: Vec::new() });
            known.messages.truncate(learned.keep);
            known.messages.extend(learned.rest);
            known.epoch = learned.epoch;
            known.bytes = written.checkpoint.state.size;
            self.recall.keep(&command.session, Some(known));
        }
        self.recall.saw(&written.checkpoint);
        self.recall.wrote(written.session);
        Ok((Saved { checkpoint: written.checkpoint, upkeep: written.upkeep }, None))
    }
}
