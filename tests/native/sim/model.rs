//! The naive model: every state whole, cloned into every checkpoint. What it cannot know (ids, epochs) is read from what was
//! committed; what follows from a command is decided here, at the place where the command was committed.

use std::collections::BTreeMap;

use turnmark::ids::CheckpointId;
use turnmark::model::retention::Retention;

use crate::contract::kit::Msg;
use crate::histories::model::{Run, Step, Whole};

/// A checkpoint, with the state and with what could be undone and redone then.
#[derive(Clone, Debug)]
pub(crate) struct Cp {
    pub(crate) seq: u32,
    pub(crate) id: CheckpointId,
    pub(crate) epoch: u64,
    pub(crate) state: Whole,
    pub(crate) past: Vec<Step>,
    pub(crate) future: Vec<Step>,
    pub(crate) pinned: bool,
    pub(crate) provisional: bool,
    pub(crate) sealed: bool,
    /// As counted: on a full disk a fork can go, but nothing can be written to say so.
    pub(crate) forks: u32,
    /// By task and place: channel and value.
    pub(crate) pending: BTreeMap<(String, i64), (String, String)>,
    /// For a prompt: the ids of the messages that it follows.
    pub(crate) follows: Option<Vec<String>>,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) epoch: u64,
    pub(crate) live: Whole,
    pub(crate) cps: Vec<Cp>,
    pub(crate) next: u32,
    pub(crate) past: Vec<Step>,
    pub(crate) future: Vec<Step>,
    pub(crate) restore_point: Option<u32>,
    pub(crate) forked_from: Option<(String, CheckpointId)>,
    pub(crate) run: Option<Run>,
}

/// The ids of messages, in order.
pub(crate) fn ids(messages: &[Msg]) -> Vec<String> {
    messages.iter().filter_map(|message| message.id.clone()).collect()
}

impl Line {
    pub(crate) fn at(&self, seq: u32) -> Option<&Cp> {
        self.cps.iter().find(|cp| cp.seq == seq)
    }

    pub(crate) fn named(&self, id: &CheckpointId) -> Option<&Cp> {
        self.cps.iter().find(|cp| cp.id == *id)
    }

    pub(crate) fn head(&self) -> Option<&Cp> {
        self.cps.last()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.cps.is_empty() && self.live == Whole::default()
    }

    /// Makes a state live with a new checkpoint.
    pub(crate) fn advance(&mut self, (seq, id, epoch): (u32, CheckpointId, u64), state: Whole) -> u32 {
        assert_eq!(seq, self.next, "the place of {id}");
        self.next += 1;
        self.live = state.clone();
        let (past, future) = (self.past.clone(), self.future.clone());
        self.cps.push(Cp {
            seq,
            id,
            epoch,
            state,
            past,
            future,
            pinned: false,
            provisional: false,
            sealed: false,
            forks: 0,
            pending: BTreeMap::new(),
            follows: None,
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

    /// A step of undo or redo that leads somewhere: the state.
    pub(crate) fn leads(&self, steps: &[Step]) -> Option<Whole> {
        let step = steps.last()?;
        self.at(step.by)?;
        match step.to {
            None => Some(Whole::default()),
            Some(to) => Some(self.at(to)?.state.clone()),
        }
    }

    /// An unfinished write that the next one replaces is taken away; what its step leads back to is given.
    pub(crate) fn replace(&mut self) -> Option<Option<u32>> {
        let free = |cp: &&Cp| cp.provisional && !cp.pinned && cp.pending.is_empty() && cp.forks == 0;
        let seq = self.head().filter(free)?.seq;
        self.cps.pop();
        let to = if self.past.last().is_some_and(|step| step.by == seq) { self.past.pop() } else { None };
        Some(to.and_then(|step| step.to))
    }

    /// What was the newest when the session had an epoch; where that is gone, the nearest newer one.
    pub(crate) fn seen_at(&self, epoch: u64) -> Option<&Cp> {
        let mut newer: Option<&Cp> = None;
        for cp in self.cps.iter().rev() {
            if cp.epoch <= epoch {
                let gap = newer.is_some_and(|newer| newer.seq > cp.seq + 1);
                return if cp.epoch == epoch || !gap { Some(cp) } else { newer };
            }
            newer = Some(cp);
        }
        newer
    }

    fn may_prune(&self, cp: &Cp) -> bool {
        self.head().is_none_or(|head| head.seq != cp.seq)
            && self.restore_point != Some(cp.seq)
            && self.run.as_ref().is_none_or(|run| run.before != cp.seq)
            && !(cp.pinned || cp.sealed || cp.provisional || cp.forks > 0)
            && cp.pending.is_empty()
    }

    /// Removes the oldest removable ones of the first `among`, at most `count`.
    pub(crate) fn prune(&mut self, among: usize, count: usize) -> usize {
        let doomed: Vec<u32> =
            self.cps[..among].iter().filter(|cp| self.may_prune(cp)).take(count).map(|cp| cp.seq).collect();
        self.cps.retain(|cp| !doomed.contains(&cp.seq));
        doomed.len()
    }

    /// Retention after a write.
    pub(crate) fn retain(&mut self, retention: Retention) {
        let count = self.cps.len();
        let excess = retention.excess(u32::try_from(count).unwrap()) as usize;
        self.prune(count, excess);
    }
}

/// The sessions of a scope.
pub(crate) type Lines = BTreeMap<String, Line>;

/// The channels of the newest prompt that follows exactly these messages: of the session, else of what it was forked from.
pub(crate) fn asked_after(lines: &Lines, session: &str, before: &[Msg]) -> Option<BTreeMap<String, String>> {
    let (mut name, mut end) = (session, u32::MAX);
    loop {
        let line = lines.get(name)?;
        let follows =
            |cp: &&Cp| cp.seq < end && cp.follows.as_ref().is_some_and(|ids_before| *ids_before == ids(before));
        if let Some(found) = line.cps.iter().rev().find(follows) {
            return Some(found.state.channels.clone());
        }
        let (source, base) = line.forked_from.as_ref()?;
        let base = lines.get(source)?.named(base)?;
        (name, end) = (source, base.seq + 1);
    }
}
