//! A deterministic simulation: several pages over a fake of IndexedDB, with everything that goes wrong in the field, checked
//! against a naive model.
//!
//! A history is drawn from its seed: the commands of each page, what goes wrong when, and who goes on next. One that fails
//! prints its seed and the smallest part of it that still fails. `TURNMARK_SIM_SEED=17 cargo test sim::` plays that one alone,
//! and `TURNMARK_SIM_HISTORIES=1000000` plays more of them.

mod act;
mod audit;
mod client;
mod death;
mod disk;
mod executor;
mod judge;
mod model;
mod page;
mod port;
mod rng;
mod run;
mod script;
mod sent;
mod turns;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use judge::Verdict;
use script::Script;
use world::Met;

/// How many histories are played, all tests together.
const HISTORIES: u64 = 20_000;
/// How many smaller histories are tried for one that fails.
const TRIES: usize = 2_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Plays a history. A panic is a fault like any other.
fn play(script: &Script) -> Verdict<Met> {
    catch_unwind(AssertUnwindSafe(|| world::play(script))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
    })
}

/// The smallest part of a history that still fails, and how.
fn shrink(mut script: Script, mut why: String) -> (Script, String) {
    let mut tries = 0;
    'smaller: loop {
        for smaller in script.smaller() {
            tries += 1;
            if tries > TRIES {
                return (script, why);
            }
            if let Err(still) = play(&smaller) {
                (script, why) = (smaller, still);
                continue 'smaller;
            }
        }
        return (script, why);
    }
}

fn check(seed: u64) -> Met {
    let script = Script::draw(seed);
    play(&script).unwrap_or_else(|why| {
        let (script, why) = shrink(script, why);
        panic!("TURNMARK_SIM_SEED={seed}\n{script}\n{why}");
    })
}

/// Plays this share of all histories.
fn share(part: u64, of: u64) {
    if let Some(seed) = number("TURNMARK_SIM_SEED") {
        if seed % of == part {
            drop(check(seed));
        }
        return;
    }
    let count = number("TURNMARK_SIM_HISTORIES").unwrap_or(HISTORIES);
    (part..count).step_by(usize::try_from(of).unwrap()).for_each(|seed| drop(check(seed)));
}

#[test]
fn random_histories_with_faults_end_as_the_naive_model_says_0() {
    share(0, 4);
}

#[test]
fn random_histories_with_faults_end_as_the_naive_model_says_1() {
    share(1, 4);
}

#[test]
fn random_histories_with_faults_end_as_the_naive_model_says_2() {
    share(2, 4);
}

#[test]
fn random_histories_with_faults_end_as_the_naive_model_says_3() {
    share(3, 4);
}

/// What the histories must meet, or they would prove little.
const MET: &[&str] = &[
    "Write: done, committed",
    "Write: done, lost",
    "Write: Conflict, committed",
    "Write: ConnectionLost, committed",
    "Write: ConnectionLost",
    "Write: TimedOut",
    "Write: Aborted",
    "Write: QuotaExceeded",
    "Write: NotStorable",
    "Write: unheard, committed",
    "Write: unheard",
    "Write: ActiveRun",
    "Write: NotLoaded",
    "Write: EmptyOverNonEmpty",
    "Stream: done, committed",
    "Stream: Conflict",
    "Restore: done, committed",
    "Restore: Conflict",
    "Restore: ActiveRun",
    "Recover: done, committed",
    "Fork: done, committed",
    "NewSession: done, committed",
    "Delete: done, committed",
    "Delete: Protected",
    "DeleteSession: done, committed",
    "Import: done, committed",
    "Prune: done, committed",
];

/// The histories are worth playing: every fault, and every way a write can end, is among them.
#[test]
fn the_histories_meet_every_fault_and_every_refusal() {
    let mut met = Met::new();
    for seed in 0..1_000 {
        for (what, count) in check(seed) {
            *met.entry(what).or_default() += count;
        }
    }
    if std::env::var("TURNMARK_SIM_MET").is_ok() {
        println!("{met:#?}");
    }
    let missing: Vec<_> = MET.iter().filter(|what| !met.contains_key(**what)).collect();
    assert!(missing.is_empty(), "no history meets {missing:?}");
}
