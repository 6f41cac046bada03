//! Deletion, pruning, retention, collection.

use turnmark::codec::key::Store;
use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::checkpoint::{Checkpoint, Kind};
use turnmark::plan::write::Metadata;

use super::kit::{Kit, T, Tab, assistant, chat, cid, code, meta, more, shot, sid, user};

async fn appended(tab: &Tab, count: usize) -> Vec<Checkpoint<T>> {
    let mut all = Vec::new();
    for n in 0..count {
        all.push(tab.append("s", &[user(&n.to_string())]).await.unwrap());
    }
    all
}

async fn count(kit: &Kit, store: Store) -> usize {
    kit.rows(store).await.len()
}

contract! {
    /// P-02
    async fn deleting_the_newest_makes_the_one_before_it_the_newest(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a")], &[("x", "1")]).await.unwrap();
        let second = tab.put("s", &[user("a"), assistant("b")], &[("x", "2")]).await.unwrap();
        tab.heard();
        tab.delete("s", &second.id).await.unwrap();
        assert!(matches!(tab.heard().as_slice(), [Event::Changed { reason: "delete", .. }]));
        assert_eq!(tab.ids("s").await, [first.id.to_string()]);
        // The session goes on from there without being read again.
        let third = tab.append("s", &[assistant("c")]).await.unwrap();
        assert_eq!((third.seq, third.parent), (2, Some(first.id)));
        assert_eq!(tab.live("s").await, shot(&[user("a"), assistant("c")], &[("x", "1")]));
        tab.clean().await;
    }

    /// P-02
    async fn deleting_one_in_the_middle_leaves_the_others_as_they_were(kit) {
        let tab = kit.tab().await;
        let all = appended(&tab, 5).await;
        tab.delete("s", &all[2].id).await.unwrap();
        assert_eq!(tab.ids("s").await.len(), 4);
        for (at, checkpoint) in all.iter().enumerate().filter(|(at, _)| *at != 2) {
            assert_eq!(tab.at("s", &checkpoint.id).await.messages.len(), at + 1);
        }
        assert_eq!(code(tab.delete("s", &all[2].id).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.delete("s", &cid("cp_no")).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.delete("nobody", &all[1].id).await), Code::UnknownSession);
        tab.append("s", &[user("next")]).await.unwrap();
        tab.clean().await;
    }

    async fn deleting_the_last_one_leaves_an_empty_session(kit) {
        let tab = kit.tab().await;
        for checkpoint in appended(&tab, 2).await {
            tab.delete("s", &checkpoint.id).await.unwrap();
        }
        assert!(tab.load("s").await.is_none());
        let session = tab.engine.session(&sid("s")).await.unwrap().unwrap();
        assert_eq!((session.checkpoints, session.head), (0, None));
        assert_eq!((count(&kit, Store::Messages).await, count(&kit, Store::Objects).await), (0, 0));
        assert_eq!(code(tab.undo("s").await), Code::NothingToUndo);
        tab.append("s", &[user("again")]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("again")], &[]));
        tab.clean().await;
    }

    async fn a_checkpoint_that_must_stay_is_protected(kit) {
        let tab = kit.tab().await;
        let pinned = tab.append("s", &[user("a")]).await.unwrap();
        tab.engine.pin(&sid("s"), &pinned.id, true).await.unwrap();
        let committed = tab.write("s", more(&[user("b")]), Metadata { kind: Some(Kind::Committed), ..meta() }).await.unwrap().checkpoint;
        let base = tab.append("s", &[user("c")]).await.unwrap();
        tab.fork("s", &base.id, "f").await.unwrap();
        let before = kit.dump().await;
        for checkpoint in [&pinned, &committed, &base] {
            assert_eq!(code(tab.delete("s", &checkpoint.id).await), Code::Protected);
        }
        assert_eq!(kit.dump().await, before);
        tab.engine.pin(&sid("s"), &pinned.id, false).await.unwrap();
        tab.delete("s", &pinned.id).await.unwrap();
        assert_eq!(code(tab.engine.pin(&sid("s"), &pinned.id, true).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.engine.pin(&sid("nobody"), &pinned.id, true).await), Code::UnknownSession);
        tab.clean().await;
    }

    /// P-03
    async fn prune_keeps_the_newest_and_says_what_it_deleted(kit) {
        let tab = kit.tab().await;
        let all = appended(&tab, 6).await;
        assert_eq!(tab.engine.prune(sid("s"), 9).await.unwrap().deleted, []);
        let pruned = tab.engine.prune(sid("s"), 2).await.unwrap();
        let ids = |list: &[Checkpoint<T>]| list.iter().map(|checkpoint| checkpoint.id.clone()).collect::<Vec<_>>();
        assert_eq!((pruned.deleted, pruned.kept.len()), (ids(&all[..4]), 0));
        assert_eq!(tab.all("s").await.len(), 2);
        assert_eq!(tab.live("s").await.messages.len(), 6);
        assert_eq!(tab.engine.prune(sid("s"), 0).await.unwrap().deleted, ids(&all[4..5]));
        assert_eq!(tab.all("s").await, [all[5].clone()]);
        assert_eq!(tab.engine.prune(sid("nobody"), 0).await.unwrap().deleted, []);
        tab.append("s", &[user("next")]).await.unwrap();
        tab.clean().await;
    }

    async fn prune_keeps_what_is_protected_and_says_why(kit) {
        let tab = kit.tab().await;
        let all = appended(&tab, 4).await;
        tab.engine.pin(&sid("s"), &all[1].id, true).await.unwrap();
        tab.rollback("s", &all[0].id).await.unwrap();
        let pruned = tab.engine.prune(sid("s"), 0).await.unwrap();
        assert_eq!(pruned.deleted.len(), 3);
        assert_eq!(pruned.kept.len(), 3);
        assert!(pruned.kept.iter().all(|(_, reason)| !reason.is_empty()));
        // The newest restore can still be undone.
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await.messages.len(), 4);
        tab.clean().await;
    }

    /// P-04
    async fn retention_holds_on_every_write_and_zero_keeps_all(kit) {
        let keeping = kit.tab_keeping(3, 0).await;
        for n in 0..10 {
            keeping.append("s", &[user(&n.to_string())]).await.unwrap();
            assert_eq!(keeping.all("s").await.len(), (n + 1).min(3));
        }
        assert_eq!(keeping.live("s").await.messages.len(), 10);
        let all = kit.tab().await;
        all.load("s").await;
        for n in 10..20 {
            all.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        assert_eq!(all.all("s").await.len(), 13);
        // A ceiling that is set later is reached at once.
        keeping.load("s").await;
        keeping.append("s", &[user("x")]).await.unwrap();
        assert_eq!(keeping.all("s").await.len(), 3);
        keeping.clean().await;
    }

    /// P-04: with a ceiling of one there is always the newest, and rollback and undo of it work.
    async fn a_ceiling_of_one_keeps_the_newest_and_the_restore_point_of_the_newest_restore(kit) {
        let tab = kit.tab_keeping(1, 0).await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        let second = tab.put("s", &[user("a"), assistant("b")], &[]).await.unwrap();
        assert_eq!(tab.ids("s").await, [second.id.to_string()]);
        tab.rollback("s", &second.id).await.unwrap();
        assert_eq!(tab.all("s").await.len(), 2);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a"), assistant("b")], &[]));
        tab.clean().await;
    }

    /// M-08, M-09, R13: 500 stay 500; the 501st prunes 101.
    async fn a_share_is_pruned_when_the_ceiling_is_passed(kit) {
        let tab = kit.tab_keeping(500, 20).await;
        let all = appended(&tab, 500).await;
        assert_eq!(tab.engine.session(&sid("s")).await.unwrap().unwrap().checkpoints, 500);
        tab.append("s", &[user("x")]).await.unwrap();
        let left = tab.ids("s").await;
        assert_eq!((left.len(), left.last()), (400, Some(&all[101].id.to_string())));
        tab.clean().await;
    }

    /// R13: pinned ones are skipped and replaced by the next oldest.
    async fn pinned_checkpoints_are_skipped_and_the_next_oldest_go_instead(kit) {
        let tab = kit.tab_keeping(10, 20).await;
        let all = appended(&tab, 10).await;
        for at in [0, 2] {
            tab.engine.pin(&sid("s"), &all[at].id, true).await.unwrap();
        }
        tab.append("s", &[user("x")]).await.unwrap();
        // 11 exist: 20 percent, rounded up, are 3.
        let seqs: Vec<u32> = tab.all("s").await.iter().map(|checkpoint| checkpoint.seq).collect();
        assert_eq!(seqs, [10, 9, 8, 7, 6, 5, 2, 0]);
        tab.engine.pin(&sid("s"), &all[0].id, false).await.unwrap();
        for n in 0..3 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        let seqs: Vec<u32> = tab.all("s").await.iter().map(|checkpoint| checkpoint.seq).collect();
        assert_eq!(seqs, [13, 12, 11, 10, 9, 8, 7, 2]);
        tab.clean().await;
    }

    /// However many are protected, a write does not look at each of them again.
    async fn retention_costs_no_more_when_everything_old_is_protected(kit) {
        let tab = kit.tab_keeping(2, 0).await;
        for n in 0..300 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
            tab.put_writes("s", "t", &[("x", "1")]).await.unwrap();
        }
        tab.counted();
        let rounds = kit.tab_keeping(2, 0).await;
        rounds.load("s").await;
        let before = rounds.counted();
        rounds.append("s", &[user("x")]).await.unwrap();
        assert!(rounds.counted().rounds < 8, "{before:?}");
        assert_eq!(tab.all("s").await.len(), 301);
        tab.sound().await;
    }

    async fn what_becomes_free_again_is_pruned_by_the_next_write(kit) {
        let tab = kit.tab_keeping(2, 0).await;
        let mut pinned = Vec::new();
        for n in 0..6 {
            let saved = tab.append("s", &[user(&n.to_string())]).await.unwrap();
            tab.engine.pin(&sid("s"), &saved.id, true).await.unwrap();
            pinned.push(saved.id);
        }
        assert_eq!(tab.all("s").await.len(), 6);
        tab.fork("s", &pinned[1], "f").await.unwrap();
        for id in &pinned {
            tab.engine.pin(&sid("s"), id, false).await.unwrap();
        }
        tab.append("s", &[user("x")]).await.unwrap();
        let seqs = async || tab.all("s").await.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>();
        assert_eq!(seqs().await, [6, 1]);
        tab.engine.delete_session(&sid("f")).await.unwrap();
        tab.append("s", &[user("y")]).await.unwrap();
        assert_eq!(seqs().await, [7, 6]);
        tab.clean().await;
    }

    /// R8, R11: what only the deleted session reached is gone; what a fork shares stays.
    async fn deleting_a_session_deletes_its_rows_everywhere(kit) {
        let tab = kit.tab().await;
        let long = user("long").saying(&"x".repeat(60_000)).with(vec![7; 90_000]);
        tab.put("s", &[user("a"), long.clone()], &[("x", &"v".repeat(50_000)), ("y", "shared")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "1")]).await.unwrap();
        tab.put("other", &[user("a")], &[("y", "shared")]).await.unwrap();
        tab.heard();
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert!(matches!(tab.heard().as_slice(), [Event::Deleted(session)] if *session == sid("s")));
        assert!(tab.load("s").await.is_none());
        assert!(kit.rows_of(&sid("s")).await.is_empty());
        // Of `other`: one run of messages; one node and one value.
        assert_eq!((count(&kit, Store::Messages).await, count(&kit, Store::References).await, count(&kit, Store::Objects).await), (1, 0, 2));
        assert_eq!(tab.live("other").await, shot(&[user("a")], &[("y", "shared")]));
        assert_eq!(code(tab.engine.delete_session(&sid("s")).await), Code::UnknownSession);
        tab.clean().await;
    }

    /// rt2zz/redux-persist#770: what was deleted does not come back.
    async fn a_session_made_again_under_a_deleted_ones_id_is_new(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("old", 0..5), &[("x", "1")]).await.unwrap();
        tab.engine.delete_session(&sid("s")).await.unwrap();
        let again = kit.tab().await;
        again.put("s", &[user("new")], &[]).await.unwrap();
        assert_eq!(again.live("s").await, shot(&[user("new")], &[]));
        assert_eq!(again.all("s").await.len(), 1);
        again.clean().await;
    }

    /// R8
    async fn collection_removes_what_nothing_reaches_and_nothing_else(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &chat("a", 0..60), &[("x", &"v".repeat(50_000)), ("y", "1")]).await.unwrap();
        let kept = tab.put("s", &chat("b", 0..60), &[("x", "small"), ("y", "1")]).await.unwrap();
        tab.put("s", &[user("c").with(vec![1; 50_000])], &[]).await.unwrap();
        tab.put("s", &[user("d")], &[]).await.unwrap();
        let before = tab.at("s", &kept.id).await;
        assert_eq!(tab.engine.collect().await.unwrap(), turnmark::plan::collect::Collected::default());
        let all = tab.all("s").await;
        for checkpoint in &all[1..2] {
            tab.delete("s", &checkpoint.id).await.unwrap();
        }
        tab.delete("s", &first.id).await.unwrap();
        assert_eq!(tab.at("s", &kept.id).await, before);
        assert_eq!(tab.live("s").await, shot(&[user("d")], &[]));
        assert_eq!(count(&kit, Store::References).await, 0);
        tab.clean().await;
    }

    /// Ekleog and automerge-repo-rs#52: appends go on through collections and merges of rows, and lose nothing.
    async fn appends_go_on_between_collections(kit) {
        let tab = kit.tab_keeping(3, 0).await;
        let mut expected = Vec::new();
        for n in 0..120 {
            let message = if n % 7 == 0 { user(&n.to_string()).with(vec![u8::try_from(n).unwrap(); 10]) } else { assistant(&n.to_string()) };
            expected.push(message.clone());
            tab.append("s", &[message]).await.unwrap();
            if n % 10 == 3 {
                let cut = expected.len() - 2;
                expected.truncate(cut);
                tab.put("s", &expected, &[]).await.unwrap();
            }
            if n % 5 == 0 {
                tab.engine.collect().await.unwrap();
            }
            assert_eq!(tab.live("s").await, shot(&expected, &[]), "{n}");
        }
        tab.clean().await;
    }

    async fn housekeeping_is_due_after_many_prunings_and_then_no_more(kit) {
        let tab = kit.tab_keeping(1, 0).await;
        let mut due = 0;
        for n in 0..300 {
            let saved = tab.write("s", super::kit::whole(&[user(&n.to_string())], &[]), meta()).await.unwrap();
            if saved.upkeep.collect {
                due += 1;
                tab.engine.upkeep(&sid("s"), saved.upkeep).await.unwrap();
            }
        }
        assert_eq!(due, 1);
        assert!(count(&kit, Store::Messages).await < 60);
        tab.clean().await;
    }
}
