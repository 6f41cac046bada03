//! Comparison of two states: by span arithmetic where that is enough, by content where it is not.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::ids::{CheckpointId, LogId, ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::State;
use crate::model::sorted::{Map, Set};
use crate::model::tree;
use crate::plan::head;
use crate::plan::log::{self, Entry};
use crate::plan::objects::{self, Value};
use crate::plan::read;
use crate::store::{Plan, Planned, View};

/// How a message or channel differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Only in the second state.
    Added,
    /// Only in the first.
    Removed,
    /// In both, with another content.
    Changed,
}

impl How {
    /// The word JavaScript uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            How::Added => "added",
            How::Removed => "removed",
            How::Changed => "changed",
        }
    }
}

/// One message that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageChange<T> {
    /// How.
    pub how: How,
    /// Its own id, where the messages were read.
    pub id: Option<T>,
    /// Its position in the first state.
    pub from: Option<u32>,
    /// Its position in the second state.
    pub to: Option<u32>,
    /// Its value in the first state, where asked for.
    pub before: Option<Value<T>>,
    /// Its value in the second state, where asked for.
    pub after: Option<Value<T>>,
}

/// One value of a keyed part that differs: a channel, or a value of the `ui` part.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange<T> {
    /// Its name.
    pub key: String,
    /// How.
    pub how: How,
    /// Its value in the first state, where asked for.
    pub before: Option<Value<T>>,
    /// Its value in the second state, where asked for.
    pub after: Option<Value<T>>,
}

/// What differs between two states.
#[derive(Clone, Debug)]
pub struct Diff<T> {
    /// How many messages both begin with.
    pub common_prefix: u32,
    /// Messages, in the order of the second state; removed ones stand where they were.
    pub messages: Vec<MessageChange<T>>,
    /// Channels, by name.
    pub channels: Vec<KeyChange<T>>,
    /// Values of the `ui` part, by name.
    pub ui: Vec<KeyChange<T>>,
    /// The binaries that the values refer to.
    pub binaries: Map<Hash, Rc<Vec<u8>>>,
}

/// A checkpoint of a session.
#[derive(Clone, Debug)]
pub struct Place {
    /// The session.
    pub session: SessionId,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
}

/// Plans the comparison of two checkpoints. Without `load` the messages are not read: they differ by identity.
///
/// # Errors
/// `Need`; `UnknownCheckpoint`, `RecordUnreadable`.
pub fn plan<T: Text>(view: &View<T>, scope: &ScopeId, a: &Place, b: &Place, load: bool) -> Planned<Plan<T, Diff<T>>> {
    let first: Checkpoint<T> = head::checkpoint(view, scope, &a.session, &a.checkpoint)?;
    let second: Checkpoint<T> = head::checkpoint(view, scope, &b.session, &b.checkpoint)?;
    Ok(Plan::read(states(view, &first.state, &second.state, load)?))
}

/// Compares two states.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn states<T: Text>(view: &View<T>, a: &State, b: &State, load: bool) -> Planned<Diff<T>> {
    let common_prefix = a.spans.common_prefix(&b.spans);
    let (left, right) = (a.spans.count(), b.spans.count());
    let suffix = a.spans.common_suffix(&b.spans).min(left.min(right) - common_prefix);
    let (from, to) = (a.spans.slice(common_prefix, left - suffix), b.spans.slice(common_prefix, right - suffix));
    let messages = if load {
        by_content(view, log::entries(view, &from)?, log::entries(view, &to)?, common_prefix)?
    } else {
        let place = |(log, seq): (&LogId, u32)| (log.clone(), seq);
        let (from, to): (Vec<_>, Vec<_>) = (from.places().map(place).collect(), to.places().map(place).collect());
        pair(&from, &to).into_iter().map(|pair| pair.bare(common_prefix)).collect()
    };
    let channels = keyed(view, a.roots.state, b.roots.state, load)?;
    let ui = keyed(view, a.roots.ui, b.roots.ui, load)?;
    let values = messages
        .iter()
        .flat_map(|change: &MessageChange<T>| [&change.before, &change.after])
        .chain(channels.iter().chain(&ui).flat_map(|change| [&change.before, &change.after]))
        .flatten();
    let binaries = read::binaries(view, values)?;
    Ok(Diff { common_prefix, messages, channels, ui, binaries })
}

/// Compares two keyed parts.
fn keyed<T: Text>(view: &View<T>, a: Option<Hash>, b: Option<Hash>, load: bool) -> Planned<Vec<KeyChange<T>>> {
    let changes = tree::diff(|hashes| objects::nodes(view, hashes), a, b)?;
    if load {
        objects::want_whole(view, changes.iter().flat_map(|change| change.before.into_iter().chain(change.after)))?;
    }
    let value = |hash: Option<Hash>| hash.filter(|_| load).map(|hash| objects::value(view, hash)).transpose();
    let found = changes.into_iter().map(|change| {
        let how = match (change.before, change.after) {
            (None, _) => How::Added,
            (_, None) => How::Removed,
            _ => How::Changed,
        };
        Ok(KeyChange { key: change.key, how, before: value(change.before)?, after: value(change.after)? })
    });
    found.collect()
}

/// An item of either side that has no equal at its place in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    Removed(usize),
    Added(usize),
    /// The same message with another content.
    Changed(usize, usize),
}

