//! Puts and appends, by writers that are first and by those that are not; and commands that abort.

use turnmark::error::{Branch, Code, Error, Result};
use turnmark::ids::TaskId;
use turnmark::plan::change::Change;
use turnmark::plan::restore::Target;
use turnmark::plan::write::Metadata;
use turnmark::store::{Access, Op as Write1, Plan, Storage};

use super::model::{Cp, Line, Step, Whole};
use super::ops::{self, Op, Turn, channel, value};
use super::world::World;
use crate::contract::kit::{Msg, T, body, meta, sid};

/// What a write writes.
pub(crate) enum Write {
    Whole(Whole),
    More { messages: Vec<u8>, set: Vec<(u8, u8)>, remove: Vec<u8> },
}

impl Write {
    pub(crate) fn change(&self) -> Change<T> {
        let named = |name: &String, value: &String| (name.clone(), body(value, &[]));
        match self {
            Write::Whole(state) => Change::Whole {
                listed: true,
                messages: state.messages.iter().map(Msg::incoming).collect(),
                channels: state.channels.iter().map(|(name, value)| named(name, value)).collect(),
            },
            Write::More { messages, set, remove } => Change::Append {
                keep: None,
                messages: messages.iter().map(|n| ops::message(*n).incoming()).collect(),
                set: set.iter().map(|(name, n)| named(&channel(*name), &value(*n))).collect(),
                remove: remove.iter().map(|name| channel(*name)).collect(),
                ui: None,
            },
        }
    }
}

impl World {
    /// What a put or an append writes, given what its tab has seen.
    pub(crate) fn work(&self, turn: &Turn, session: &str) -> Option<Write> {
        match &turn.op {
            Op::Put { edit, set, remove, .. } => {
                let mut state = self.basis(turn.tab, session);
                state = Whole { listed: true, messages: edit.apply(&state.messages), ..state };
                ops::channels(&mut state, set, remove);
                Some(Write::Whole(state))
            }
            Op::Append { messages, set, remove, .. } => {
                Some(Write::More { messages: messages.clone(), set: set.clone(), remove: remove.clone() })
            }
            _ => None,
        }
    }

    pub(crate) async fn write(&mut self, tab: usize, session: &str, write: Write, provisional: bool) -> Option<Code> {
        let result = self.tabs[tab].write(session, write.change(), Metadata { provisional, ..meta() }).await;
        let line = self.model.lines.get(session).cloned();
        let seen = self.seen[tab].get(session).cloned();
        let first = match (&line, &seen) {
            (None, seen) => seen.is_none(),
            (Some(line), Some(seen)) => seen.version == line.version,
            (Some(_), None) => true,
        };
        // What the work stands on: the live state, or what a writer that is behind had seen.
        let live = line.as_ref().map(|line| line.live.clone()).unwrap_or_default();
        let basis = if first { live.clone() } else { seen.as_ref().map(|seen| seen.state.clone()).unwrap_or_default() };
        let state = |basis: Whole| match &write {
            Write::Whole(state) => state.clone(),
            Write::More { messages, set, remove } => {
                let mut state = basis;
                state.listed |= !messages.is_empty();
                state.messages.extend(messages.iter().map(|n| ops::message(*n)));
                ops::channels(&mut state, set, remove);
                state
            }
        };
        let blank = line.as_ref().is_none_or(Line::is_blank);
        let expected = match &write {
            Write::More { .. } if first && seen.is_none() && !blank => Some(Code::NotLoaded),
            Write::Whole(state) if state.messages.is_empty() && !live.messages.is_empty() => {
                Some(Code::EmptyOverNonEmpty)
            }
            Write::Whole(state) if first && seen.is_none() => {
                let goes_on = if live.messages.is_empty() {
                    live.channels.is_empty() || live.channels == state.channels
                } else {
                    state.messages.starts_with(&live.messages)
                };
                (!goes_on).then_some(Code::NotLoaded)
            }
            _ => (!first).then_some(Code::Conflict),
        };
        match result {
            Err(error) => {
                assert_eq!(Some(error.code), expected, "{error}");
                if let Some(branch) = &error.branch {
                    self.branch(tab, session, branch, state(basis), matches!(write, Write::More { .. })).await;
                }
                Some(error.code)
            }
            Ok(saved) => {
                assert_eq!(expected, None, "the write should have failed");
                self.model.lines.entry(session.to_owned()).or_default();
                let free = |cp: &Cp| !cp.pinned && cp.pending.is_empty() && self.model.forks(session, &cp.id) == 0;
                let replaced =
                    self.model.lines[session].head().filter(|cp| cp.provisional && free(cp)).map(|cp| cp.seq);
                let line = self.line(session);
                let mut past = line.past.clone();
                let mut to = line.head().map(|head| head.seq);
                if let Some(replaced) = replaced {
                    // The stages of one answer are one step.
                    to = past.pop().and_then(|step| step.to);
                    line.cps.retain(|cp| cp.seq != replaced);
                }
                let by = line.advance(saved.checkpoint.id, state(live), provisional);
                past.push(Step { by, to });
                line.link(past, Vec::new());
                self.model.retain(session);
                self.saw(tab, session);
                None
            }
        }
    }

