//! The content of a write: what is new in a state, and the state that comes of it.

use crate::codec::row::MAX_INLINE;
use crate::error::{Code, Error};
use crate::model::body::Text;
use crate::model::hash::Hash;
use crate::model::session::State;
use crate::plan::base::{Base, goes_on, not_loaded};
use crate::plan::log::{self, Entry, Incoming};
use crate::plan::merge::merge;
use crate::plan::objects;
use crate::plan::parts::{self, Named};
use crate::plan::write::Write;
use crate::store::{Op, Planned, View};

/// What is new.
#[derive(Clone, Debug)]
pub enum Change<T> {
    /// A whole state; only what differs from the live one is written.
    Whole {
        /// Whether it has a message list at all.
        listed: bool,
        /// Every message.
        messages: Vec<Incoming<T>>,
        /// Every channel.
        channels: Vec<Named<T>>,
    },
    /// New messages and channel changes on top of the live state.
    Append {
        /// Only so many messages of the live list stay, where less than all.
        keep: Option<u32>,
        /// The new messages.
        messages: Vec<Incoming<T>>,
        /// Channels to set.
        set: Vec<Named<T>>,
        /// Channels to remove.
        remove: Vec<String>,
        /// The whole `ui` part, where it changes.
        ui: Option<Vec<Named<T>>>,
    },
}

impl<T: Text> Change<T> {
    /// Whether it is a turn like most: short messages on top, no binaries, no channels. It touches no objects.
    pub fn is_plain(&self) -> bool {
        match self {
            Change::Whole { .. } => false,
            Change::Append { keep, messages, set, remove, ui } => {
                let short = |new: &Incoming<T>| new.body.binaries.is_empty() && new.body.size() as usize <= MAX_INLINE;
                keep.is_none() && ui.is_none() && set.is_empty() && remove.is_empty() && messages.iter().all(short)
            }
        }
    }
}

/// The messages of a head as this tab last knew them: what lets a put find unchanged messages by comparing texts,
/// without reading or hashing them. Only ever used after the transaction has seen the same epoch.
#[derive(Clone, Debug)]
pub struct Known<T> {
    /// The epoch.
    pub epoch: u64,
    /// Bytes of text held.
    pub bytes: u64,
    /// The messages, each with the chained history up to and including it.
    pub messages: Vec<(Entry<T>, Hash)>,
}

impl<T: Text> Known<T> {
    fn read(epoch: u64, entries: Vec<Entry<T>>) -> Self {
        let mut history = Hash::default();
        let messages = entries.into_iter().map(|entry| {
            history = log::chain(history, entry.role.as_ref(), entry.id.as_ref());
            (entry, history)
        });
        Known { epoch, bytes: 0, messages: messages.collect() }
    }
}

/// How the messages of the new head follow from those known before.
#[derive(Clone, Debug)]
pub struct Learned<T> {
    /// What was read, when what was known did not hold.
    pub read: Option<Known<T>>,
    /// How many messages stay.
    pub keep: usize,
    /// What follows them.
    pub rest: Vec<(Entry<T>, Hash)>,
    /// The new head's epoch.
    pub epoch: u64,
}

/// The new state, and the messages of it where they are known anyway.
///
/// # Errors
/// `Need`; `EmptyOverNonEmpty`, `NotLoaded`, `TooLarge`.
pub fn next_state<T: Text>(
    view: &View<T>,
    command: &Write<T>,
    base: &mut Base,
    known: Option<&Known<T>>,
    writes: &mut Vec<Op<T>>,
) -> Planned<(State, Option<Learned<T>>)> {
    let (session, mut state) = (&mut base.session, base.state.clone());
    // What this tab knows holds only for the very head it knows; branches read their base.
    let current = known.filter(|known| base.conflict_of.is_none() && known.epoch == session.epoch);
    match &command.change {
        Change::Whole { listed, messages, channels } => {
            if messages.is_empty() && state.spans.count() > 0 && !command.metadata.allow_empty {
                let why = format!(
                    "session {:?} holds {} messages and the new state none; pass allowEmpty: true if that is meant. Nothing was written",
                    command.session,
                    state.spans.count()
                );
                return Err(Error::new(Code::EmptyOverNonEmpty, why).into());
            }
            let read = match current {
                Some(_) => None,
                None => Some(Known::read(session.epoch, log::entries(view, &state.spans)?)),
            };
            let old = current
                .or(read.as_ref())
                .ok_or_else(|| Error::new(Code::Internal, "a put has nothing to compare with"))?;
            let merged = merge(view, session, &state, old, messages, writes)?;
            let root = parts::replace(view, state.roots.state, channels, writes)?;
            let mut new = State {
                listed: *listed,
                spans: merged.spans,
                size: merged.size,
                history: merged.history,
                turns: state.turns,
                roots: state.roots.clone(),
            };
            new.roots.state = root;
            let unseen = command.expect.is_none() && command.metadata.parent.is_none();
            if base.conflict_of.is_none() && unseen && !goes_on(&state, &new) {
                return Err(not_loaded(session).into());
            }
            Ok((new, Some(Learned { read, keep: merged.keep, rest: merged.rest, epoch: 0 })))
        }
        Change::Append { keep, messages, set, remove, ui } => {
            let keep = keep.filter(|keep| *keep < state.spans.count());
            if let Some(keep) = keep {
                state = cut(view, &state, keep, current)?;
            }
            let mut rest = Vec::new();
            let mut entries = Vec::with_capacity(messages.len());
            objects::want_binaries(view, messages.iter().map(|new| &new.body))?;
            for new in messages {
                let entry = log::admit(view, new, writes)?;
                state.history = log::chain(state.history, new.role.as_ref(), new.id.as_ref());
                state.size += u64::from(entry.size);
                rest.push((entry.clone(), state.history));
                entries.push(entry);
            }
            state.listed |= !messages.is_empty();
            state.spans.push(log::append(view, session, entries, writes)?);
            state.roots.state = parts::apply(view, state.roots.state, set, remove, writes)?;
            if let Some(ui) = ui {
                state.roots.ui = parts::replace(view, state.roots.ui, ui, writes)?;
            }
            let kept = |known: &Known<T>| keep.map_or(known.messages.len(), |keep| keep as usize);
            let learned = current.map(|known| Learned { read: None, keep: kept(known), rest, epoch: 0 });
            Ok((state, learned))
        }
    }
}

/// The state with only the first `keep` of its messages.
///
/// # Errors
/// `Need` unless they are known; `RecordUnreadable`.
pub fn cut<T: Text>(view: &View<T>, state: &State, keep: u32, known: Option<&Known<T>>) -> Planned<State> {
    let spans = state.spans.slice(0, keep);
    let kept = known.and_then(|known| known.messages.get(..keep as usize));
    let (size, history) = match kept {
        Some(kept) => (
            kept.iter().map(|(entry, _)| u64::from(entry.size)).sum(),
            kept.last().map_or(Hash::default(), |(_, history)| *history),
        ),
        None => log::entries(view, &spans)?.iter().fold((0, Hash::default()), |(size, history), entry| {
            (size + u64::from(entry.size), log::chain(history, entry.role.as_ref(), entry.id.as_ref()))
        }),
    };
    Ok(State { spans, size, history, ..state.clone() })
}
