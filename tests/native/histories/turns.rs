//! Turns, growing messages and conversations in random histories.

use turnmark::codec::row::Stream;
use turnmark::error::{Code, Result};
use turnmark::ids::RunId;

use super::model::{Cp, Line, Run, Step, tick};
use super::ops::{self, Op};
use super::world::World;
use crate::contract::chat::{addition, asking, difference, run};
use crate::contract::kit::{Msg, T, assistant, meta, more, sid};

/// What a tab knows of its own turn in a session.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) run: String,
    /// What it has saved of the growing message, and how often.
    saved: String,
    count: u32,
}

fn growing(n: u8) -> Msg {
    let letter = ["x", "ж", "\u{1F600}"][usize::from(n) % 3];
    Msg { id: Some("growing".to_owned()), ..assistant("").saying(&letter.repeat(usize::from(n) * usize::from(n))) }
}

impl World {
    /// The caller's own run in a session, as a store of the package passes it.
    pub(crate) fn own_run(&self, tab: usize, session: &str) -> Option<RunId> {
        self.own[tab].get(session).map(|own| run(&own.run))
    }

    /// Whether another's run is in the way.
    pub(crate) fn busy(&self, tab: usize, session: &str) -> bool {
        let own = self.own[tab].get(session).map(|own| own.run.as_str());
        self.model.lines.get(session).and_then(|line| line.run.as_ref()).is_some_and(|run| own != Some(&run.id))
    }

    /// Whether a tab has seen a session, and whether what it has seen is the newest.
    fn standing(&self, tab: usize, session: &str) -> (bool, bool) {
        let line = self.model.lines.get(session);
        match (self.seen[tab].get(session), line) {
            (Some(seen), line) => (true, line.is_some_and(|line| line.version == seen.version)),
            (None, line) => (false, line.is_none_or(Line::is_blank)),
        }
    }

