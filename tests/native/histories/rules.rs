//! The rules R1 to R13, each as a property of random histories.

use std::collections::BTreeSet;
use std::rc::Rc;

use proptest::prelude::*;
use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::Row;
use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::part::Part;
use turnmark::model::retention::Retention;
use turnmark::plan::restore::Target;
use turnmark::plan::verify::Wrong;

use super::ops::{self, Op, Turn};
use super::world::World;
use super::{play, retentions};
use crate::contract::kit::{T, sid};
use crate::random::cases;

type Rows = Vec<(Key, Rc<Row<T>>)>;

/// The rows of a session, its numbers of forks and what follows from them excepted.
fn owned(rows: &Rows, session: &str) -> Vec<(Key, Row<T>)> {
    let belongs = |key: &Key| {
        matches!(key.store, Store::Sessions | Store::Checkpoints | Store::Writes | Store::Streams)
            && key.text(1) == Some(session)
    };
    let plain = |(key, row): &(Key, Rc<Row<T>>)| {
        let mut row = (**row).clone();
        match &mut row {
            Row::Checkpoint(cp) => cp.forks = 0,
            // Where retention begins to look follows from what is protected; debt, from what was collected.
            Row::Session(session) => (session.settled, session.debt) = (0, 0),
            _ => {}
        }
        (key.clone(), row)
    };
    rows.iter().filter(|(key, _)| belongs(key)).map(plain).collect()
}

/// Ids of the checkpoints that events announced as written.
fn created(events: &[Event<T>]) -> BTreeSet<String> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Created(cp) => Some(cp.id.to_string()),
            _ => None,
        })
        .collect()
}

