//! Random commands. Each names what it works on by numbers, which are taken modulo what there is.

use proptest::collection::vec;
use proptest::prelude::*;
use turnmark::model::part::Part;

use super::model::Whole;
use crate::contract::kit::{Msg, assistant, user};

/// How a whole state follows from the one before.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Same,
    Append(Vec<u8>),
    Change(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Move(usize, usize),
    Repeat(usize),
    Keep(usize),
    Reverse,
    Replace(Vec<u8>),
}

/// One command.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Put {
        edit: Edit,
        set: Vec<(u8, u8)>,
        remove: Vec<u8>,
        provisional: bool,
    },
    Append {
        messages: Vec<u8>,
        set: Vec<(u8, u8)>,
        remove: Vec<u8>,
        provisional: bool,
    },
    Rollback {
        cp: usize,
        parts: Vec<Part>,
    },
    Undo,
    Redo,
    Fork {
        cp: usize,
    },
    Delete {
        cp: usize,
    },
    Prune {
        keep: u8,
    },
    Pin {
        cp: usize,
        pinned: bool,
    },
    DeleteSession,
    Title,
    Writes {
        task: u8,
        values: Vec<(u8, u8)>,
    },
    Recover {
        drop: bool,
    },
    Begin,
    /// Goes on with the tab's own turn, or ends it.
    Go {
        messages: Vec<u8>,
        ends: bool,
    },
    /// Saves what was added to the growing message of the tab's own turn.
    Stream {
        n: u8,
        anew: bool,
    },
    /// Another conversation after this one.
    NewSession,
    /// Reads the live state.
    Look,
    /// The tab dies, and another is opened.
    Crash,
    Collect,
    /// Everything is exported and imported into an empty database.
    Move,
    /// One session is exported and imported beside itself.
    Copy,
}

/// A command, by which tab, on which session; and whether its transaction aborts the first time.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) tab: usize,
    pub(crate) session: usize,
    pub(crate) abort: bool,
    pub(crate) op: Op,
}

/// A message by a number: few different ones, so that some are equal; some long, some with binaries.
pub(crate) fn message(n: u8) -> Msg {
    let name = format!("m{n}");
    let short = if n.is_multiple_of(2) { user(&name) } else { assistant(&name) };
    match n {
        40..=43 => short.saying(&"ж".repeat(11_000 + usize::from(n))),
        44..=47 => short.with(vec![n; 50]),
        48 => short.saying(&"x".repeat(45_000)).with(vec![1; 45_000]).with(vec![n]),
        49 => Msg { id: None, role: None, ..short },
        _ => short,
    }
}

fn change(message: &mut Msg, n: u8) {
    message.text.push_str(&format!(" +{n}"));
}

impl Edit {
    /// The messages after the edit.
    pub(crate) fn apply(&self, messages: &[Msg]) -> Vec<Msg> {
        let mut list = messages.to_vec();
        let within = |at: usize, extra: usize| at % (messages.len() + extra).max(1);
        match self {
            Edit::Replace(new) => return new.iter().copied().map(message).collect(),
            Edit::Append(new) => list.extend(new.iter().copied().map(message)),
            Edit::Insert(at, n) => list.insert(within(*at, 1), message(*n)),
            Edit::Keep(count) => list.truncate(within(*count, 1)),
            Edit::Reverse => list.reverse(),
            _ if list.is_empty() => {}
            Edit::Same => {}
            Edit::Change(at, n) => change(&mut list[within(*at, 0)], *n),
            Edit::Remove(at) => drop(list.remove(within(*at, 0))),
            Edit::Repeat(at) => list.push(list[within(*at, 0)].clone()),
            Edit::Move(from, to) => {
                let taken = list.remove(within(*from, 0));
                list.insert(*to % (list.len() + 1), taken);
            }
        }
        list
    }
}

/// Sets and removes channels.
pub(crate) fn channels(state: &mut Whole, set: &[(u8, u8)], remove: &[u8]) {
    for name in remove {
        state.channels.remove(&channel(*name));
    }
    for (name, n) in set {
        state.channels.insert(channel(*name), value(*n));
    }
}

pub(crate) fn channel(n: u8) -> String {
    format!("c{n}")
}

/// A value by a number, some of them long.
pub(crate) fn value(n: u8) -> String {
    if n == 9 { "v".repeat(45_000) } else { n.to_string() }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        1 => Just(Edit::Same),
        6 => vec(0..50_u8, 1..4).prop_map(Edit::Append),
        2 => (any::<usize>(), any::<u8>()).prop_map(|(at, n)| Edit::Change(at, n)),
        2 => (any::<usize>(), 0..50_u8).prop_map(|(at, n)| Edit::Insert(at, n)),
        2 => any::<usize>().prop_map(Edit::Remove),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => any::<usize>().prop_map(Edit::Repeat),
        1 => any::<usize>().prop_map(Edit::Keep),
        1 => Just(Edit::Reverse),
        1 => vec(0..50_u8, 0..4).prop_map(Edit::Replace),
    ]
}

fn sets() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::btree_map(0..6_u8, 0..10_u8, 0..3).prop_map(|map| map.into_iter().collect())
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    prop_oneof![
        4 => Just(Part::ALL.to_vec()),
        1 => Just(vec![Part::Messages]),
        1 => Just(vec![Part::State]),
        1 => Just(Vec::new()),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let removed = || vec(0..6_u8, 0..2);
    let rarely = || prop::bool::weighted(0.15);
    prop_oneof![
        8 => (edit(), sets(), removed(), rarely()).prop_map(|(edit, set, remove, provisional)| Op::Put { edit, set, remove, provisional }),
        8 => (vec(0..50_u8, 0..3), sets(), removed(), rarely())
            .prop_map(|(messages, set, remove, provisional)| Op::Append { messages, set, remove, provisional }),
        3 => (any::<usize>(), parts()).prop_map(|(cp, parts)| Op::Rollback { cp, parts }),
        4 => Just(Op::Undo),
        3 => Just(Op::Redo),
        2 => any::<usize>().prop_map(|cp| Op::Fork { cp }),
        2 => any::<usize>().prop_map(|cp| Op::Delete { cp }),
        1 => (0..4_u8).prop_map(|keep| Op::Prune { keep }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(cp, pinned)| Op::Pin { cp, pinned }),
        1 => Just(Op::DeleteSession),
        1 => Just(Op::Title),
        2 => (0..2_u8, vec((0..7_u8, 0..10_u8), 0..3)).prop_map(|(task, values)| Op::Writes { task, values }),
        2 => any::<bool>().prop_map(|drop| Op::Recover { drop }),
        4 => Just(Op::Begin),
        5 => (vec(0..50_u8, 0..3), any::<bool>()).prop_map(|(messages, ends)| Op::Go { messages, ends }),
        4 => (0..90_u8, rarely()).prop_map(|(n, anew)| Op::Stream { n, anew }),
        1 => Just(Op::NewSession),
        5 => Just(Op::Look),
        1 => Just(Op::Crash),
        1 => Just(Op::Collect),
        1 => Just(Op::Move),
        1 => Just(Op::Copy),
    ]
}

/// A history of so many commands by two tabs over a few sessions.
pub(crate) fn history(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Turn>> {
    let turn = (0..2_usize, prop_oneof![6 => Just(0_usize), 4 => any::<usize>()], prop::bool::weighted(0.1), op());
    vec(turn.prop_map(|(tab, session, abort, op)| Turn { tab, session, abort, op }), length)
}
