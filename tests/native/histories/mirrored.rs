//! A mirror that is given what is new, now and then, of any history.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{expected, ops, retentions};
use crate::contract::kit::{Kit, Tab};
use crate::contract::mirroring::Chain;
use crate::random::cases;

const MOST: u32 = 6;

/// Gives each session's chain what is new in it.
async fn take_all(tab: &Tab, chains: &mut BTreeMap<String, Chain>, sessions: impl Iterator<Item = &String>) {
    let mut kept = BTreeMap::new();
    for session in sessions {
        let mut chain = chains.remove(session).unwrap_or_default();
        if chain.take(tab, session, MOST).await {
            kept.insert(session.clone(), chain);
        }
    }
    *chains = kept;
}

proptest! {
    #![proptest_config(cases(150))]

    /// Whatever happens, and however often the mirror is given what is new: each session's newest checkpoints come back.
    #[test]
    fn the_newest_checkpoints_come_back_from_a_mirror(
        retention in retentions(),
        history in ops::history(1..40),
        when in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let (mut chains, mut turns) = (BTreeMap::new(), 0);
        let last = history.len() - 1;
        super::play(retention, &history, async |world, turn| {
            world.take(turn).await;
            if when[turns % when.len()] || turns == last {
                take_all(&world.tabs[turn.tab], &mut chains, world.model.lines.keys()).await;
            }
            turns += 1;
            if turns <= last {
                return;
            }
            let elsewhere = Kit::fresh().await;
            let there = elsewhere.tab().await;
            for (session, line) in world.model.lines.iter().filter(|(_, line)| line.head().is_some()) {
                chains[session].bring_back(&there).await.unwrap();
                let newest: Vec<_> = expected(line).into_iter().rev().take(MOST as usize).collect();
                let mut found = Vec::new();
                for cp in there.all(session).await {
                    let held = (there.at(session, &cp.id).await, there.pending(session, Some(&cp.id)).await);
                    found.push((cp.seq, cp.id.to_string(), held));
                }
                assert_eq!(found, newest, "{session}");
                assert_eq!(there.live(session).await, line.live.shot(), "{session}");
            }
            there.sound().await;
        });
    }
}
