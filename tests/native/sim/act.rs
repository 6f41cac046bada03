//! What each command leaves, in the naive model.

use turnmark::error::Code;
use turnmark::ids::CheckpointId;
use turnmark::plan::restore::Target;

use super::judge::{Model, Names, Verdict};
use super::model::{Cp, Line, ids};
use super::sent::{Ack, InTurn, Record, Sent, Work};
use crate::contract::kit::Msg;
use crate::histories::model::{Run, Step, Whole, travel};

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(why()) }
}

/// The checkpoint that was answered is the one that was written.
fn same(record: &Record, id: &CheckpointId) -> Verdict {
    match &record.ack {
        Some(Ok(Ack::Cp(told) | Ack::Recovered(Some(told)))) => {
            ensure(told == id, || format!("it told of {told} and wrote {id}"))
        }
        _ => Ok(()),
    }
}

/// The state that a write makes of another.
fn worked(work: &Work, basis: &Whole) -> Whole {
    match work {
        Work::Whole(state) => state.clone(),
        Work::More { messages, set, remove } => {
            let mut state = basis.clone();
            state.listed |= !messages.is_empty();
            state.messages.extend(messages.iter().cloned());
            state.channels.retain(|name, _| !remove.contains(name));
            state.channels.extend(set.iter().cloned());
            state
        }
    }
}

/// The state with what was saved of a growing message.
fn settled(mut state: Whole, message: Msg) -> Whole {
    state.listed = true;
    let recent = state.messages.len().saturating_sub(64);
    match state.messages[recent..].iter().position(|old| old.id == message.id) {
        Some(at) => state.messages[recent + at] = message,
        None => state.messages.push(message),
    }
    state
}

impl Model {
    pub(super) fn act(&mut self, record: &Record, refusal: Option<Code>, names: Option<Names<'_>>) -> Verdict {
        let Some(mut names) = names else { return self.wrote_nothing(record, refusal) };
        let session = record.session.as_str();
        let before = self.scopes[record.scope].clone();
        match (&record.sent, refusal) {
            (Sent::Write { work, provisional, turn, expect }, Some(Code::Conflict)) => {
                self.branch(record, work, *provisional, turn, *expect, &mut names)?;
            }
            (Sent::Write { work, provisional, turn, .. }, _) => {
                self.write(record, work, *provisional, turn, &mut names)?;
            }
            (Sent::Restore { target, .. }, _) => self.restore(record, target, &mut names)?,
            (Sent::Fork { cp, target }, _) => {
                let line = self.line(record);
                let base = line.cps.iter_mut().find(|one| one.id == *cp).ok_or("it forked from nothing")?;
                base.forks += 1;
                let mut fork = Line { forked_from: Some((session.to_owned(), cp.clone())), ..Line::default() };
                let (state, pending) = (base.state.clone(), base.pending.clone());
                fork.advance(names.made(target)?, state);
                fork.cps[0].pending = pending;
                same(record, &fork.cps[0].id)?;
                self.scopes[record.scope].insert(target.clone(), fork);
            }
            (Sent::Delete(id), _) => self.delete(record, id, names.puts),
            (Sent::Prune(keep), _) => {
                let line = self.line(record);
                let among = line.cps.len().saturating_sub(*keep as usize);
                let count = line.prune(among, among);
                if let Some(Ok(Ack::Count(told))) = record.ack {
                    ensure(told == count, || format!("it must prune {count}"))?;
                }
            }
            (Sent::Pin(id, pinned), _) => {
                self.line(record).cps.iter_mut().filter(|cp| cp.id == *id).for_each(|cp| cp.pinned = *pinned);
            }
            (Sent::DeleteSession, _) => {
                let gone = self.scopes[record.scope].remove(session);
                let base = gone.and_then(|line| line.forked_from).filter(|_| names.puts);
                if let Some((source, id)) = base
                    && let Some(line) = self.scopes[record.scope].get_mut(&source)
                {
                    line.cps.iter_mut().filter(|cp| cp.id == id).for_each(|cp| cp.forks = cp.forks.saturating_sub(1));
                }
            }
            (Sent::Title, _) => _ = self.line(record),
            (Sent::Writes { task, values }, _) => self.pend(record, task, values),
            (Sent::Recover { drop }, _) => self.recover(record, *drop, &mut names)?,
            (Sent::Stream { text, message, .. }, _) => {
                let run = self.line(record).run.as_mut().ok_or("it streamed into no run")?;
                run.saved = Some((text.clone(), message.clone()));
            }
            (Sent::NewSession { id, .. }, _) => {
                let line = self.line(record);
                line.run = None;
                if line.head().is_some() {
                    let (past, future) = (line.past.clone(), line.future.clone());
                    line.advance(names.made(session)?, line.live.clone());
                    line.link(past, future);
                    line.cps.last_mut().unwrap().sealed = true;
                }
                self.scopes[record.scope].insert(id.clone(), Line::default());
            }
            (Sent::Import(slot), _) => self.import(record, *slot, &mut names)?,
            (Sent::Upkeep | Sent::Open, _) => {}
            (Sent::Look | Sent::Export(_), _) => return Err("a read wrote something".into()),
        }
        ensure(names.rest().is_empty(), || format!("it wrote checkpoints of its own: {:?}", names.rest()))?;
        self.learn(record, &names, &before)
    }