fn headers(rows: &Rows) -> BTreeSet<String> {
    rows.iter()
        .filter_map(|(_, row)| match &**row {
            Row::Checkpoint(cp) => Some(cp.id.to_string()),
            _ => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn r1_one_command_is_one_transaction(retention in retentions(), history in ops::history(1..30)) {
        play(retention, &history, async |world, turn| {
            world.tabs[turn.tab].counted();
            world.take(turn).await;
            if matches!(turn.op, Op::Move | Op::Crash) {
                return;
            }
            // Collection follows a deletion, in a transaction of its own.
            let collects = matches!(turn.op, Op::Delete { .. } | Op::Prune { .. } | Op::DeleteSession);
            let counts = world.tabs[turn.tab].counted();
            assert!(counts.writing <= 1 + usize::from(collects), "{counts:?}");
        });
    }

    #[test]
    fn r2_an_aborted_command_leaves_no_trace_and_tells_nobody(retention in retentions(), history in ops::history(1..30)) {
        play(retention, &history, async |world, turn| {
            if turn.abort {
                world.aborted(turn).await;
            }
            let before = world.kit.dump().await;
            world.tabs[turn.tab].heard();
            let done = world.take(turn).await;
            // A command that a rule refuses leaves no trace either.
            if done.code.is_some_and(|code| code != Code::Conflict) {
                assert_eq!(world.kit.dump().await, before);
                assert!(world.tabs[turn.tab].heard().is_empty());
            }
            world.agree(turn.tab).await;
        });
    }

    #[test]
    fn r2_events_tell_of_committed_checkpoints_and_of_all_of_them(retention in retentions(), history in ops::history(1..30)) {
        play(retention, &history, async |world, turn| {
            let before = headers(&world.kit.dump().await);
            world.tabs[turn.tab].heard();
            world.take(turn).await;
            if matches!(turn.op, Op::Move | Op::Copy) {
                return;
            }
            let after = headers(&world.kit.dump().await);
            let told = created(&world.tabs[turn.tab].heard());
            let new: BTreeSet<String> = after.difference(&before).cloned().collect();
            assert!(new.is_subset(&told), "written and not told: {:?}", new.difference(&told));
            // With a ceiling of one, a restore point may be told of and pruned by the same command; nothing else.
            assert!(told.is_subset(&after) || world.model.retention.max == 1);
        });
    }

    #[test]
    fn r3_a_rollback_brings_back_what_was_captured_byte_for_byte(
        start in ops::history(1..10),
        history in ops::history(0..20),
        which in any::<usize>(),
        messages in any::<bool>(),
        state in any::<bool>(),
    ) {
        pollster::block_on(async {
            let mut world = World::new(Retention::default()).await;
            for turn in start.iter().filter(|turn| !matches!(turn.op, Op::Move)) {
                world.take(turn).await;
            }
            let sessions: Vec<String> = world.model.lines.iter().filter(|(_, line)| !line.cps.is_empty()).map(|(name, _)| name.clone()).collect();
            if sessions.is_empty() {
                return;
            }
            let session = sessions[which % sessions.len()].clone();
            let cps = &world.model.lines[&session].cps;
            let id = cps[which % cps.len()].id.clone();
            let capture = world.tabs[0].at(&session, &id).await;
            world.tabs[0].engine.pin(&sid(&session), &id, true).await.unwrap();
            world.line(&session).cps.iter_mut().filter(|cp| cp.id == id).for_each(|cp| cp.pinned = true);
            for turn in history.iter().filter(|turn| !matches!(turn.op, Op::Move | Op::DeleteSession | Op::Pin { .. })) {
                world.take(turn).await;
            }
            if world.model.lines[&session].run.is_some() {
                return;
            }
            let before = world.tabs[0].live(&session).await;
            let parts: Vec<Part> = [(messages, Part::Messages), (state, Part::State)].into_iter().filter(|(on, _)| *on).map(|(_, part)| part).collect();
            world.tabs[0].restore(&session, Target::Rollback { id: id.clone(), parts }).await.unwrap();
            let after = world.tabs[0].live(&session).await;
            let from = |chosen: bool| if chosen { &capture } else { &before };
            assert_eq!((after.listed, &after.messages), (from(messages).listed, &from(messages).messages));
            assert_eq!(after.channels, from(state).channels);
        });
    }

    #[test]
    fn r4_a_rollback_to_the_restore_point_is_the_state_before_the_rollback(history in ops::history(1..20), which in any::<usize>(), undo in any::<bool>()) {
        pollster::block_on(async {
            let mut world = World::new(Retention::default()).await;
            for turn in &history {
                world.take(turn).await;
            }
            for (session, line) in &world.model.lines {
                if line.cps.is_empty() || line.run.is_some() {
                    continue;
                }
                let tab = &world.tabs[0];
                let before = tab.live(session).await;
                let id = &line.cps[which % line.cps.len()].id;
                let restored = tab.rollback(session, id).await.unwrap();
                if undo {
                    tab.undo(session).await.unwrap();
                } else {
                    tab.rollback(session, &restored.restore_point.id).await.unwrap();
                }
                assert_eq!(tab.live(session).await, before);
                tab.sound().await;
            }
        });
    }

    #[test]
    fn r6_a_command_on_one_session_leaves_the_rows_of_every_other_as_they_were(retention in retentions(), history in ops::history(1..40)) {
        play(retention, &history, async |world, turn| {
            let before = world.kit.dump().await;
            let others: Vec<String> = world.model.lines.keys().cloned().collect();
            let done = world.take(turn).await;
            if matches!(turn.op, Op::Move) {
                return;
            }
            let after = world.kit.dump().await;
            for other in others.iter().filter(|other| !done.concerns.contains(other)) {
                assert_eq!(owned(&after, other), owned(&before, other), "rows of {other}");
                if !world.model.lines[other].cps.is_empty() {
                    let loaded = world.tabs[turn.tab].engine.load(&sid(other), None).await.unwrap().unwrap();
                    assert_eq!(loaded.contents.messages.len(), world.model.lines[other].live.messages.len());
                }
            }
        });
    }

    #[test]
    fn r8_collection_takes_nothing_that_is_reached_and_leaves_nothing_that_is_not(retention in retentions(), history in ops::history(1..40)) {
        play(retention, &history, async |world, turn| {
            world.take(turn).await;
            world.tabs[turn.tab].engine.collect().await.unwrap();
            let report = world.tabs[turn.tab].engine.verify().await.unwrap();
            assert_eq!(report.faults, []);
            world.agree(turn.tab).await;
            // A second one finds nothing to do.
            assert_eq!(world.tabs[turn.tab].engine.collect().await.unwrap(), turnmark::plan::collect::Collected::default());
        });
    }

    /// Also with what collections have left: nothing but unreachable records is ever wrong.
    #[test]
    fn r8_verification_finds_nothing_wrong_after_any_command(retention in retentions(), history in ops::history(1..40)) {
        play(retention, &history, async |world, turn| {
            world.take(turn).await;
            let report = world.tabs[turn.tab].engine.verify().await.unwrap();
            assert!(report.faults.iter().all(|fault| fault.wrong == Wrong::Unreachable), "{:#?}", report.faults);
            world.kit.rows_are_small().await;
        });
    }

    #[test]
    fn r9_a_writer_that_is_behind_changes_nothing_but_a_branch_of_its_own(history in ops::history(1..40)) {
        play(Retention::default(), &history, async |world, turn| {
            let before = world.kit.dump().await;
            let done = world.take(turn).await;
            if done.code == Some(Code::Conflict) {
                let after = world.kit.dump().await;
                assert_eq!(owned(&after, &done.session), owned(&before, &done.session));
            }
        });
    }

    #[test]
    fn r10_a_tab_that_has_read_nothing_never_loses_what_is_there(history in ops::history(1..20), blind in ops::history(1..6)) {
        play(Retention::default(), &history, async |world, turn| {
            world.take(turn).await;
        });
        pollster::block_on(async {
            let mut world = World::new(Retention::default()).await;
            for turn in &history {
                world.take(turn).await;
            }
            for turn in blind.iter().filter(|turn| matches!(turn.op, Op::Put { .. } | Op::Append { .. })) {
                world.take(&Turn { op: Op::Crash, ..turn.clone() }).await;
                let before = world.model.clone();
                let done = world.take(turn).await;
                let (Some(was), Some(is)) = (before.lines.get(&done.session), world.model.lines.get(&done.session)) else { continue };
                assert!(is.live.messages.starts_with(&was.live.messages));
                if was.live.messages.is_empty() && !was.live.channels.is_empty() {
                    assert_eq!(is.live.channels, was.live.channels);
                }
            }
        });
    }

    #[test]
    fn r11_a_deleted_session_has_no_row_left_anywhere(history in ops::history(1..30)) {
        pollster::block_on(async {
            let mut world = World::new(Retention::default()).await;
            for turn in &history {
                world.take(turn).await;
            }
            let names: Vec<String> = world.model.lines.keys().cloned().collect();
            for name in names {
                world.tabs[0].engine.delete_session(&sid(&name)).await.unwrap();
                assert!(owned(&world.kit.dump().await, &name).is_empty());
                world.tabs[0].clean().await;
            }
            // Only the row about the database itself.
            assert_eq!(world.kit.dump().await.len(), 1);
        });
    }

    #[test]
    fn r12_any_name_is_kept_apart_from_any_other_or_refused(names in prop::collection::btree_set(".{1,12}|[a-c_]{1,4}|__proto__|constructor", 1..8)) {
        pollster::block_on(async {
            let world = World::new(Retention::default()).await;
            let tab = &world.tabs[0];
            let mut kept = Vec::new();
            for name in &names {
                match turnmark::ids::SessionId::parse(name) {
                    Ok(_) => {
                        let message = crate::contract::kit::user("x").saying(name);
                        tab.put(name, std::slice::from_ref(&message), &[(name, "1")]).await.unwrap();
                        tab.put_writes(name, name, &[(name, "2")]).await.unwrap();
                        kept.push((name.clone(), message));
                    }
                    Err(error) => assert_eq!(error.code, Code::InvalidId),
                }
            }
            assert_eq!(tab.engine.sessions().await.unwrap().len(), kept.len());
            for (name, message) in kept {
                assert_eq!(tab.live(&name).await, crate::contract::kit::shot(&[message], &[(&name, "1")]));
                assert_eq!(tab.pending(&name, None).await, [(name.clone(), 0, name.clone(), "2".to_owned())]);
            }
            tab.clean().await;
        });
    }

    #[test]
    fn r13_a_ceiling_holds_but_for_what_is_protected_and_the_oldest_go_first(max in 1..8_u32, share in 0..60_u32, history in ops::history(1..60)) {
        play(Retention { max, share, ..Retention::default() }, &history, async |world, turn| {
            // A provisional one may be replaced by a write, which is no pruning.
            let cps = world.model.lines.get("s0").map_or_else(Vec::new, |line| line.cps.clone());
            let before: Vec<u32> = cps.iter().filter(|cp| !cp.provisional).map(|cp| cp.seq).collect();
            let done = world.take(turn).await;
            let writes = matches!(turn.op, Op::Put { .. } | Op::Append { .. } | Op::Rollback { .. } | Op::Undo | Op::Redo);
            if !writes || done.code.is_some() {
                return;
            }
            let Some(line) = world.model.lines.get(&done.session) else { return };
            let cps = world.tabs[turn.tab].all(&done.session).await;
            let free: Vec<u32> = line.cps.iter().filter(|cp| world.model.may_prune(&done.session, cp)).map(|cp| cp.seq).collect();
            let restores = !matches!(turn.op, Op::Put { .. } | Op::Append { .. });
            // What a restore writes itself is not pruned by it.
            assert!(cps.len() <= max as usize || free.len() <= usize::from(restores) * 2, "{} of {max}, free: {free:?}", cps.len());
            if done.session == "s0" && !matches!(turn.op, Op::Move) {
                let gone = before.iter().filter(|seq| !cps.iter().any(|cp| cp.seq == **seq)).max();
                let newest = cps.first().map_or(0, |cp| cp.seq);
                assert!(gone.is_none_or(|gone| free.iter().all(|seq| seq > gone || *seq + 3 > newest)), "older ones than {gone:?} stayed: {free:?}");
            }
        });
    }
}
