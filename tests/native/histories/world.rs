//! The engine and the model side by side: each command is given to both, and must do the same.

use std::collections::BTreeMap;

use turnmark::error::{Code, Result};
use turnmark::ids::{CheckpointId, TaskId};
use turnmark::model::part::Part;
use turnmark::model::retention::Retention;
use turnmark::plan::bundle::OnExisting;
use turnmark::plan::restore::Target;

use super::model::{Line, Model, Step, Whole, tick, travel};
use super::ops::{Op, Turn, channel, value};
use super::turns::Own;
use crate::contract::kit::{Kit, Tab, body, sid};

/// What a tab has seen of a session: the version, and the state.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) version: u64,
    pub(crate) state: Whole,
    pub(crate) head: Option<CheckpointId>,
}

/// Two tabs over one database, and the model of it.
pub(crate) struct World {
    pub(crate) kit: Kit,
    pub(crate) tabs: Vec<Tab>,
    pub(crate) model: Model,
    pub(crate) seen: Vec<BTreeMap<String, Seen>>,
    /// Each tab's own turns, by session.
    pub(crate) own: Vec<BTreeMap<String, Own>>,
    named: usize,
}

/// What a command did.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// The session it was about.
    pub(crate) session: String,
    /// How it failed, if it did.
    pub(crate) code: Option<Code>,
    /// Sessions whose rows it may have touched: those it was about, and those it made.
    pub(crate) concerns: Vec<String>,
}

impl World {
    pub(crate) async fn new(retention: Retention) -> World {
        World::over(Kit::fresh().await, Model { retention, ..Model::default() }).await
    }

    async fn over(kit: Kit, model: Model) -> World {
        let Retention { max, share, .. } = model.retention;
        let tabs = vec![kit.tab_keeping(max, share).await, kit.tab_keeping(max, share).await];
        World { kit, tabs, model, seen: vec![BTreeMap::new(); 2], own: vec![BTreeMap::new(); 2], named: 0 }
    }

