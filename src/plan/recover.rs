//! Recovery of a session whose writer died in the middle of an answer: its newest checkpoint is provisional.

use crate::ids::{CheckpointId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation};
use crate::model::session::State;
use crate::plan::head::{self, Header};
use crate::store::{Plan, Planned, View};

/// A recovery. Only ever by request: nothing is finalized silently.
#[derive(Clone, Debug)]
pub struct Recover {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// Go back to the state before the interrupted turn. What had arrived stays as the checkpoint it is, and the step back
    /// can be undone.
    pub drop: bool,
    /// When and by whom.
    pub stamp: Stamp,
}

/// What a recovery did.
#[derive(Clone, Debug)]
pub struct Recovered<T> {
    /// The checkpoint that was interrupted.
    pub interrupted: CheckpointId,
    /// The new epoch of the session.
    pub epoch: u64,
    /// The new newest checkpoint, where the session went back.
    pub created: Option<Checkpoint<T>>,
}

/// Plans a recovery; `None` when the session is not interrupted.
///
/// # Errors
/// `Need`; `UnknownSession`.
pub fn plan<T: Text>(view: &View<T>, command: &Recover) -> Planned<Plan<T, Option<Recovered<T>>>> {
    let Recover { scope, session, drop, stamp } = command;
    let mut session = head::session(view, scope, session)?;
    let Some(newest) = session.head.clone().filter(|newest| newest.provisional) else { return Ok(Plan::read(None)) };
    let Some(mut interrupted) = head::at::<T>(view, &session, newest.seq)? else { return Ok(Plan::read(None)) };
    interrupted.provisional = false;
    interrupted.extra.retain(|(key, _)| key != "interrupted");
    interrupted.extra.push(("interrupted".to_owned(), T::from_utf8("true")));
    let mut writes = Vec::new();
    head::put(&interrupted, &mut writes);
    if let Some(newest) = &mut session.head {
        newest.provisional = false;
    }
    let mut created = None;
    if *drop {
        let mut before: Option<Checkpoint<T>> = match interrupted.operation.before {
            Some(before) => head::at(view, &session, before)?,
            None => None,
        };
        // The state before may have been deleted; then what is left of the history counts, as after a deletion.
        if before.is_none() {
            before = head::newest(view, &session, interrupted.seq)?;
        }
        session.bump(&stamp.device);
        let mut header = Header::own(stamp.checkpoint(0), Kind::Manual, Action::Recover);
        header.parent = before.as_ref().map(|before| before.id.clone());
        header.operation =
            Operation { action: Action::Recover, before: Some(interrupted.seq), undo: session.undo, redo: None };
        let state = before.map_or_else(State::default, |before| before.state);
        let checkpoint = head::advance(&mut session, state, header, stamp, &mut writes);
        (session.undo, session.redo) = checkpoint.links();
        created = Some(checkpoint);
    } else {
        session.epoch += 1;
    }
    head::put_session(&session, &mut writes);
    let recovered = Recovered { interrupted: interrupted.id, epoch: session.epoch, created };
    Ok(Plan { writes, answer: Some(recovered) })
}
