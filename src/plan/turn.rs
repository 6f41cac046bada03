//! Turns: how one begins, goes on and ends.

use crate::codec::key::Range;
use crate::error::{Code, Error};
use crate::ids::RunId;
use crate::model::body::{Body, Text};
use crate::model::checkpoint::{Action, Kind, Turn};
use crate::model::hash::Hash;
use crate::model::session::{Run, Session, State};
use crate::plan::base::Base;
use crate::plan::change::Change;
use crate::plan::head::{self, Header};
use crate::plan::prompt::{Place, check_users, place};
use crate::plan::sessions::RESERVED;
use crate::plan::write::Write;
use crate::plan::{log, objects, versions};
use crate::store::{Op, Planned, View};

/// What a write is within a turn.
#[derive(Clone, Debug)]
pub enum Step<T> {
    /// It begins one: nothing of the turn exists before it.
    Begin(Begin<T>),
    /// It goes on with the turn of a run.
    Go(RunId),
    /// It ends the turn of a run.
    End(RunId),
}

impl<T> Step<T> {
    fn run(&self) -> &RunId {
        match self {
            Step::Begin(begin) => &begin.run,
            Step::Go(run) | Step::End(run) => run,
        }
    }
}

/// How a turn begins.
#[derive(Clone, Debug)]
pub struct Begin<T> {
    /// The run that will answer it.
    pub run: RunId,
    /// What the user typed, and what is sent.
    pub prompt: Option<Body<T>>,
    /// The user's message that is answered once more.
    pub regenerate: Option<String>,
    /// Another writer is known to be at work in the session: this one goes into a branch.
    pub aside: bool,
}

/// The refusal of whoever would change a session while another writes it.
#[must_use]
pub fn active(session: &Session, run: &Run) -> Error {
    Error::new(
        Code::ActiveRun,
        format!(
            "an answer is being written in session {:?} (run {}); wait for its end, or ask for it with abortRun. Nothing was changed",
            session.id, run.id
        ),
    )
}

/// Refuses a change of a session that another run is at work in.
///
/// # Errors
/// `ActiveRun`.
pub fn check_idle(session: &Session, own: Option<&RunId>) -> Result<(), Error> {
    match &session.run {
        Some(run) if own != Some(&run.id) => Err(active(session, run)),
        _ => Ok(()),
    }
}

/// What a step of a turn writes beside its content.
pub struct Mark {
    turn: Turn,
    prompt: Option<Hash>,
    /// The restore point of an answer that is left behind.
    left: Option<u32>,
    /// Name of the prompt that is answered once more.
    name: Option<String>,
}

/// Prepares a step of a turn, before its content is planned.
///
/// # Errors
/// `Need`; `InvalidArgument` when the turn is over, or there is no such message to answer once more.
pub fn enter<T: Text>(
    view: &View<T>,
    command: &Write<T>,
    base: &mut Base,
    writes: &mut Vec<Op<T>>,
) -> Planned<Option<Mark>> {
    match &command.step {
        None => Ok(None),
        Some(Step::Begin(begin)) => begin_at(view, command, begin, base, writes).map(Some),
        // The turn goes on in a branch, and no more in the session it was begun in: nothing there is unfinished.
        Some(Step::Go(run) | Step::End(run)) if base.conflict_of.is_some() => {
            let mut turn = None;
            if let Some(of) = &base.conflict_of
                && let Some(mut left) = head::find(view, &command.scope, of)?
                && left.run.as_ref().is_some_and(|own| own.id == *run)
            {
                turn = left.end_run().map(|run| run.turn);
                writes.push(Op::DeleteRange(Range::streams(&left.scope, &left.id)));
                head::put_session(&left, writes);
            }
            Ok(turn.map(Mark::of))
        }
        Some(Step::Go(run) | Step::End(run)) => match &base.session.run {
            Some(own) if own.id == *run => Ok(Some(Mark::of(own.turn.clone()))),
            _ => Err(Error::new(Code::InvalidArgument, format!("run {run} has ended; begin a turn first")).into()),
        },
    }
}

