//! A whole list of messages against the live one: what stays, what moved, what is new.

use crate::model::body::Text;
use crate::model::hash::Hash;
use crate::model::session::{Session, State};
use crate::model::sorted::Map;
use crate::model::span::{Span, Spans};
use crate::plan::change::Known;
use crate::plan::log::{self, Entry, Incoming};
use crate::plan::objects;
use crate::plan::write::MAX_SPANS;
use crate::store::{Op, Planned, View};

/// The list of messages a whole state asks for, made of what the base holds and of what is new.
pub struct Merge<T> {
    /// The list.
    pub spans: Spans,
    /// Bytes of its messages.
    pub size: u64,
    /// Chained history of its messages.
    pub history: Hash,
    /// How many messages of the old list stay at its beginning.
    pub keep: usize,
    /// What follows them, each with the chained history up to and including it.
    pub rest: Vec<(Entry<T>, Hash)>,
}

/// Makes the list: what both begin with stays, messages that only moved keep their places, the rest is appended.
///
/// # Errors
/// `Need`; `InvalidId`.
pub fn merge<T: Text>(
    view: &View<T>,
    session: &mut Session,
    state: &State,
    old: &Known<T>,
    messages: &[Incoming<T>],
    writes: &mut Vec<Op<T>>,
) -> Planned<Merge<T>> {
    let same = |(entry, _): &(Entry<T>, Hash), new: &Incoming<T>| match &entry.text {
        Some(text) => *text == new.body.text && entry.refs == new.body.refs(),
        None => entry.hash == new.body.hash(),
    };
    let keep = old.messages.iter().zip(messages).take_while(|(entry, new)| same(entry, new)).count();
    let (kept, old_rest) = old.messages.split_at_checked(keep).unwrap_or((&old.messages, &[]));
    let shared = u32::try_from(keep).unwrap_or(u32::MAX);
    let mut history = kept.last().map_or(Hash::default(), |(_, history)| *history);

    // Messages that only moved are found by their hash; so are those that the new state holds twice.
    let beyond = state.spans.slice(shared, u32::MAX);
    let mut moved: Map<Hash, (&Entry<T>, Span)> = Map::new();
    for ((entry, _), (log, seq)) in old_rest.iter().zip(beyond.places()) {
        moved.slot_with(entry.hash, || (entry, Span(log.clone(), seq, seq + 1)));
    }
    let unmoved = messages.iter().skip(keep).map(|new| &new.body).filter(|body| !moved.contains_key(&body.hash()));
    objects::want_binaries(view, unmoved)?;
    let mut fresh: Map<Hash, u32> = Map::new();
    let mut entries: Vec<Entry<T>> = Vec::new();
    let mut rest = Vec::new();
    let mut order: Vec<Result<Span, u32>> = Vec::new();
    for new in messages.iter().skip(keep) {
        let hash = new.body.hash();
        history = log::chain(history, new.role.as_ref(), new.id.as_ref());
        let entry = if let Some((entry, span)) = moved.get(&hash) {
            order.push(Ok(span.clone()));
            (*entry).clone()
        } else {
            let entry = log::admit(view, new, writes)?;
            let at = *fresh.slot_with(hash, || {
                entries.push(entry.clone());
                u32::try_from(entries.len() - 1).unwrap_or(u32::MAX)
            });
            order.push(Err(at));
            entry
        };
        rest.push((entry, history));
    }
    let mut spans = state.spans.slice(0, shared);
    let mut places = Spans::default();
    for place in &order {
        places.push(
            place
                .clone()
                .unwrap_or_else(|at| Span(session.log.clone(), session.log_next + at, session.log_next + at + 1)),
        );
    }
    // Headers must stay small: what is shuffled too much is written again, as one run.
    if spans.parts() + places.parts() > MAX_SPANS {
        entries = rest.iter().map(|(entry, _): &(Entry<T>, Hash)| entry.clone()).collect();
        places = Spans::default();
        let from = session.log_next;
        places.push(Span(
            session.log.clone(),
            from,
            from.saturating_add(u32::try_from(entries.len()).unwrap_or(u32::MAX)),
        ));
    }
    log::append(view, session, entries, writes)?;
    spans.extend(&places);
    let bytes = |list: &[(Entry<T>, Hash)]| list.iter().map(|(entry, _)| u64::from(entry.size)).sum::<u64>();
    let size = state.size.saturating_sub(bytes(old_rest)) + bytes(&rest);
    Ok(Merge { spans, size, history, keep, rest })
}