impl Odd {
    fn bare<T>(self, offset: u32) -> MessageChange<T> {
        let at = |index: usize| Some(offset + u32::try_from(index).unwrap_or(u32::MAX));
        let (how, from, to) = match self {
            Odd::Removed(from) => (How::Removed, at(from), None),
            Odd::Added(to) => (How::Added, None, at(to)),
            Odd::Changed(from, to) => (How::Changed, at(from), at(to)),
        };
        MessageChange { how, id: None, from, to, before: None, after: None }
    }
}

/// Pairs equal items of two lists in a longest increasing run of matches, and gives what is left over, in the order of
/// the second list.
fn pair<K: Ord>(a: &[K], b: &[K]) -> Vec<Odd> {
    let mut places: Map<&K, VecDeque<usize>> = Map::new();
    for (index, key) in b.iter().enumerate() {
        places.slot(key).push_back(index);
    }
    // Candidate matches, each item used once, then the longest run that keeps the order of both.
    let matches: Vec<(usize, usize)> =
        a.iter().enumerate().filter_map(|(from, key)| Some((from, places.get_mut(key)?.pop_front()?))).collect();
    let kept = longest_increasing(&matches);
    let mut odd = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (from, to) in kept.into_iter().chain([(a.len(), b.len())]) {
        odd.extend((i..from).map(Odd::Removed));
        odd.extend((j..to).map(Odd::Added));
        (i, j) = (from + 1, to + 1);
    }
    odd
}

fn longest_increasing(matches: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Patience: `tops[n]` is the index of the match that ends the best run of length n + 1.
    let mut tops: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(matches.len());
    for (index, (_, to)) in matches.iter().enumerate() {
        let length = tops.partition_point(|top| matches.get(*top).is_some_and(|(_, other)| other < to));
        previous.push(length.checked_sub(1).and_then(|before| tops.get(before).copied()));
        match tops.get_mut(length) {
            Some(top) => *top = index,
            None => tops.push(index),
        }
    }
    let mut run = Vec::new();
    let mut at = tops.last().copied();
    while let Some(index) = at {
        run.extend(matches.get(index).copied());
        at = previous.get(index).copied().flatten();
    }
    run.reverse();
    run
}

fn by_content<T: Text>(
    view: &View<T>,
    a: Vec<Entry<T>>,
    b: Vec<Entry<T>>,
    offset: u32,
) -> Planned<Vec<MessageChange<T>>> {
    let hashes = |list: &[Entry<T>]| list.iter().map(|entry| entry.hash).collect::<Vec<_>>();
    let odd = join(pair(&hashes(&a), &hashes(&b)), &a, &b);
    let differing = odd.iter().flat_map(|item| match item {
        Odd::Removed(from) => [a.get(*from), None],
        Odd::Added(to) => [None, b.get(*to)],
        Odd::Changed(from, to) => [a.get(*from), b.get(*to)],
    });
    objects::want_whole(view, differing.flatten().filter(|entry| entry.text.is_none()).map(|entry| entry.hash))?;
    let id = |list: &[Entry<T>], index: usize| list.get(index).and_then(|entry| entry.id.clone());
    let value = |list: &[Entry<T>], index: usize| {
        read::values(view, list.get(index).cloned().into_iter().collect()).map(|mut one| one.pop())
    };
    odd.into_iter()
        .map(|item| {
            let mut change = item.bare(offset);
            match item {
                Odd::Removed(from) => (change.id, change.before) = (id(&a, from), value(&a, from)?),
                Odd::Added(to) => (change.id, change.after) = (id(&b, to), value(&b, to)?),
                Odd::Changed(from, to) => {
                    (change.id, change.before, change.after) = (id(&b, to), value(&a, from)?, value(&b, to)?);
                }
            }
            Ok(change)
        })
        .collect()
}

/// Joins a removed and an added message of the same id and another content into a changed one, at the place of the added
/// one.
fn join<T: Text>(odd: Vec<Odd>, a: &[Entry<T>], b: &[Entry<T>]) -> Vec<Odd> {
    let key = |entry: Option<&Entry<T>>| entry.and_then(|entry| entry.id.as_ref()).map(|id| id.utf8().into_owned());
    let mut removed: Map<String, VecDeque<usize>> = Map::new();
    for item in &odd {
        if let Odd::Removed(from) = item
            && let Some(id) = key(a.get(*from))
        {
            removed.slot(id).push_back(*from);
        }
    }
    let mut joined = Vec::with_capacity(odd.len());
    let mut gone = Set::new();
    for item in odd {
        let partner = match item {
            Odd::Added(to) => key(b.get(to)).and_then(|id| {
                let same = removed.get_mut(&id)?;
                let hash = |list: &[Entry<T>], index: usize| list.get(index).map(|entry| entry.hash);
                // One that only moved has not changed.
                let at = same.iter().position(|from| hash(a, *from) != hash(b, to))?;
                Some((same.remove(at)?, to))
            }),
            _ => None,
        };
        match partner {
            Some((from, to)) => {
                gone.insert(from);
                joined.push(Odd::Changed(from, to));
            }
            None => joined.push(item),
        }
    }
    joined.retain(|item| !matches!(item, Odd::Removed(from) if gone.contains(from)));
    joined
}
