//! Recovery of a session whose writer died in the middle of an answer: it has the run of a turn that nobody ends, or its
//! newest checkpoint is provisional.

use crate::codec::key::Range;
use crate::ids::{CheckpointId, RunId, ScopeId, SessionId, Stamp};
use crate::model::body::Text;
use crate::model::checkpoint::{Action, Checkpoint, Kind, Operation};
use crate::model::session::{Run, Session, State};
use crate::plan::head::{self, Header};
use crate::plan::stream;
use crate::store::{Op, Plan, Planned, View};

/// A recovery. Only ever by request: nothing is finalized silently.
#[derive(Clone, Debug)]
pub struct Recover {
    /// The scope.
    pub scope: ScopeId,
    /// The session.
    pub session: SessionId,
    /// Let go of what had arrived of an answer: of a turn, the message that was being written; of an unfinished checkpoint, all of
    /// it (it stays as the checkpoint it is, and the step back can be undone).
    pub drop: bool,
    /// When and by whom.
    pub stamp: Stamp,
}

/// What a recovery did.
#[derive(Clone, Debug)]
pub struct Recovered<T> {
    /// The checkpoint that was interrupted; for a turn, the newest one it has now.
    pub interrupted: CheckpointId,
    /// The run that was interrupted.
    pub run: Option<RunId>,
    /// The epoch before.
    pub from: u64,
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
    if let Some(run) = session.run.clone() {
        return turn(view, &mut session, run, *drop, stamp);
    }
    let from = session.epoch;
    let Some(newest) = session.head.clone().filter(|newest| newest.provisional) else { return Ok(Plan::read(None)) };
    let found = head::if_readable(head::at::<T>(view, &session, newest.seq))?;
    let Some(mut interrupted) = found else { return Ok(Plan::read(None)) };
    interrupted.provisional = false;
    interrupted.extra.retain(|(key, _)| key != "interrupted");
    interrupted.extra.push(("interrupted".to_owned(), T::from_utf8("true")));
    let mut writes = Vec::new();
    head::put(&interrupted, &mut writes);
    if let Some(newest) = &mut session.head {
        newest.provisional = false;
        newest.writer = None;
    }
    let mut created = None;
    if *drop {
        let mut before: Option<Checkpoint<T>> = match interrupted.operation.before {
            Some(before) => head::if_readable(head::at(view, &session, before))?,
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
    let recovered = Recovered { interrupted: interrupted.id, run: None, from, epoch: session.epoch, created };
    Ok(Plan { writes, answer: Some(recovered) })
}

/// Recovers a turn whose writer died: what had arrived of its answer becomes a message, or goes.
fn turn<T: Text>(
    view: &View<T>,
    session: &mut Session,
    run: Run,
    drop: bool,
    stamp: &Stamp,
) -> Planned<Plan<T, Option<Recovered<T>>>> {
    let from = session.epoch;
    let mut writes = Vec::new();
    let streamed = if drop { None } else { stream::read(view, session)? };
    let mut state = session.state.clone();
    if let Some(message) = streamed {
        state = stream::settle(view, session, state, &message, &mut writes)?;
    }
    state.turns = run.turn.seq;
    session.end_run();
    session.bump(&stamp.device);
    let mut header = Header::own(stamp.checkpoint(0), Kind::TurnAfter, Action::Recover);
    header.parent = session.head.as_ref().map(|head| head.id.clone());
    header.turn = Some(run.turn);
    header.extra.push(("interrupted".to_owned(), T::from_utf8("true")));
    header.operation = Operation { action: Action::Recover, before: Some(run.before), undo: run.undo, redo: None };
    let created = head::advance(session, state, header, stamp, &mut writes);
    (session.undo, session.redo) = created.links();
    writes.push(Op::DeleteRange(Range::streams(&session.scope, &session.id)));
    head::put_session(session, &mut writes);
    let recovered = Recovered {
        interrupted: created.id.clone(),
        run: Some(run.id),
        from,
        epoch: session.epoch,
        created: Some(created),
    };
    Ok(Plan { writes, answer: Some(recovered) })
}
