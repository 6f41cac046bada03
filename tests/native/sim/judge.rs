//! What each command must do at its place: which error, and what it leaves.

use turnmark::codec::row::Row;
use turnmark::error::Code;
use turnmark::ids::CheckpointId;
use turnmark::model::checkpoint::Checkpoint;
use turnmark::model::part::Part;
use turnmark::model::retention::Retention;
use turnmark::model::session::Session;
use turnmark::plan::restore::Target;
use turnmark::store::Op;

use super::model::{Cp, Line, Lines, asked_after};
use super::page::SCOPES;
use super::sent::{Ack, InTurn, Record, Sent, Work, is_fault};
use crate::contract::kit::{Msg, Shot};
use crate::histories::model::Whole;

/// What was found wrong.
pub(crate) type Verdict<A = ()> = Result<A, String>;

/// All scopes, and what is on its way between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) scopes: Vec<Lines>,
    pub(crate) retention: Retention,
    pub(crate) bundles: Vec<Option<Line>>,
}

/// The rows a command wrote that name something.
pub(super) struct Names<'a> {
    cps: Vec<&'a Checkpoint<String>>,
    pub(super) sessions: Vec<&'a Session>,
    pub(super) puts: bool,
}

impl<'a> Names<'a> {
    fn of(writes: &'a [Op<String>], scope: &str, lines: &Lines) -> Names<'a> {
        let mut names = Names { cps: Vec::new(), sessions: Vec::new(), puts: false };
        for op in writes {
            let Op::Put(_, row) = op else { continue };
            names.puts = true;
            match row {
                // A collection puts the books of every scope right.
                Row::Checkpoint(cp) if cp.scope.as_str() == scope => {
                    let known = lines.get(cp.session.as_str()).is_some_and(|line| line.named(&cp.id).is_some());
                    if !known {
                        names.cps.push(cp);
                    }
                }
                Row::Session(session) if session.scope.as_str() == scope => names.sessions.push(session),
                _ => {}
            }
        }
        names
    }

    /// The next checkpoint that was made in a session.
    pub(super) fn made(&mut self, session: &str) -> Verdict<(u32, CheckpointId, u64)> {
        let at = self.cps.iter().position(|cp| cp.session.as_str() == session);
        let cp = self.cps.remove(at.ok_or_else(|| format!("no checkpoint was written in {session}"))?);
        Ok((cp.seq, cp.id.clone(), cp.epoch))
    }

    pub(super) fn rest(&self) -> &[&'a Checkpoint<String>] {
        &self.cps
    }
}

/// What a rollback makes live.
fn rolled(line: &Line, found: &Cp, parts: &[Part]) -> Whole {
    let mut state = line.live.clone();
    for part in parts {
        match part {
            Part::Messages => (state.listed, state.messages) = (found.state.listed, found.state.messages.clone()),
            Part::State => state.channels = found.state.channels.clone(),
            Part::Ui => {}
        }
    }
    state
}

/// The position of a user's message.
fn position(messages: &[Msg], id: &str) -> Result<usize, Code> {
    let at = messages.iter().rposition(|message| message.id.as_deref() == Some(id)).ok_or(Code::InvalidArgument)?;
    if messages[at].role.as_deref() == Some("user") { Ok(at) } else { Err(Code::InvalidArgument) }
}

impl Model {
    fn busy(&self, record: &Record, run: Option<&String>) -> bool {
        let line = self.scopes[record.scope].get(&record.session);
        line.and_then(|line| line.run.as_ref()).is_some_and(|active| Some(&active.id) != run)
    }

    /// What a restore makes live.
    pub(super) fn destination(&self, record: &Record, target: &Target) -> Result<Whole, Code> {
        let lines = &self.scopes[record.scope];
        let line = lines.get(&record.session).ok_or(Code::UnknownSession)?;
        match target {
            Target::Rollback { id, parts } => Ok(rolled(line, line.named(id).ok_or(Code::UnknownCheckpoint)?, parts)),
            Target::Undo => line.leads(&line.past).ok_or(Code::NothingToUndo),
            Target::Redo => line.leads(&line.future).ok_or(Code::NothingToRedo),
            Target::Message(id) => {
                let at = position(&line.live.messages, id)?;
                let mut state = line.live.clone();
                state.messages.truncate(at);
                if let Some(channels) = asked_after(lines, &record.session, &state.messages) {
                    state.channels = channels;
                }
                Ok(state)
            }
        }
    }

    /// Whether a writer is first, and the state its work stands on. `None` for one that is behind.
    pub(super) fn standing(&self, record: &Record, expect: Option<u64>) -> (bool, Whole, Option<CheckpointId>) {
        match (self.scopes[record.scope].get(&record.session), expect) {
            (None, expect) => (expect.is_none_or(|epoch| epoch == 0), Whole::default(), None),
            // Who saw that there was none works on nothing, and is first where there is still nothing but a title.
            (Some(line), Some(0)) => (line.is_blank(), Whole::default(), None),
            (Some(line), None) => (true, line.live.clone(), None),
            (Some(line), Some(epoch)) if epoch == line.epoch => (true, line.live.clone(), None),
            (Some(line), Some(epoch)) => {
                let seen = line.seen_at(epoch);
                (false, seen.map(|cp| cp.state.clone()).unwrap_or_default(), seen.map(|cp| cp.id.clone()))
            }
        }
    }

