//! Repair: what is lost is written again from what there is, in the way that loses least.

use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::Row;
use turnmark::error::Code;
use turnmark::ids::CheckpointId;
use turnmark::plan::repair::Repaired;

use super::damage::{faults, fill};
use super::kit::{Kit, Tab, chat, code, shot, sid, user};

fn did(repaired: &Repaired) -> Vec<(&'static str, String)> {
    repaired.actions.iter().map(|done| (done.action, done.record.clone())).collect()
}

/// A session of five appends.
async fn five(tab: &Tab) -> Vec<CheckpointId> {
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(tab.append("s", &[user(&format!("m{n}"))]).await.unwrap().id);
    }
    ids
}

fn key(tab: &Tab, seq: u32) -> Key {
    Key::checkpoint(tab.engine.scope(), &sid("s"), seq)
}

async fn quarantined(kit: &Kit) -> usize {
    let range = Range::quarantine();
    let count =
        |view: &turnmark::store::View<super::kit::T>| Ok(turnmark::store::Plan::read(view.keys(range.clone())?.len()));
    turnmark::store::Storage::run(&kit.backend, turnmark::store::Access::read(&[Store::Meta]), count).await.unwrap()
}

contract! {
    async fn a_session_whose_row_was_lost_goes_on_from_its_newest_checkpoint(_kit) {
        for is_lost in [true, false] {
            let kit = Kit::fresh().await;
            let tab = kit.tab().await;
            let ids = five(&tab).await;
            let own = Key::session(tab.engine.scope(), &sid("s"));
            if is_lost { kit.tamper(&own, None).await } else { kit.garble(&own, 8).await }
            tab.heard();
            let mended = tab.engine.repair(false).await.unwrap();
            assert_eq!(did(&mended).last(), Some(&("rebuild", own.to_string())));
            assert_eq!((mended.lost.len(), quarantined(&kit).await), (0, usize::from(!is_lost)));
            assert!(tab.heard().iter().any(|event| format!("{event:?}").contains("repair")));
            // Whoever saw it before is behind, whatever it saw.
            assert_eq!(code(tab.append("s", &[user("late")]).await), Code::Conflict);
            let messages: Vec<_> = (0..5).map(|n| user(&format!("m{n}"))).collect();
            assert_eq!((tab.live("s").await, tab.all("s").await[0].id.clone()), (shot(&messages, &[]), ids[4].clone()));
            tab.append("s", &[user("on")]).await.unwrap();
            tab.undo("s").await.unwrap();
            assert_eq!(tab.live("s").await, shot(&messages, &[]));
            tab.sound().await;
        }
    }

    async fn the_header_of_the_newest_checkpoint_is_written_again_from_the_session(_kit) {
        for is_lost in [true, false] {
            let kit = Kit::fresh().await;
            let tab = kit.tab().await;
            let ids = five(&tab).await;
            let before = tab.live("s").await;
            if is_lost { kit.tamper(&key(&tab, 4), None).await } else { kit.garble(&key(&tab, 4), 8).await }
            assert_eq!(code(tab.engine.load(&sid("s"), None).await.map(|_| ())), Code::RecordUnreadable);
            let mended = tab.engine.repair(false).await.unwrap();
            assert_eq!((did(&mended).last(), mended.lost.len()), (Some(&("rebuild", key(&tab, 4).to_string())), 0));
            assert_eq!((tab.live("s").await, tab.all("s").await[0].id.clone()), (before.clone(), ids[4].clone()));
            assert_eq!(tab.all("s").await[0].parent.as_ref(), Some(&ids[3]));
            // Its writer has seen just this, and what it did can be taken back.
            tab.undo("s").await.unwrap();
            assert_eq!(tab.live("s").await.messages.len(), 4);
            tab.redo("s").await.unwrap();
            assert_eq!(tab.live("s").await, before);
            tab.sound().await;
        }
    }

    async fn without_row_and_newest_header_a_session_goes_back_to_the_newest_that_can_be_read(kit) {
        let tab = kit.tab().await;
        let ids = five(&tab).await;
        kit.garble(&key(&tab, 4), 3).await;
        kit.tamper(&Key::session(tab.engine.scope(), &sid("s")), None).await;
        tab.engine.repair(false).await.unwrap();
        let messages: Vec<_> = (0..4).map(|n| user(&format!("m{n}"))).collect();
        assert_eq!((tab.live("s").await, tab.all("s").await[0].id.clone()), (shot(&messages, &[]), ids[3].clone()));
        // No place is used twice.
        let next = tab.append("s", &[user("on")]).await.unwrap();
        assert_eq!((next.seq, next.parent), (5, Some(ids[3].clone())));
        tab.sound().await;
    }

    /// OneKeyHQ/app-monorepo#12827
    async fn who_continues_from_a_lost_checkpoint_continues_from_the_nearest_ancestor(_kit) {
        for is_lost in [true, false] {
            let kit = Kit::fresh().await;
            let tab = kit.tab().await;
            let ids = five(&tab).await;
            // Back to the first, and on: the lost one is the first on the new way, so its ancestor is the first of all.
            tab.rollback("s", &ids[0]).await.unwrap();
            let on = tab.append("s", &[user("x")]).await.unwrap();
            let last = tab.append("s", &[user("y")]).await.unwrap();
            let lost = key(&tab, on.seq);
            if is_lost { kit.tamper(&lost, None).await } else { kit.garble(&lost, 2).await }
            assert_eq!(tab.all("s").await[0].parent.as_ref(), Some(&on.id));
            let mended = tab.engine.repair(false).await.unwrap();
            assert!(did(&mended).contains(&("bridge", key(&tab, last.seq).to_string())), "{:?}", did(&mended));
            let all = tab.all("s").await;
            // The rollback's own checkpoint holds what the first does.
            assert_eq!((all[0].id.clone(), all[0].parent.as_ref()), (last.id.clone(), Some(&all[1].id)));
            assert_eq!(all[1].parent.as_ref(), Some(&ids[0]));
            assert_eq!(tab.live("s").await, shot(&[user("m0"), user("x"), user("y")], &[]));
            assert_eq!(did(&tab.engine.repair(false).await.unwrap()), []);
        }
    }

    /// The checkpoint before it in time may be of another way: an ancestor is one whose messages it begins with.
    async fn who_continues_from_a_lost_rollback_continues_from_what_it_led_to(kit) {
        let tab = kit.tab().await;
        let ids = five(&tab).await;
        let rollback = tab.rollback("s", &ids[0]).await.unwrap();
        tab.append("s", &[user("x")]).await.unwrap();
        kit.garble(&key(&tab, rollback.checkpoint.seq), 3).await;
        tab.engine.repair(false).await.unwrap();
        let all = tab.all("s").await;
        assert_eq!((all[1].id.clone(), all[0].parent.as_ref()), (rollback.restore_point.id, Some(&ids[0])));
    }

    async fn parents_that_were_pruned_are_no_damage(kit) {
        let tab = kit.tab().await;
        five(&tab).await;
        tab.engine.prune(sid("s"), 2).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(tab.engine.repair(false).await.unwrap().actions, []);
        assert_eq!(kit.dump().await, before);
    }

    async fn counts_of_forks_and_of_pending_writes_are_set_right(kit) {
        let tab = fill(&kit).await;
        let base = tab.all("s").await.pop().unwrap();
        let own = key(&tab, base.seq);
        kit.spoil(&own, |row| {
            let Row::Checkpoint(checkpoint) = row else { panic!("a checkpoint") };
            (checkpoint.forks, checkpoint.pending) = (0, 7);
        }).await;
        assert_eq!(did(&tab.engine.repair(false).await.unwrap()), [("correct", own.to_string())]);
        tab.clean().await;
        assert_eq!(tab.all("s").await.pop().unwrap(), base);
    }

    /// What was put aside is kept as it was stored, until its session is deleted.
    async fn quarantine_lasts_until_the_session_is_deleted(kit) {
        let tab = fill(&kit).await;
        five(&tab).await;
        kit.garble(&key(&tab, 2), 4).await;
        kit.garble(&Key::meta(), 4).await;
        tab.engine.repair(false).await.unwrap();
        let report = tab.engine.verify().await.unwrap();
        assert_eq!((report.quarantined, report.faults), (2, Vec::new()));
        assert_eq!(tab.engine.status().await.unwrap().quarantined, 2);
        tab.put("new", &chat("n", 0..2), &[]).await.unwrap();
        tab.engine.prune(sid("s"), 1).await.unwrap();
        tab.clean().await;
        assert_eq!(quarantined(&kit).await, 2);
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert_eq!(quarantined(&kit).await, 1);
        // The row about the database is a new one, which every later open goes by.
        assert_eq!(kit.tab().await.engine.device(), kit.tab().await.engine.device());
        assert_eq!(faults(&tab).await, []);
    }
}
