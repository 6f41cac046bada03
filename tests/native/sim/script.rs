//! A history as data: who does what, and what goes wrong when. Drawn from a seed; what made it fail is found by leaving parts
//! of it out.

use std::fmt;

use turnmark::model::retention::Retention;

use super::disk::{Reason, Trap};
use super::rng::Rng;

/// What a command does. The numbers of a [`Cmd`] say on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Append,
    Put,
    Begin,
    Again,
    Go,
    End,
    Stream,
    Look,
    Rollback,
    ToMessage,
    Undo,
    Redo,
    Fork,
    Delete,
    Prune,
    Pin,
    DeleteSession,
    Title,
    Writes,
    Recover,
    NewSession,
    Open,
    Copy,
    Collect,
    Compact,
    /// The page closes its store.
    Close,
}

/// How often each is given, and whether it may be given beside another command of the same page.
const WEIGHTS: &[(What, usize, bool)] = &[
    (What::Append, 18, false),
    (What::Put, 12, false),
    (What::Begin, 9, false),
    (What::Again, 4, false),
    (What::Go, 8, false),
    (What::End, 6, false),
    (What::Stream, 18, false),
    (What::Look, 8, true),
    (What::Rollback, 5, false),
    (What::ToMessage, 4, false),
    (What::Undo, 5, false),
    (What::Redo, 4, false),
    (What::Fork, 4, true),
    (What::Delete, 4, false),
    (What::Prune, 2, true),
    (What::Pin, 5, true),
    (What::DeleteSession, 2, false),
    (What::Title, 1, true),
    (What::Writes, 3, true),
    (What::Recover, 5, false),
    (What::NewSession, 2, false),
    (What::Open, 1, true),
    (What::Copy, 2, true),
    (What::Collect, 2, true),
    (What::Compact, 1, true),
    (What::Close, 1, false),
];

#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    pub(crate) what: What,
    pub(crate) session: usize,
    pub(crate) n: usize,
    pub(crate) m: usize,
}

/// Commands that follow each other in a page. Of several lanes of a page, all but one are `beside`.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) page: usize,
    pub(crate) beside: bool,
    pub(crate) cmds: Vec<Cmd>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Trap(Trap),
    Full,
    Room,
    /// The browser closes the connection of a page.
    Forced(usize),
    /// A page dies.
    Crash(usize),
    /// The browser dies.
    Browser,
    /// The machine dies.
    Power,
}

impl Fault {
    /// Whether something dies of it.
    pub(crate) fn is_death(self) -> bool {
        matches!(self, Fault::Forced(_) | Fault::Crash(_) | Fault::Browser | Fault::Power)
    }
}

/// What happens at once, until nothing moves any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    pub(crate) lanes: Vec<Lane>,
    /// Each at a step.
    pub(crate) faults: Vec<(usize, Fault)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    /// Scope of each page, and whether its writes are strict.
    pub(crate) pages: Vec<(usize, bool)>,
    pub(crate) retention: Retention,
    pub(crate) rounds: Vec<Round>,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "pages {:?}, {:?}", self.pages, self.retention)?;
        for (n, round) in self.rounds.iter().enumerate() {
            writeln!(f, "round {n}: {:?}", round.faults)?;
            for lane in &round.lanes {
                writeln!(f, "  page {}{}", lane.page, if lane.beside { ", beside" } else { "" })?;
                for Cmd { what, session, n, m } in &lane.cmds {
                    writeln!(f, "    {what:?} {session} {n} {m}")?;
                }
            }
        }
        Ok(())
    }
}

fn cmd(rng: &mut Rng, beside: bool) -> Cmd {
    let weights: Vec<usize> = WEIGHTS.iter().map(|(_, weight, may)| if beside && !may { 0 } else { *weight }).collect();
    let (what, ..) = WEIGHTS[rng.weighted(&weights)];
    let session = if rng.percent(65) { 0 } else { rng.below(64) };
    Cmd { what, session, n: rng.below(1 << 16), m: rng.below(1 << 16) }
}

fn fault(rng: &mut Rng, pages: usize) -> Fault {
    let reason = rng.of(&[Reason::None, Reason::Full, Reason::Unknown]);
    let page = rng.below(pages);
    match rng.weighted(&[5, 5, 2, 3, 3, 4, 6, 5, 4, 3]) {
        0 => Fault::Trap(Trap::Request(reason)),
        1 => Fault::Trap(Trap::Commit(reason)),
        2 => Fault::Trap(Trap::Throw),
        3 => Fault::Trap(Trap::Silence),
        4 => Fault::Full,
        5 => Fault::Room,
        6 => Fault::Forced(page),
        7 => Fault::Crash(page),
        8 => Fault::Browser,
        _ => Fault::Power,
    }
}

impl Script {
    pub(crate) fn draw(seed: u64) -> Script {
        let mut rng = Rng::new(seed);
        let count = 1 + rng.weighted(&[2, 5, 2, 1]);
        let all_strict = rng.percent(70);
        let pages: Vec<(usize, bool)> =
            (0..count).map(|_| (usize::from(rng.percent(20)), all_strict || rng.percent(50))).collect();
        let keep = |max, share| Retention { max, share, ..Retention::default() };
        let retention = rng.of(&[keep(0, 0), keep(0, 0), keep(0, 0), keep(4, 0), keep(6, 50), keep(2, 0)]);
        let faulty = rng.percent(75);
        let mut rounds = Vec::new();
        for _ in 0..2 + rng.below(4) {
            let mut round = Round::default();
            for page in (0..count).filter(|_| count == 1 || rng.percent(80)).collect::<Vec<_>>() {
                for beside in [false, true] {
                    if beside && !rng.percent(30) {
                        continue;
                    }
                    let cmds = (0..1 + rng.below(if beside { 2 } else { 6 })).map(|_| cmd(&mut rng, beside)).collect();
                    round.lanes.push(Lane { page, beside, cmds });
                }
            }
            let steps = 20 + round.lanes.iter().map(|lane| lane.cmds.len() * 12).sum::<usize>();
            let faults = if faulty { rng.weighted(&[3, 4, 2, 1]) } else { 0 };
            round.faults = (0..faults).map(|_| (rng.below(steps), fault(&mut rng, count))).collect();
            rounds.push(round);
        }
        Script { seed, pages, retention, rounds }
    }

    /// Smaller histories, the much smaller ones first.
    pub(crate) fn smaller(&self) -> Vec<Script> {
        let mut all = Vec::new();
        let mut but = |change: &dyn Fn(&mut Script)| {
            let mut script = self.clone();
            change(&mut script);
            all.push(script);
        };
        for at in 0..self.rounds.len() {
            but(&|script| _ = script.rounds.remove(at));
        }
        for at in 0..self.rounds.len() {
            for lane in 0..self.rounds[at].lanes.len() {
                but(&|script| _ = script.rounds[at].lanes.remove(lane));
            }
            for fault in 0..self.rounds[at].faults.len() {
                but(&|script| _ = script.rounds[at].faults.remove(fault));
            }
        }
        for at in 0..self.rounds.len() {
            for lane in 0..self.rounds[at].lanes.len() {
                for cmd in 0..self.rounds[at].lanes[lane].cmds.len() {
                    but(&|script| _ = script.rounds[at].lanes[lane].cmds.remove(cmd));
                }
            }
        }
        all
    }
}