    /// The session a number means: one of a few names, or any that exists.
    pub(crate) fn session(&self, n: usize) -> String {
        let names: Vec<String> = self.model.lines.keys().cloned().chain(["s0".to_owned(), "s1".to_owned()]).collect();
        if n == 0 { "s0".to_owned() } else { names[n % names.len()].clone() }
    }

    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}", self.named)
    }

    pub(crate) fn line(&mut self, session: &str) -> &mut Line {
        self.model.lines.get_mut(session).unwrap()
    }

    pub(crate) fn saw(&mut self, tab: usize, session: &str) {
        let line = &self.model.lines[session];
        let head = line.head().map(|head| head.id.clone());
        let seen = Seen { version: line.version, state: line.live.clone(), head };
        self.seen[tab].insert(session.to_owned(), seen);
    }

    /// Gives a command to both. Panics where they differ.
    pub(crate) async fn take(&mut self, turn: &Turn) -> Done {
        let session = self.session(turn.session);
        let sessions: Vec<String> = self.model.lines.keys().cloned().collect();
        let code = self.give(turn, &session).await;
        let made = self.model.lines.keys().filter(|name| !sessions.contains(name)).cloned();
        let concerns = std::iter::once(session.clone()).chain(made).collect();
        Done { session, code, concerns }
    }

    async fn give(&mut self, turn: &Turn, session: &str) -> Option<Code> {
        let tab = turn.tab;
        match &turn.op {
            Op::Put { provisional, .. } | Op::Append { provisional, .. } => {
                let write = self.work(turn, session).unwrap();
                self.write(tab, session, write, *provisional).await
            }
            Op::Rollback { cp, parts } => self.rollback(tab, session, *cp, parts).await,
            Op::Undo => self.step(tab, session, true).await,
            Op::Redo => self.step(tab, session, false).await,
            Op::Fork { cp } => self.fork(tab, session, *cp).await,
            Op::Delete { cp } => self.delete(tab, session, *cp).await,
            Op::Prune { keep } => {
                let pruned = self.tabs[tab].engine.prune(sid(session), u32::from(*keep)).await.unwrap().deleted.len();
                let count = self.model.lines.get(session).map_or(0, |line| line.cps.len());
                let among = count.saturating_sub(usize::from(*keep));
                let expected = if count == 0 { 0 } else { self.model.prune(session, among, among) };
                assert_eq!(pruned, expected, "P-03: as many are pruned as the model prunes");
                None
            }
            Op::Pin { cp, pinned } => {
                let (seq, id) = self.cp(session, *cp)?;
                self.tabs[tab].engine.pin(&sid(session), &id, *pinned).await.unwrap();
                let cp = self.line(session).cps.iter_mut().find(|cp| cp.seq == seq).unwrap();
                cp.pinned = *pinned;
                None
            }
            Op::DeleteSession => {
                let expected = (!self.model.lines.contains_key(session)).then_some(Code::UnknownSession);
                let code = self.tabs[tab].engine.delete_session(&sid(session)).await.err().map(|error| error.code);
                assert_eq!(code, expected);
                self.model.lines.remove(session);
                code
            }
            Op::Title => {
                self.tabs[tab].engine.set_title(&sid(session), Some("title".to_owned())).await.unwrap();
                self.model.lines.entry(session.to_owned()).or_default();
                None
            }
            Op::Writes { task, values } => self.put_writes(tab, session, *task, values).await,
            Op::Recover { drop } => self.recover(tab, session, *drop).await,
            Op::Begin => self.begin(tab, session).await,
            Op::Go { messages, ends } => self.go(tab, session, messages, *ends).await,
            Op::Stream { n, anew } => self.stream(tab, session, *n, *anew).await,
            Op::NewSession => self.new_session(tab, session).await,
            Op::Look => {
                if self.tabs[tab].load(session).await.is_some() {
                    self.saw(tab, session);
                } else {
                    // A store forgets what it had seen of a session that is not there any more.
                    self.seen[tab].remove(session);
                    self.tabs[tab].seen.borrow_mut().remove(session);
                }
                None
            }
            Op::Crash => {
                let Retention { max, share, .. } = self.model.retention;
                self.tabs[tab] = self.kit.tab_keeping(max, share).await;
                self.seen[tab].clear();
                self.own[tab].clear();
                None
            }
            Op::Collect => {
                self.tabs[tab].engine.collect().await.unwrap();
                None
            }
            Op::Move => {
                let bundle = self.tabs[tab].engine.export(None).await.unwrap();
                let text = crate::backend::text(&bundle);
                let named = self.named;
                // A run belongs to a page of the database it is in.
                self.model.lines.values_mut().for_each(|line| line.run = None);
                *self = World::over(Kit::fresh().await, std::mem::take(&mut self.model)).await;
                self.named = named;
                self.tabs[0].engine.import(&crate::backend::bundle(&text).unwrap(), OnExisting::Error).await.unwrap();
                None
            }
            Op::Copy => {
                if !self.model.lines.contains_key(session) {
                    return None;
                }
                let engine = &self.tabs[tab].engine;
                let bundle = engine.export(Some(&[sid(session)])).await.unwrap();
                let done = engine.import(&bundle, OnExisting::Rename).await.unwrap();
                let line = Line { run: None, ..self.model.lines[session].clone() };
                self.model.lines.insert(done.sessions[0].1.to_string(), line);
                None
            }
        }
    }

    /// What a client starts from: the state it has seen, or, in every other session, the live one it guesses right.
    pub(crate) fn basis(&self, tab: usize, session: &str) -> Whole {
        let seen = self.seen[tab].get(session).map(|seen| seen.state.clone());
        let live = || self.model.lines.get(session).filter(|_| session != "s1").map(|line| line.live.clone());
        seen.or_else(live).unwrap_or_default()
    }

    pub(crate) fn cp(&self, session: &str, n: usize) -> Option<(u32, CheckpointId)> {
        let cps = &self.model.lines.get(session)?.cps;
        let cp = cps.get(n % cps.len().max(1))?;
        Some((cp.seq, cp.id.clone()))
    }

    async fn rollback(&mut self, tab: usize, session: &str, n: usize, parts: &[Part]) -> Option<Code> {
        let (seq, id) = self.cp(session, n)?;
        let target = Target::Rollback { id, parts: parts.to_vec() };
        let line = &self.model.lines[session];
        let found = line.at(seq).unwrap().state.clone();
        let mut state = line.live.clone();
        for part in parts {
            match part {
                Part::Messages => (state.listed, state.messages) = (found.listed, found.messages.clone()),
                Part::State => state.channels = found.channels.clone(),
                Part::Ui => {}
            }
        }
        self.restore(tab, session, target, Ok(state)).await
    }

    async fn step(&mut self, tab: usize, session: &str, back: bool) -> Option<Code> {
        let (target, nothing) =
            if back { (Target::Undo, Code::NothingToUndo) } else { (Target::Redo, Code::NothingToRedo) };
        let expected = match self.model.lines.get(session) {
            None => Err(Code::UnknownSession),
            Some(line) => {
                let steps = if back { &line.past } else { &line.future };
                line.leads(steps).map(|(state, _)| state).ok_or(nothing)
            }
        };
        self.restore(tab, session, target, expected).await
    }

    async fn restore(
        &mut self,
        tab: usize,
        session: &str,
        target: Target,
        expected: Result<Whole, Code>,
    ) -> Option<Code> {
        let version = self.model.lines.get(session).map(|line| line.version);
        let stale = self.seen[tab].get(session).is_some_and(|seen| Some(seen.version) != version);
        let expected = match expected {
            _ if self.busy(tab, session) => Err(Code::ActiveRun),
            _ if stale && version.is_some() => Err(Code::Conflict),
            expected => expected,
        };
        let own = self.own_run(tab, session);
        let restored = self.tabs[tab].restore_by(session, target.clone(), own).await;
        let state = match (expected, restored) {
            (Ok(state), Ok(restored)) => (state, restored),
            (Err(code), Err(error)) if error.code == code => return Some(code),
            (expected, restored) => panic!("expected {expected:?}, got {restored:?}"),
        };
        let (state, restored) = state;
        let line = self.line(session);
        let before = line.live.clone();
        let point = line.advance(restored.restore_point.id, before, false);
        let (mut past, mut future) = (line.past.clone(), line.future.clone());
        let by = line.advance(restored.checkpoint.id, state, false);
        let step = Step { by, to: Some(point) };
        travel(&target, step, &mut past, &mut future);
        line.link(past, future);
        line.restore_point = Some(point);
        line.run = None;
        self.model.retain(session);
        self.saw(tab, session);
        None
    }

    async fn fork(&mut self, tab: usize, session: &str, n: usize) -> Option<Code> {
        let (seq, id) = self.cp(session, n)?;
        let target = self.fresh("f");
        let forked = self.tabs[tab].fork(session, &id, &target).await.unwrap();
        let base = self.model.lines[session].at(seq).unwrap().clone();
        let mut line = Line { forked_from: Some((session.to_owned(), id)), ..Line::default() };
        line.advance(forked.id, base.state, false);
        line.cps[0].pending = base.pending;
        self.model.lines.insert(target.clone(), line);
        self.saw(tab, &target);
        None
    }

    async fn delete(&mut self, tab: usize, session: &str, n: usize) -> Option<Code> {
        let (seq, id) = self.cp(session, n)?;
        let deleted = self.tabs[tab].delete(session, &id).await;
        let line = &self.model.lines[session];
        if !self.model.may_delete(session, line.at(seq).unwrap()) {
            assert_eq!(deleted.err().map(|error| error.code), Some(Code::Protected));
            return Some(Code::Protected);
        }
        let head = line.head().is_some_and(|head| head.seq == seq);
        if head && line.run.is_some() {
            assert_eq!(deleted.err().map(|error| error.code), Some(Code::ActiveRun));
            return Some(Code::ActiveRun);
        }
        deleted.unwrap();
        let current = self.seen[tab].get(session).is_some_and(|seen| seen.version == self.model.lines[session].version);
        let line = self.line(session);
        let newest = line.head().is_some_and(|head| head.seq == seq);
        line.cps.retain(|cp| cp.seq != seq);
        // Undo and redo go on from the one before.
        if line.past.last().is_some_and(|step| step.by == seq) {
            line.past.pop();
        }
        if line.future.last().is_some_and(|step| step.by == seq) {
            line.future.pop();
        }
        if newest {
            line.version = tick();
            let before = line.head().cloned();
            line.live = before.as_ref().map_or_else(Whole::default, |cp| cp.state.clone());
            (line.past, line.future) = before.map_or_else(Default::default, |cp| (cp.past, cp.future));
            if current {
                self.saw(tab, session);
            }
        }
        None
    }

    async fn put_writes(&mut self, tab: usize, session: &str, task: u8, values: &[(u8, u8)]) -> Option<Code> {
        const SPECIAL: [&str; 2] = ["__error__", "__resume__"];
        let task = format!("t{task}");
        let named = |(name, n): &(u8, u8)| {
            let name = SPECIAL.get(usize::from(*name)).map_or_else(|| channel(*name), |name| (*name).to_owned());
            (name, value(*n))
        };
        let values: Vec<(String, String)> = values.iter().map(named).collect();
        let bodies: Vec<_> = values.iter().map(|(name, value)| (name.clone(), body(value, &[]))).collect();
        let done = self.tabs[tab].engine.put_writes(&sid(session), &TaskId::parse(&task).unwrap(), &bodies).await;
        let expected = match self.model.lines.get(session) {
            None => Some(Code::UnknownSession),
            Some(line) => line.cps.is_empty().then_some(Code::UnknownCheckpoint),
        };
        assert_eq!(done.err().map(|error| error.code), expected);
        if expected.is_none() {
            let pending = &mut self.line(session).cps.last_mut().unwrap().pending;
            for (at, (name, value)) in (0..).zip(values) {
                let special = match name.as_str() {
                    "__error__" => Some(-1),
                    "__resume__" => Some(-4),
                    _ => None,
                };
                let key = (task.clone(), special.unwrap_or(at));
                if special.is_some() || !pending.contains_key(&key) {
                    pending.insert(key, (name, value));
                }
            }
        }
        expected
    }

    async fn recover(&mut self, tab: usize, session: &str, drop: bool) -> Option<Code> {
        if let Some(active) = self.model.lines.get(session).and_then(|line| line.run.clone()) {
            self.recover_run(tab, session, drop, active).await;
            return None;
        }
        let done = self.tabs[tab].engine.recover(sid(session), drop).await;
        let Some(line) = self.model.lines.get_mut(session) else {
            assert_eq!(done.err().map(|error| error.code), Some(Code::UnknownSession));
            return Some(Code::UnknownSession);
        };
        let Some(head) = line.cps.last_mut().filter(|cp| cp.provisional) else {
            assert!(done.unwrap().is_none());
            return None;
        };
        head.provisional = false;
        let seq = head.seq;
        assert_eq!(done.unwrap().map(|done| done.checkpoint), Some(head.id.clone()));
        if drop {
            // The state before the interrupted turn; where that is gone, that of the checkpoint before it.
            let to = line.past.iter().rev().find(|step| step.by == seq).and_then(|step| line.at(step.to?));
            let before = to.or_else(|| line.cps.iter().rev().find(|cp| cp.seq < seq));
            let state = before.map_or_else(Whole::default, |cp| cp.state.clone());
            let mut past = line.past.clone();
            let id = self.tabs[tab].all(session).await[0].id.clone();
            let by = line.advance(id, state, false);
            past.push(Step { by, to: Some(seq) });
            line.link(past, Vec::new());
        } else {
            line.version = tick();
        }
        None
    }
}