fn begin_at<T: Text>(
    view: &View<T>,
    command: &Write<T>,
    begin: &Begin<T>,
    base: &mut Base,
    writes: &mut Vec<Op<T>>,
) -> Planned<Mark> {
    let Write { stamp, scope, .. } = command;
    let prompt = begin.prompt.as_ref().map(|body| objects::put_value(view, body, writes).map(|()| body.hash()));
    let prompt = prompt.transpose()?;
    let fresh = |seq| Turn { id: stamp.turn(0), seq, version: stamp.turn(1) };
    let Some(id) = &begin.regenerate else {
        return Ok(Mark { prompt, ..Mark::of(fresh(base.state.turns.saturating_add(1))) });
    };
    let owner = base.conflict_of.as_ref().unwrap_or(&base.session.id).clone();
    let found = place(view, scope, &owner, &base.state, id)?;
    check_users(&found.entry, id)?;
    let old = versions::turn_of(view, scope, &owner, &base.state, &found)?;
    let Place { before, entry, prompt: last, own } = found;
    let name = own.or(last.filter(|_| old.is_some())).and_then(|asked| asked.name);
    let turn = old.map_or_else(|| fresh(base.state.turns.max(1)), |old| Turn { version: stamp.turn(1), ..old });
    let at = before.spans.count();
    // What is answered now stays one of the versions: a checkpoint of the turn holds it, with all that followed.
    let left = if base.conflict_of.is_none() {
        let version = versions::live(view, scope, &owner, &base.state, &turn, at + 1)?.unwrap_or_else(|| stamp.turn(2));
        let mut keep = Header::own(stamp.checkpoint(1), Kind::RestorePoint, Action::RestorePoint);
        keep.parent = base.session.head.as_ref().map(|head| head.id.clone());
        keep.turn = Some(Turn { version, ..turn.clone() });
        (keep.operation.undo, keep.operation.redo) = (base.session.undo, base.session.redo);
        let kept = head::advance(&mut base.session, base.state.clone(), keep, stamp, writes);
        if let Some(old) = base.session.restore_point.replace(kept.seq) {
            base.session.unsettle(old);
        }
        Some(kept.seq)
    } else {
        None
    };
    base.state = State {
        spans: base.state.spans.slice(0, at + 1),
        size: before.size + u64::from(entry.size),
        history: log::chain(before.history, entry.role.as_ref(), entry.id.as_ref()),
        turns: turn.seq,
        ..before
    };
    Ok(Mark { turn, prompt, left, name })
}

impl Mark {
    fn of(turn: Turn) -> Self {
        Mark { turn, prompt: None, left: None, name: None }
    }

    /// Marks a step's header, state and session. `replaced` tells whether it stands for an unfinished write.
    pub fn mark<T: Text>(
        self,
        command: &Write<T>,
        replaced: bool,
        session: &mut Session,
        state: &mut State,
        header: &mut Header<T>,
        writes: &mut Vec<Op<T>>,
    ) {
        let Some(step) = &command.step else { return };
        header.turn = Some(self.turn.clone());
        // Whose it is can be asked for.
        say(header, "runId", step.run().as_str());
        if let Some(remote) = session.remote.as_deref().filter(|remote| !remote.starts_with(RESERVED)) {
            say(header, "remoteSessionId", remote);
        }
        if let Step::Begin(begin) = step {
            self.begin(begin, command, replaced, session, state, header);
            return;
        }
        // What was saved of a message that grew is part of what is written now. Where a turn begins there is none: the one
        // before has ended, or was recovered.
        writes.push(Op::DeleteRange(Range::streams(&session.scope, &session.id)));
        state.turns = self.turn.seq;
        if let Some(run) = &session.run {
            // However many steps it takes, a turn is taken back as a whole.
            (header.operation.before, header.operation.undo) = (Some(run.before), run.undo);
        }
        if let Change::Append { messages, .. } = &command.change {
            let users = |role: &T| role.utf8() == "user";
            let asked = messages.iter().find(|new| new.role.as_ref().is_some_and(users));
            header.opens = asked.and_then(|new| new.id.clone());
        }
        let ends = matches!(step, Step::End(_));
        let usual = if ends { Kind::TurnAfter } else { Kind::PromptAfter };
        header.kind = command.metadata.kind.unwrap_or(usual);
        if ends {
            session.end_run();
        }
    }

    fn begin<T: Text>(
        self,
        begin: &Begin<T>,
        command: &Write<T>,
        replaced: bool,
        session: &mut Session,
        state: &State,
        header: &mut Header<T>,
    ) {
        header.kind = command.metadata.kind.unwrap_or(Kind::PromptBefore);
        header.prompt = self.prompt;
        // It stands for an unfinished write that it replaces, and is a step of its own then.
        let before = if replaced { header.operation.before } else { self.left };
        (header.operation.action, header.operation.before) = (Action::Begin, before);
        let is_step = replaced && before.is_some();
        if begin.regenerate.is_none() {
            header.lookup = Some(state.history);
            session.prompts += 1;
        }
        let usual = || self.name.unwrap_or_else(|| format!("Prompt {}", session.prompts.max(1)));
        header.name.get_or_insert_with(usual);
        session.run = Some(Run {
            id: begin.run.clone(),
            writer: Some(command.stamp.writer.clone()),
            turn: self.turn,
            since: command.stamp.now,
            before: self.left.unwrap_or(session.next),
            undo: if is_step { Some(session.next) } else { session.undo },
        });
        session.boundary.get_or_insert_with(|| command.stamp.checkpoint(5));
    }
}

/// Adds a text to what a header says, unless its writer has said something there.
fn say<T: Text>(header: &mut Header<T>, key: &str, text: &str) {
    if header.extra.iter().any(|(own, _)| own == key) {
        return;
    }
    // As JSON writes it. Ids hold no control characters.
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    header.extra.push((key.to_owned(), T::from_utf8(&quoted)));
}