    /// R9: the refused work is in the branch, whole.
    pub(crate) async fn branch(&mut self, tab: usize, session: &str, branch: &Branch, work: Whole, appended: bool) {
        let name = branch.session.to_string();
        let engine = &self.tabs[tab].engine;
        let loaded = engine.load(&branch.session, None).await.unwrap().unwrap();
        let origin = engine.session(&branch.session).await.unwrap().unwrap().forked_from;
        let found = self.tabs[tab].at(&name, &branch.checkpoint).await;
        let line = self.model.lines.get(session);
        let base = origin.as_ref().and_then(|from| line?.cps.iter().find(|cp| cp.id == from.checkpoint_id));
        let mut state = work.clone();
        if appended && found != work.shot() {
            // What the writer had seen is gone: the work stands on the nearest checkpoint there is, or on nothing.
            let basis = base.map(|cp| cp.state.clone()).unwrap_or_default();
            let seen = &self.seen[tab][session];
            let still = line.and_then(|line| {
                line.cps.iter().position(|cp| Some(&cp.id) == seen.head.as_ref()).map(|at| &line.cps[at..])
            });
            let certain = still.is_some_and(|rest| rest.get(1).is_none_or(|next| next.seq == rest[0].seq + 1));
            assert!(!certain, "what its writer had seen is still there");
            let seen = &seen.state;
            let new = work.messages[seen.messages.len()..].to_vec();
            assert!(found.messages.len() >= new.len());
            state = basis;
            state.messages.extend(new);
            state.listed = found.listed;
            state.channels = found.channels.iter().map(|(name, (value, _))| (name.clone(), value.clone())).collect();
        }
        assert_eq!(found, state.shot(), "R9: the branch holds the work");
        let mut kept = Line {
            forked_from: origin.map(|from| (from.session_id.to_string(), from.checkpoint_id)),
            ..Line::default()
        };
        let by = kept.advance(loaded.checkpoint.id, state, loaded.checkpoint.provisional);
        kept.link(vec![Step { by, to: None }], Vec::new());
        self.model.lines.insert(name, kept);
    }
}

impl World {
    /// Gives a command whose transaction aborts: nothing of it may show, and nobody may hear of it.
    pub(crate) async fn aborted(&mut self, turn: &Turn) {
        let before = self.kit.dump().await;
        self.tabs[turn.tab].heard();
        let aborted = || Error::new(Code::Aborted, "the browser aborted the transaction");
        self.kit.backend.abort_next(aborted());
        let session = self.session(turn.session);
        let done = self.attempt(turn, &session).await;
        // Where the command wrote nothing, the fault is still armed.
        let touch = |_: &_| {
            Ok(Plan {
                writes: before
                    .first()
                    .map(|(key, row)| Write1::Put(key.clone(), (**row).clone()))
                    .into_iter()
                    .collect(),
                answer: (),
            })
        };
        let armed = self.kit.backend.run(Access::write(turnmark::codec::key::Store::ALL), touch).await.is_err();
        assert_eq!(armed, done != Err(aborted()), "{done:?}");
        assert_eq!(self.kit.dump().await, before, "R2: nothing of an aborted command is visible");
        if !armed {
            let heard = self.tabs[turn.tab].heard();
            assert!(heard.is_empty(), "{heard:?}");
        }
    }

    /// Gives a command to the engine alone, which must not write anything.
    async fn attempt(&self, turn: &Turn, session: &str) -> Result<()> {
        let tab = &self.tabs[turn.tab];
        let (engine, expect, id) = (&tab.engine, tab.expects(session), sid(session));
        let cp = |n: &usize| self.cp(session, *n).map_or_else(|| crate::contract::kit::cid("none"), |(_, id)| id);
        match &turn.op {
            Op::Put { provisional, .. } | Op::Append { provisional, .. } => {
                let change = self.work(turn, session).unwrap().change();
                engine.write(id, change, Metadata { provisional: *provisional, ..meta() }, expect).await.map(drop)
            }
            Op::Rollback { cp: n, parts } => engine
                .restore(
                    id,
                    Target::Rollback { id: cp(n), parts: parts.clone() },
                    self.own_run(turn.tab, session),
                    None,
                    expect,
                )
                .await
                .map(drop),
            Op::Undo => engine.restore(id, Target::Undo, self.own_run(turn.tab, session), None, expect).await.map(drop),
            Op::Redo => engine.restore(id, Target::Redo, self.own_run(turn.tab, session), None, expect).await.map(drop),
            Op::Fork { cp: n } => engine.fork(id, cp(n), sid("aborted")).await.map(drop),
            Op::Delete { cp: n } => engine.delete_checkpoint(&id, &cp(n)).await.map(drop),
            Op::Prune { keep } => engine.prune(id, u32::from(*keep)).await.map(drop),
            Op::Pin { cp: n, pinned } => engine.pin(&id, &cp(n), *pinned).await,
            Op::DeleteSession => engine.delete_session(&id).await,
            Op::Title => engine.set_title(&id, Some("aborted".to_owned())).await,
            Op::Writes { task, values } => {
                let values: Vec<_> = values.iter().map(|(name, n)| (channel(*name), body(&value(*n), &[]))).collect();
                engine.put_writes(&id, &TaskId::parse(&format!("a{task}")).unwrap(), &values).await
            }
            Op::Recover { drop: away } => engine.recover(id, *away).await.map(drop),
            Op::Collect => engine.collect().await.map(drop),
            Op::Copy => {
                let bundle = engine.export(None).await?;
                engine.import(&bundle, turnmark::plan::bundle::OnExisting::Rename).await.map(drop)
            }
            Op::Look | Op::Crash | Op::Move => Ok(()),
            Op::Begin | Op::Go { .. } | Op::Stream { .. } | Op::NewSession => {
                self.attempt_turn(turn.tab, session, &turn.op).await
            }
        }
    }
}