    pub(crate) async fn begin(&mut self, tab: usize, session: &str) -> Option<Code> {
        // What becomes of an unfinished write under a turn is a matter of its own.
        if self.model.lines.get(session).and_then(Line::head).is_some_and(|head| head.provisional) {
            return None;
        }
        let id = self.fresh("run");
        let (seen, newest) = self.standing(tab, session);
        let expect = self.tabs[tab].expects(session);
        let begun = self.tabs[tab].engine.begin(sid(session), asking(&id, &id), more(&[]), meta(), expect).await;
        let expected = if self.model.lines.get(session).is_some_and(|line| line.run.is_some()) {
            Some(Code::ActiveRun)
        } else if !seen && !newest {
            Some(Code::NotLoaded)
        } else {
            None
        };
        let begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                assert_eq!(Some(error.code), expected, "{error}");
                return expected;
            }
        };
        assert_eq!(expected, None, "the turn should not have begun");
        let cp = begun.saved.checkpoint;
        assert_eq!(begun.conflict.is_some(), seen && !newest);
        if let Some(conflict) = begun.conflict {
            let branch = conflict.branch.clone().unwrap();
            let work = self.seen[tab][session].state.clone();
            self.branch(tab, session, &branch, work, true).await;
            let line = self.line(branch.session.as_str());
            let before = line.cps[0].seq;
            line.link(Vec::new(), Vec::new());
            line.run = Some(Run { id: id.clone(), before, past: Vec::new(), saved: None });
            self.took(tab, branch.session.as_str(), &id);
            // It goes on where its prompt is, and has seen that.
            self.tabs[tab].saw(branch.session.as_str(), cp.epoch);
            self.saw(tab, branch.session.as_str());
            return Some(Code::Conflict);
        }
        self.model.lines.entry(session.to_owned()).or_default();
        let line = self.line(session);
        let past = line.past.clone();
        let before = line.advance(cp.id, line.live.clone(), false);
        line.link(past.clone(), Vec::new());
        line.run = Some(Run { id: id.clone(), before, past, saved: None });
        self.tabs[tab].saw(session, cp.epoch);
        self.took(tab, session, &id);
        self.model.retain(session);
        self.saw(tab, session);
        None
    }

    fn took(&mut self, tab: usize, session: &str, id: &str) {
        let own = Own { run: id.to_owned(), saved: String::new(), count: 0 };
        self.own[tab].insert(session.to_owned(), own);
    }

    pub(crate) async fn go(&mut self, tab: usize, session: &str, messages: &[u8], ends: bool) -> Option<Code> {
        let own = self.own[tab].get(session)?.clone();
        let (seen, newest) = self.standing(tab, session);
        let exists = self.model.lines.contains_key(session);
        let new: Vec<Msg> = messages.iter().map(|n| ops::message(*n)).collect();
        let done = self.tabs[tab].step(session, &own.run, ends, more(&new)).await;
        let active = self.model.lines.get(session).and_then(|line| line.run.clone()).filter(|run| run.id == own.run);
        let expected = match () {
            () if seen && !newest => Some(Code::Conflict),
            () if !seen && exists && !newest => Some(Code::NotLoaded),
            () if active.is_none() => Some(Code::InvalidArgument),
            () => None,
        };
        let cp = match done {
            Ok(cp) => cp,
            Err(error) => {
                assert_eq!(Some(error.code), expected, "{error}");
                if let Some(branch) = &error.branch {
                    let mut work = self.seen[tab][session].state.clone();
                    work.listed |= !new.is_empty();
                    work.messages.extend(new);
                    self.branch(tab, session, branch, work, true).await;
                    // It goes on there, and no more here.
                    if let Some(line) = self.model.lines.get_mut(session)
                        && line.run.as_ref().is_some_and(|run| run.id == own.run)
                    {
                        line.run = None;
                    }
                }
                return expected;
            }
        };
        assert_eq!(expected, None, "the step should have failed");
        let mut active = active.unwrap();
        let free = |cp: &Cp| !cp.pinned && cp.pending.is_empty() && self.model.forks(session, &cp.id) == 0;
        let replaced = self.model.lines[session].head().filter(|cp| cp.provisional && free(cp)).map(|cp| cp.seq);
        let line = self.line(session);
        if let Some(replaced) = replaced {
            line.cps.retain(|cp| cp.seq != replaced);
        }
        let mut state = line.live.clone();
        state.listed |= !new.is_empty();
        state.messages.extend(new);
        let by = line.advance(cp.id, state, false);
        let mut past = active.past.clone();
        past.push(Step { by, to: Some(active.before) });
        line.link(past, Vec::new());
        active.saved = None;
        line.run = Some(active).filter(|_| !ends);
        let own = self.own[tab].get_mut(session).unwrap();
        (own.saved, own.count) = (String::new(), 0);
        self.model.retain(session);
        self.saw(tab, session);
        None
    }

    /// The addition that brings what a tab has saved to a new content.
    fn growth(&self, tab: usize, session: &str, n: u8, anew: bool) -> Option<(u32, Stream<T>, String)> {
        let own = self.own[tab].get(session)?;
        let text = growing(n).encoded();
        let (count, old) = if anew || own.count == 0 { (0, "") } else { (own.count, own.saved.as_str()) };
        let (kept, between) = difference(old, &text);
        Some((count, addition(&own.run, kept, &between), text))
    }

    pub(crate) async fn stream(&mut self, tab: usize, session: &str, n: u8, anew: bool) -> Option<Code> {
        let (count, row, text) = self.growth(tab, session, n, anew)?;
        let own = self.own[tab][session].run.clone();
        let done = self.tabs[tab].grow(session, count, &row).await;
        let line = self.model.lines.get_mut(session);
        let expected = match &line {
            None => Some(Code::UnknownSession),
            Some(line) => line.run.as_ref().is_none_or(|run| run.id != own).then_some(Code::Conflict),
        };
        assert_eq!(done.err().map(|error| error.code), expected);
        if let Some(active) = line.and_then(|line| line.run.as_mut()).filter(|_| expected.is_none()) {
            active.saved = Some((text.clone(), growing(n)));
            let own = self.own[tab].get_mut(session).unwrap();
            (own.saved, own.count) = (text, count + 1);
        }
        expected
    }

    /// Recovers a session that has a run.
    pub(crate) async fn recover_run(&mut self, tab: usize, session: &str, drop: bool, active: Run) {
        let done = self.tabs[tab].engine.recover(sid(session), drop).await.unwrap().unwrap();
        let newest = self.tabs[tab].all(session).await.remove(0);
        assert_eq!((&newest.id, newest.epoch), (&done.checkpoint, done.epoch));
        let line = self.line(session);
        let mut state = line.live.clone();
        if let Some((_, message)) = active.saved.filter(|_| !drop) {
            state.listed = true;
            let recent = state.messages.len().saturating_sub(64);
            let same = state.messages[recent..].iter().position(|old| old.id == message.id);
            match same {
                Some(at) => state.messages[recent + at] = message,
                None => state.messages.push(message),
            }
        }
        let by = line.advance(done.checkpoint, state, false);
        let mut past = active.past;
        past.push(Step { by, to: Some(active.before) });
        line.link(past, Vec::new());
        line.run = None;
    }

    pub(crate) async fn new_session(&mut self, tab: usize, session: &str) -> Option<Code> {
        let id = self.fresh("n");
        let own = self.own_run(tab, session);
        let opened = self.tabs[tab].engine.new_session(sid(&id), None, Some(sid(session)), None, own).await;
        let expected = match self.model.lines.get(session) {
            None => Some(Code::UnknownSession),
            Some(_) => self.busy(tab, session).then_some(Code::ActiveRun),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                assert_eq!(Some(error.code), expected, "{error}");
                return expected;
            }
        };
        assert_eq!(expected, None, "the session should not have been sealed");
        let line = self.line(session);
        line.run = None;
        assert_eq!(opened.sealed.is_some(), line.head().is_some());
        if let Some(sealed) = opened.sealed {
            let (past, future) = (line.past.clone(), line.future.clone());
            line.advance(sealed.id, line.live.clone(), false);
            line.link(past, future);
            line.cps.last_mut().unwrap().sealed = true;
        }
        self.model.lines.insert(id, Line { version: tick(), ..Line::default() });
        None
    }

    /// Gives one of these commands to the engine alone, which must not write anything.
    pub(crate) async fn attempt_turn(&self, tab: usize, session: &str, op: &Op) -> Result<()> {
        let (engine, expect, id) = (&self.tabs[tab].engine, self.tabs[tab].expects(session), sid(session));
        let own = self.own[tab].get(session);
        match op {
            Op::Begin => engine.begin(id, asking("aborted", "p"), more(&[]), meta(), expect).await.map(drop),
            Op::Go { messages, ends } => {
                let Some(own) = own else { return Ok(()) };
                let new: Vec<Msg> = messages.iter().map(|n| ops::message(*n)).collect();
                engine.step(id, run(&own.run), *ends, more(&new), meta(), expect).await.map(drop)
            }
            Op::Stream { n, anew } => match self.growth(tab, session, *n, *anew) {
                Some((count, row, _)) => engine.stream(&id, count, &row).await,
                None => Ok(()),
            },
            Op::NewSession => {
                let own = self.own_run(tab, session);
                engine.new_session(sid("aborted"), None, Some(id), None, own).await.map(drop)
            }
            _ => Ok(()),
        }
    }
}