    /// Epochs are what was written; one changes with each change of a head.
    fn learn(&mut self, record: &Record, names: &Names<'_>, before: &super::model::Lines) -> Verdict {
        for row in &names.sessions {
            if let Some(line) = self.scopes[record.scope].get_mut(row.id.as_str()) {
                line.epoch = row.epoch;
            }
        }
        for (name, line) in &self.scopes[record.scope] {
            let Some(old) = before.get(name) else { continue };
            let head = |line: &Line| line.head().map(|cp| cp.id.clone());
            let moved = head(old) != head(line) || old.live != line.live;
            ensure(!moved || old.epoch != line.epoch, || format!("the head of {name} changed, and not its epoch"))?;
        }
        Ok(())
    }

    /// A command that wrote nothing had nothing to write.
    fn wrote_nothing(&self, record: &Record, refusal: Option<Code>) -> Verdict {
        let Some(Ok(ack)) = &record.ack else { return Ok(()) };
        let line = self.scopes[record.scope].get(&record.session);
        let idle = match &record.sent {
            Sent::Prune(keep) => {
                let mut line = line.cloned().unwrap_or_default();
                let among = line.cps.len().saturating_sub(*keep as usize);
                line.prune(among, among) == 0
            }
            Sent::Pin(id, pinned) => line.and_then(|line| line.named(id)).is_some_and(|cp| cp.pinned == *pinned),
            Sent::Recover { .. } => {
                line.is_some_and(|line| line.run.is_none() && line.head().is_none_or(|head| !head.provisional))
            }
            Sent::Writes { task, values } => line.and_then(Line::head).is_some_and(|head| {
                (0..values.len()).all(|at| head.pending.contains_key(&(task.clone(), i64::try_from(at).unwrap())))
            }),
            Sent::Import(slot) => self.bundles.get(*slot).is_none_or(Option::is_none),
            Sent::Upkeep | Sent::Open => true,
            _ => false,
        };
        ensure(idle && refusal.is_none(), || format!("it answered {ack:?} and nothing was committed"))
    }

    pub(super) fn line(&mut self, record: &Record) -> &mut Line {
        self.scopes[record.scope].entry(record.session.clone()).or_default()
    }

    fn write(
        &mut self,
        record: &Record,
        work: &Work,
        provisional: bool,
        turn: &InTurn,
        names: &mut Names<'_>,
    ) -> Verdict {
        let retention = self.retention;
        let line = self.line(record);
        let state = worked(work, &line.live);
        match turn {
            InTurn::No => {
                let head = line.head().map(|head| head.seq);
                let to = line.replace().unwrap_or(head);
                let (mut past, cp) = (line.past.clone(), names.made(&record.session)?);
                same(record, &cp.1)?;
                let by = line.advance(cp, state);
                line.cps.last_mut().unwrap().provisional = provisional;
                past.push(Step { by, to });
                line.link(past, Vec::new());
            }
            InTurn::Begin { run, again } => begin(line, record, run, again.as_ref(), state, names)?,
            InTurn::Go(_) | InTurn::End(_) => {
                line.replace();
                let mut run = line.run.clone().ok_or("a step of no run")?;
                let cp = names.made(&record.session)?;
                same(record, &cp.1)?;
                let by = line.advance(cp, state);
                let mut past = run.past.clone();
                past.push(Step { by, to: Some(run.before) });
                line.link(past, Vec::new());
                run.saved = None;
                line.run = Some(run).filter(|_| matches!(turn, InTurn::Go(_)));
            }
        }
        line.retain(retention);
        Ok(())
    }

