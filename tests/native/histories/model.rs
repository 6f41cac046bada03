//! The naive model: every state whole, cloned into every checkpoint. What the engine does is compared with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use turnmark::ids::CheckpointId;
use turnmark::model::retention::Retention;
use turnmark::plan::restore::Target;

use crate::contract::kit::{Msg, Shot};

/// A state, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) listed: bool,
    pub(crate) messages: Vec<Msg>,
    pub(crate) channels: BTreeMap<String, String>,
}

impl Whole {
    /// What it looks like when it is read.
    pub(crate) fn shot(&self) -> Shot {
        Shot {
            listed: self.listed,
            messages: self.messages.iter().map(|message| (message.encoded(), message.binaries.clone())).collect(),
            channels: self.channels.iter().map(|(name, value)| (name.clone(), (value.clone(), Vec::new()))).collect(),
        }
    }
}

/// What a restore makes of what can be undone and redone.
pub(crate) fn travel(target: &Target, step: Step, past: &mut Vec<Step>, future: &mut Vec<Step>) {
    match target {
        Target::Undo => {
            past.pop();
            future.push(step);
        }
        Target::Redo => {
            future.pop();
            past.push(step);
        }
        Target::Rollback { .. } | Target::Message(_) => {
            past.push(step);
            future.clear();
        }
    }
}

/// Something that can be undone (or redone): the checkpoint that did it, and the one with the state to go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) by: u32,
    pub(crate) to: Option<u32>,
}

/// A checkpoint, with the state and with what could be undone and redone then.
#[derive(Clone, Debug)]
pub(crate) struct Cp {
    pub(crate) seq: u32,
    pub(crate) id: CheckpointId,
    pub(crate) state: Whole,
    pub(crate) past: Vec<Step>,
    pub(crate) future: Vec<Step>,
    pub(crate) pinned: bool,
    pub(crate) provisional: bool,
    pub(crate) sealed: bool,
    /// By task and place: channel and value.
    pub(crate) pending: BTreeMap<(String, i64), (String, String)>,
}

/// A number that was never given before: a session made again is another one.
pub(crate) fn tick() -> u64 {
    TICKS.fetch_add(1, Ordering::Relaxed)
}

static TICKS: AtomicU64 = AtomicU64::new(1);

/// A turn that is being answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) before: u32,
    pub(crate) past: Vec<Step>,
    /// What was saved of its growing message: the text, and the message it says.
    pub(crate) saved: Option<(String, Msg)>,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Grows with every change of the head.
    pub(crate) version: u64,
    pub(crate) live: Whole,
    pub(crate) cps: Vec<Cp>,
    pub(crate) next: u32,
    pub(crate) past: Vec<Step>,
    pub(crate) future: Vec<Step>,
    pub(crate) restore_point: Option<u32>,
    pub(crate) forked_from: Option<(String, CheckpointId)>,
    pub(crate) run: Option<Run>,
}

impl Line {
    pub(crate) fn at(&self, seq: u32) -> Option<&Cp> {
        self.cps.iter().find(|cp| cp.seq == seq)
    }

    pub(crate) fn head(&self) -> Option<&Cp> {
        self.cps.last()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.cps.is_empty() && self.live == Whole::default()
    }

    /// Makes a state live with a new checkpoint.
    pub(crate) fn advance(&mut self, id: CheckpointId, state: Whole, provisional: bool) -> u32 {
        let seq = self.next;
        self.next += 1;
        self.version = tick();
        self.live = state.clone();
        let (past, future) = (self.past.clone(), self.future.clone());
        self.cps.push(Cp {
            seq,
            id,
            state,
            past,
            future,
            pinned: false,
            provisional,
            sealed: false,
            pending: BTreeMap::new(),
        });
        seq
    }

    /// Notes what can be undone and redone while the newest checkpoint is the newest.
    pub(crate) fn link(&mut self, past: Vec<Step>, future: Vec<Step>) {
        (self.past, self.future) = (past.clone(), future.clone());
        if let Some(cp) = self.cps.last_mut() {
            (cp.past, cp.future) = (past, future);
        }
    }

    /// A step of undo or redo that leads somewhere: the state, and the step.
    pub(crate) fn leads(&self, steps: &[Step]) -> Option<(Whole, Step)> {
        let step = steps.last()?;
        self.at(step.by)?;
        match step.to {
            None => Some((Whole::default(), step.clone())),
            Some(to) => Some((self.at(to)?.state.clone(), step.clone())),
        }
    }
}

/// All sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) lines: BTreeMap<String, Line>,
    pub(crate) retention: Retention,
}

impl Model {
    /// How many sessions were forked from a checkpoint.
    pub(crate) fn forks(&self, session: &str, id: &CheckpointId) -> usize {
        let from = (session.to_owned(), id.clone());
        self.lines.values().filter(|line| line.forked_from.as_ref() == Some(&from)).count()
    }

    /// Whether a checkpoint may be deleted by name.
    pub(crate) fn may_delete(&self, session: &str, cp: &Cp) -> bool {
        !cp.pinned && !cp.sealed && self.forks(session, &cp.id) == 0
    }

    /// Whether a checkpoint may be pruned.
    pub(crate) fn may_prune(&self, session: &str, cp: &Cp) -> bool {
        let line = &self.lines[session];
        let newest = line.head().is_some_and(|head| head.seq == cp.seq);
        !newest
            && line.restore_point != Some(cp.seq)
            && line.run.as_ref().is_none_or(|run| run.before != cp.seq)
            && self.may_delete(session, cp)
            && !cp.provisional
            && cp.pending.is_empty()
    }

    /// Removes the oldest removable ones of the first `among`, at most `count`.
    pub(crate) fn prune(&mut self, session: &str, among: usize, count: usize) -> usize {
        let line = &self.lines[session];
        let doomed: Vec<u32> =
            line.cps[..among].iter().filter(|cp| self.may_prune(session, cp)).take(count).map(|cp| cp.seq).collect();
        let line = self.lines.get_mut(session).unwrap();
        line.cps.retain(|cp| !doomed.contains(&cp.seq));
        doomed.len()
    }

    /// Retention after a write (P-04, R13).
    pub(crate) fn retain(&mut self, session: &str) {
        let count = self.lines[session].cps.len();
        let excess = self.retention.excess(u32::try_from(count).unwrap()) as usize;
        self.prune(session, count, excess);
    }
}
