//! Spans over message logs: how a head or a checkpoint says which messages it holds without holding any.

use serde::{Deserialize, Serialize};

use crate::ids::LogId;
use crate::model::sorted::Map;

/// The messages `from .. to` of one log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span(pub LogId, pub u32, pub u32);

impl Span {
    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.2.saturating_sub(self.1)
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An ordered list of messages as spans, merged where they touch.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// Appends a span, merging it with the last one where they touch. Empty spans vanish.
    pub fn push(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.0 == span.0 && last.2 == span.1 => last.2 = span.2,
            _ => self.0.push(span),
        }
    }

    /// Appends all of another list.
    pub fn extend(&mut self, other: &Spans) {
        for span in &other.0 {
            self.push(span.clone());
        }
    }

    /// The spans, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Span> {
        self.0.iter()
    }

    /// How many spans there are.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.0.len()
    }

    /// Number of messages.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(Span::len).sum()
    }

    /// Messages `from .. to` of the list, as spans.
    #[must_use]
    pub fn slice(&self, from: u32, to: u32) -> Spans {
        let mut out = Spans::default();
        let mut start = 0;
        for span in &self.0 {
            let end = start + span.len();
            let (low, high) = (from.max(start), to.min(end));
            if low < high {
                out.push(Span(span.0.clone(), span.1 + (low - start), span.1 + (high - start)));
            }
            start = end;
        }
        out
    }

    /// The place of message `index` in its log.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<(&LogId, u32)> {
        let mut start = 0;
        for span in &self.0 {
            let end = start + span.len();
            if index < end {
                return Some((&span.0, span.1 + (index - start)));
            }
            start = end;
        }
        None
    }

    /// How many messages both lists begin with, by identity, without reading one.
    #[must_use]
    pub fn common_prefix(&self, other: &Spans) -> u32 {
        common(self.0.iter().cloned(), other.0.iter().cloned(), |span, n| Span(span.0, span.1 + n, span.2))
    }

    /// How many messages both lists end with, by identity.
    #[must_use]
    pub fn common_suffix(&self, other: &Spans) -> u32 {
        let flip = |span: &Span| Span(span.0.clone(), u32::MAX - span.2, u32::MAX - span.1);
        common(self.0.iter().rev().map(flip), other.0.iter().rev().map(flip), |span, n| {
            Span(span.0, span.1 + n, span.2)
        })
    }

    /// Every place of the list, in order. Costs one step a message.
    pub fn places(&self) -> impl Iterator<Item = (&LogId, u32)> {
        self.0.iter().flat_map(|span| (span.1..span.2).map(move |seq| (&span.0, seq)))
    }

    /// Whether every message of `other` is in this list.
    #[must_use]
    pub fn covers(&self, other: &Spans) -> bool {
        let mut mine = Coverage::default();
        mine.add(self);
        mine.holds(other)
    }
}

fn common(a: impl Iterator<Item = Span>, b: impl Iterator<Item = Span>, advance: impl Fn(Span, u32) -> Span) -> u32 {
    let (mut a, mut b) = (a, b);
    let (mut left, mut right) = (a.next(), b.next());
    let mut total = 0;
    while let (Some(x), Some(y)) = (left, right) {
        if x.0 != y.0 || x.1 != y.1 {
            break;
        }
        let shared = x.len().min(y.len());
        total += shared;
        left = Some(advance(x, shared)).filter(|span| !span.is_empty());
        right = Some(advance(y, shared)).filter(|span| !span.is_empty());
        if left.is_none() {
            left = a.next();
        }
        if right.is_none() {
            right = b.next();
        }
    }
    total
}

/// Which messages of which logs are reached, as disjoint ranges: what collection keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(Map<LogId, Map<u32, u32>>);

impl Coverage {
    /// Adds every message of a list.
    pub fn add(&mut self, spans: &Spans) {
        // Lists that were read may hold spans that hold nothing.
        for span in spans.iter().filter(|span| !span.is_empty()) {
            let ranges = self.0.slot(span.0.clone());
            let (mut from, mut to) = (span.1, span.2);
            // Swallow every range that touches the new one.
            while let Some((&start, &end)) = ranges.up_to(&to) {
                if end < from {
                    break;
                }
                ranges.remove(&start);
                from = from.min(start);
                to = to.max(end);
            }
            ranges.insert(from, to);
        }
    }

    /// Whether any message of `from .. to` of a log is reached.
    #[must_use]
    pub fn touches(&self, log: &LogId, from: u32, to: u32) -> bool {
        let last = || self.0.get(log)?.up_to(&to.checked_sub(1)?);
        from < to && last().is_some_and(|(_, &end)| end > from)
    }

    /// Whether every message of a list is reached.
    #[must_use]
    pub fn holds(&self, spans: &Spans) -> bool {
        let held = |span: &Span| {
            let before = self.0.get(&span.0).and_then(|ranges| ranges.up_to(&span.1));
            before.is_some_and(|(_, &end)| end >= span.2)
        };
        spans.iter().all(|span| span.1 <= span.2 && (span.is_empty() || held(span)))
    }

    /// What is reached here and not there, log by log.
    #[must_use]
    pub fn beyond(&self, there: &Coverage) -> Spans {
        let mut out = Spans::default();
        for log in self.logs() {
            for (from, to) in self.ranges(log) {
                let mut at = from;
                for (low, high) in there.ranges(log) {
                    out.push(Span(log.clone(), at, low.min(to)));
                    at = at.max(high.min(to));
                }
                out.push(Span(log.clone(), at, to));
            }
        }
        out
    }

    /// The logs that are reached at all, by id.
    pub fn logs(&self) -> impl Iterator<Item = &LogId> {
        self.0.keys()
    }

    /// The reached ranges of one log, ascending.
    pub fn ranges(&self, log: &LogId) -> impl Iterator<Item = (u32, u32)> {
        self.0.get(log).into_iter().flat_map(Map::iter).map(|(&from, &to)| (from, to))
    }
}