    /// The work of a writer that was not first is kept, whole, in a session of its own.
    fn branch(
        &mut self,
        record: &Record,
        work: &Work,
        provisional: bool,
        turn: &InTurn,
        expect: Option<u64>,
        names: &mut Names<'_>,
    ) -> Verdict {
        let (_, basis, from) = self.standing(record, expect);
        let lines = &mut self.scopes[record.scope];
        let is_new = |name: &&str| !lines.contains_key(*name);
        let name = names.sessions.iter().map(|row| row.id.as_str()).find(is_new).ok_or("there is no branch")?;
        let told = record.ack.as_ref().and_then(|ack| ack.as_ref().err()?.branch.as_ref());
        ensure(told.is_none_or(|branch| branch.session.as_str() == name), || "it names another branch".into())?;
        let mut state = worked(work, &basis);
        let mut kept = Line::default();
        if let InTurn::Begin { again: Some(id), .. } = turn {
            let at = state.messages.iter().rposition(|message| message.id.as_ref() == Some(id));
            state.messages.truncate(at.ok_or("nothing to answer again")? + 1);
        }
        let cp = names.made(name)?;
        ensure(told.is_none_or(|branch| branch.checkpoint == cp.1), || "it names another checkpoint".into())?;
        let by = kept.advance(cp, state.clone());
        kept.cps[0].provisional = provisional;
        match turn {
            InTurn::Begin { run, again } => {
                kept.cps[0].follows = again.is_none().then(|| ids(&state.messages));
                kept.run = Some(Run { id: run.clone(), before: by, past: Vec::new(), saved: None });
            }
            _ => kept.link(vec![Step { by, to: None }], Vec::new()),
        }
        if let Some(line) = lines.get_mut(&record.session) {
            line.cps.iter_mut().filter(|cp| Some(&cp.id) == from.as_ref()).for_each(|cp| cp.forks += 1);
            // The turn goes on there, and no more here.
            if let InTurn::Go(run) | InTurn::End(run) = turn {
                line.run.take_if(|active| active.id == *run);
            }
        }
        kept.forked_from = from.map(|id| (record.session.clone(), id));
        lines.insert(name.to_owned(), kept);
        Ok(())
    }

    fn restore(&mut self, record: &Record, target: &Target, names: &mut Names<'_>) -> Verdict {
        let state = self.destination(record, target).map_err(|code| format!("it must fail with {code:?}"))?;
        let retention = self.retention;
        let line = self.line(record);
        let point = line.advance(names.made(&record.session)?, line.live.clone());
        let (mut past, mut future) = (line.past.clone(), line.future.clone());
        let cp = names.made(&record.session)?;
        same(record, &cp.1)?;
        let by = line.advance(cp, state);
        let step = Step { by, to: Some(point) };
        travel(target, step, &mut past, &mut future);
        line.link(past, future);
        line.restore_point = Some(point);
        line.run = None;
        line.retain(retention);
        Ok(())
    }

    /// `keeps_books`: whether there was room for rows.
    fn delete(&mut self, record: &Record, id: &CheckpointId, keeps_books: bool) {
        let line = self.line(record);
        let Some(seq) = line.named(id).map(|cp| cp.seq) else { return };
        let newest = line.head().is_some_and(|head| head.seq == seq);
        line.cps.retain(|cp| cp.seq != seq);
        if keeps_books {
            line.past.pop_if(|step| step.by == seq);
            line.future.pop_if(|step| step.by == seq);
        }
        if newest {
            let before = line.head().cloned();
            line.live = before.as_ref().map_or_else(Whole::default, |cp| cp.state.clone());
            (line.past, line.future) = before.map_or_else(Default::default, |cp| (cp.past, cp.future));
        }
    }