    fn refusal_of_write(&self, record: &Record, work: &Work, turn: &InTurn, expect: Option<u64>) -> Option<Code> {
        let line = self.scopes[record.scope].get(&record.session);
        let (first, basis, _) = self.standing(record, expect);
        if let (InTurn::Begin { run, .. }, Some(_)) = (turn, line)
            && self.busy(record, Some(run))
        {
            return Some(Code::ActiveRun);
        }
        let blank = line.is_none_or(Line::is_blank);
        if first && expect.is_none() && !blank && matches!(work, Work::More { .. }) {
            return Some(Code::NotLoaded);
        }
        match turn {
            InTurn::Begin { again: Some(id), .. } => {
                if let Err(code) = position(&basis.messages, id) {
                    return Some(code);
                }
            }
            InTurn::Go(run) | InTurn::End(run) if first => {
                let active = line.and_then(|line| line.run.as_ref());
                if active.is_none_or(|active| active.id != *run) {
                    return Some(Code::InvalidArgument);
                }
            }
            _ => {}
        }
        if let Work::Whole(state) = work {
            let live = line.map(|line| &line.live).cloned().unwrap_or_default();
            if state.messages.is_empty() && !live.messages.is_empty() {
                return Some(Code::EmptyOverNonEmpty);
            }
            let goes_on = if live.messages.is_empty() {
                live.channels.is_empty() || live.channels == state.channels
            } else {
                state.messages.starts_with(&live.messages)
            };
            if first && expect.is_none() && !goes_on {
                return Some(Code::NotLoaded);
            }
        }
        (!first).then_some(Code::Conflict)
    }

    /// The error a command must fail with.
    fn refusal(&self, record: &Record) -> Option<Code> {
        let line = self.scopes[record.scope].get(&record.session);
        let no_session = line.is_none().then_some(Code::UnknownSession);
        let named = |id: &CheckpointId| line.and_then(|line| line.named(id));
        let no_cp = |id: &CheckpointId| no_session.or(named(id).is_none().then_some(Code::UnknownCheckpoint));
        match &record.sent {
            Sent::Write { work, turn, expect, .. } => self.refusal_of_write(record, work, turn, *expect),
            Sent::Restore { target, expect, run } => {
                let behind = || expect.zip(line).is_some_and(|(epoch, line)| epoch != line.epoch);
                no_session
                    .or(self.busy(record, run.as_ref()).then_some(Code::ActiveRun))
                    .or(behind().then_some(Code::Conflict))
                    .or(self.destination(record, target).err())
            }
            Sent::Fork { cp, .. } | Sent::Pin(cp, _) => no_cp(cp),
            Sent::Delete(id) => no_cp(id).or_else(|| {
                let (line, cp) = (line?, named(id)?);
                let newest = line.head().is_some_and(|head| head.seq == cp.seq);
                if cp.pinned || cp.sealed || cp.forks > 0 {
                    Some(Code::Protected)
                } else {
                    (newest && line.run.is_some()).then_some(Code::ActiveRun)
                }
            }),
            Sent::DeleteSession | Sent::Recover { .. } | Sent::Open | Sent::Export(_) => no_session,
            Sent::Writes { .. } => no_session.or_else(|| line?.cps.is_empty().then_some(Code::UnknownCheckpoint)),
            Sent::Stream { run, .. } => {
                let active = line.and_then(|line| line.run.as_ref());
                no_session.or(active.is_none_or(|active| active.id != *run).then_some(Code::Conflict))
            }
            Sent::NewSession { run, .. } => no_session.or(self.busy(record, run.as_ref()).then_some(Code::ActiveRun)),
            Sent::Prune(_) | Sent::Title | Sent::Look | Sent::Import(_) | Sent::Upkeep => None,
        }
    }

    /// What a look at a session must show.
    fn shown(&self, record: &Record) -> Option<(Shot, Option<(String, Option<String>)>)> {
        let line = self.scopes[record.scope].get(&record.session).filter(|line| line.head().is_some())?;
        let run = line.run.as_ref();
        let run = run.map(|run| (run.id.clone(), run.saved.as_ref().map(|(text, _)| text.clone())));
        Some((line.live.shot(), run))
    }

    /// Judges a command by what was committed for it, and does the same.
    pub(crate) fn judge(&mut self, record: &Record, writes: Option<&[Op<String>]>) -> Verdict {
        let fail = |why: String| Err(format!("{why}\n  command: {record:?}"));
        let refusal = self.refusal(record);
        match (&record.ack, writes) {
            (None, None) => return Ok(()),
            (Some(Err(error)), None) if is_fault(error.code) => return Ok(()),
            (Some(Err(error)), Some(_)) if is_fault(error.code) => {
                if error.code != Code::ConnectionLost {
                    return fail("it says that nothing was written, and something was".into());
                }
            }
            (Some(Err(error)), writes) => {
                if refusal != Some(error.code) {
                    return fail(format!("it must give {refusal:?}"));
                }
                if writes.is_some() != error.branch.is_some() {
                    return fail("a refused command must write nothing but a branch".into());
                }
            }
            (Some(Ok(_)), _) | (None, Some(_)) => {
                if refusal.is_some_and(|code| record.ack.is_some() || code != Code::Conflict) {
                    return fail(format!("it must fail with {refusal:?}"));
                }
            }
        }
        if let Some(Ok(Ack::Saw(seen))) = &record.ack {
            let expected = self.shown(record);
            return if *seen == expected { Ok(()) } else { fail(format!("it must show {expected:?}")) };
        }
        if let (Sent::Export(slot), Some(Ok(_))) = (&record.sent, &record.ack) {
            let line = self.scopes[record.scope].get(&record.session).cloned();
            self.bundles.resize((slot + 1).max(self.bundles.len()), None);
            self.bundles[*slot] = line;
            return Ok(());
        }
        let names = writes.map(|writes| Names::of(writes, SCOPES[record.scope], &self.scopes[record.scope]));
        self.act(record, refusal, names).or_else(fail)
    }
}