    fn pend(&mut self, record: &Record, task: &str, values: &[(String, String)]) {
        let Some(head) = self.line(record).cps.last_mut() else { return };
        for (at, (name, value)) in (0..).zip(values) {
            head.pending.entry((task.to_owned(), at)).or_insert_with(|| (name.clone(), value.clone()));
        }
    }

    fn recover(&mut self, record: &Record, drop: bool, names: &mut Names<'_>) -> Verdict {
        let line = self.line(record);
        if let Some(run) = line.run.take() {
            let saved = run.saved.filter(|_| !drop);
            let state = saved.map_or(line.live.clone(), |(_, message)| settled(line.live.clone(), message));
            let cp = names.made(&record.session)?;
            same(record, &cp.1)?;
            let by = line.advance(cp, state);
            let mut past = run.past;
            past.push(Step { by, to: Some(run.before) });
            line.link(past, Vec::new());
            return Ok(());
        }
        let head = line.cps.last_mut().filter(|cp| cp.provisional).ok_or("there was nothing to recover")?;
        head.provisional = false;
        same(record, &head.id)?;
        let seq = head.seq;
        if drop {
            let to = line.past.iter().rev().find(|step| step.by == seq).and_then(|step| line.at(step.to?));
            let before: Option<&Cp> = to.or_else(|| line.cps.iter().rev().find(|cp| cp.seq < seq));
            let state = before.map_or_else(Whole::default, |cp| cp.state.clone());
            let mut past = line.past.clone();
            let by = line.advance(names.made(&record.session)?, state);
            past.push(Step { by, to: Some(seq) });
            line.link(past, Vec::new());
        }
        Ok(())
    }

    fn import(&mut self, record: &Record, slot: usize, names: &mut Names<'_>) -> Verdict {
        let line = self.bundles.get(slot).cloned().flatten().ok_or("it imported what was not exported")?;
        let lines = &mut self.scopes[record.scope];
        let is_new = |name: &&str| !lines.contains_key(*name);
        let name = names.sessions.iter().map(|row| row.id.as_str()).find(is_new).ok_or("nothing arrived")?;
        let mut line = Line { run: None, ..line };
        for cp in &mut line.cps {
            let (seq, id, epoch) = names.made(name)?;
            ensure((cp.seq, &cp.id) == (seq, &id), || format!("{id} arrived in place of {}", cp.id))?;
            (cp.epoch, cp.forks) = (epoch, 0);
        }
        let base = line.forked_from.as_ref().and_then(|(of, id)| Some((lines.get_mut(of)?, id)));
        if let Some((source, id)) = base {
            source.cps.iter_mut().filter(|cp| cp.id == *id).for_each(|cp| cp.forks += 1);
        }
        // Forks of what arrives that are here already.
        for cp in &mut line.cps {
            let from = Some((name.to_owned(), cp.id.clone()));
            cp.forks = u32::try_from(lines.values().filter(|line| line.forked_from == from).count()).unwrap();
        }
        lines.insert(name.to_owned(), line);
        Ok(())
    }
}

fn begin(
    line: &mut Line,
    record: &Record,
    run: &str,
    again: Option<&String>,
    mut state: Whole,
    names: &mut Names<'_>,
) -> Verdict {
    let replaced = if again.is_none() { line.replace() } else { None };
    let mut past = line.past.clone();
    let left = match again {
        // What was answered stays behind a restore point.
        Some(id) => {
            let at = state.messages.iter().rposition(|message| message.id.as_ref() == Some(id));
            state.messages.truncate(at.ok_or("nothing to answer again")? + 1);
            // Its header is written before that of the prompt.
            let point = line.advance(names.made(&record.session)?, line.live.clone());
            line.restore_point = Some(point);
            Some(point)
        }
        None => None,
    };
    let cp = names.made(&record.session)?;
    same(record, &cp.1)?;
    let follows = again.is_none().then(|| ids(&state.messages));
    let by = line.advance(cp, state);
    let mut undone = past.clone();
    if let Some(to) = left.or(replaced.flatten()) {
        past.push(Step { by, to: Some(to) });
        if replaced.is_some() {
            undone = past.clone();
        }
    }
    line.link(past, Vec::new());
    line.cps.last_mut().unwrap().follows = follows;
    line.run = Some(Run { id: run.to_owned(), before: left.unwrap_or(by), past: undone, saved: None });
    Ok(())
}
