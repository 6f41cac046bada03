//! Rollback, undo and redo; recovery of an interrupted session.

use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::checkpoint::{Action, Checkpoint, Kind, Source};
use turnmark::model::part::Part;
use turnmark::plan::restore::Target;
use turnmark::plan::write::Metadata;

use super::kit::{Shot, T, Tab, assistant, chat, cid, code, meta, more, shot, sid, user, whole};

/// Four states, each a checkpoint, all different.
async fn history(tab: &Tab, session: &str) -> (Vec<Checkpoint<T>>, Vec<Shot>) {
    let (mut checkpoints, mut shots) = (Vec::new(), Vec::new());
    for n in 1..=4 {
        let (messages, value) = (chat("m", 0..n * 2), n.to_string());
        let channels = [("n", value.as_str()), ("same", "1")];
        checkpoints.push(tab.put(session, &messages, &channels).await.unwrap());
        shots.push(shot(&messages, &channels));
    }
    (checkpoints, shots)
}

/// Undoes or redoes, and gives the state that is live then.
async fn after(tab: &Tab, target: Target) -> Shot {
    tab.restore("s", target).await.unwrap();
    tab.live("s").await
}

contract! {
    /// P-13, R3
    async fn a_rollback_brings_back_exactly_the_state_of_its_target(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        let restored = tab.rollback("s", &checkpoints[1].id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[1]);
        let new = &restored.checkpoint;
        assert_eq!((new.source, new.kind, new.writes.as_slice()), (Source::Manual, Kind::Manual, ["rollback".to_owned()].as_slice()));
        assert_eq!((new.parent.as_ref(), restored.target.as_ref()), (Some(&checkpoints[1].id), Some(&checkpoints[1].id)));
        assert_eq!(restored.parts, Part::ALL);
        // The vector is bumped by the rollback.
        assert_eq!(new.vector.values().sum::<u64>(), checkpoints[3].vector.values().sum::<u64>() + 1);
        // The next message continues from there.
        tab.append("s", &[user("next")]).await.unwrap();
        let mut expected = chat("m", 0..4);
        expected.push(user("next"));
        assert_eq!(tab.live("s").await, shot(&expected, &[("n", "2"), ("same", "1")]));
        for (checkpoint, shot) in checkpoints.iter().zip(&shots) {
            assert_eq!(tab.at("s", &checkpoint.id).await, *shot);
        }
        tab.clean().await;
    }

    /// R4, requirements 6.2 ruling 4: nothing is ever lost by going back.
    async fn a_rollback_first_keeps_the_state_before_as_a_restore_point(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        let restored = tab.rollback("s", &checkpoints[0].id).await.unwrap();
        let point = &restored.restore_point;
        assert_eq!((point.kind, point.operation.action, point.seq), (Kind::RestorePoint, Action::RestorePoint, 4));
        assert_eq!((point.parent.as_ref(), restored.checkpoint.seq), (Some(&checkpoints[3].id), 5));
        assert_eq!(tab.at("s", &point.id).await, shots[3]);
        tab.rollback("s", &point.id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[3]);
        tab.clean().await;
    }

    async fn a_restore_announces_both_checkpoints_then_itself(kit) {
        let tab = kit.tab().await;
        let (checkpoints, _) = history(&tab, "s").await;
        tab.heard();
        let done = tab.rollback("s", &checkpoints[2].id).await.unwrap();
        let heard = tab.heard();
        let [Event::Created(point), Event::Created(new), Event::Restored { checkpoint, target, restore_point, .. }, Event::Changed { .. }] =
            heard.as_slice() else { panic!("{heard:?}") };
        assert_eq!((&**point, &**new), (&done.restore_point, &done.checkpoint));
        assert_eq!((checkpoint, target.as_ref(), restore_point), (&new.id, Some(&checkpoints[2].id), &point.id));
    }

    /// R3: the chosen parts come back, the others stay as they are.
    async fn a_rollback_of_one_part_leaves_the_other(kit) {
        let tab = kit.tab().await;
        let (checkpoints, _) = history(&tab, "s").await;
        let target = |parts: &[Part]| Target::Rollback { id: checkpoints[0].id.clone(), parts: parts.to_vec() };
        let messages = chat("m", 0..2);
        assert_eq!(after(&tab, target(&[Part::Messages])).await, shot(&messages, &[("n", "4"), ("same", "1")]));
        tab.undo("s").await.unwrap();
        assert_eq!(after(&tab, target(&[Part::State])).await, shot(&chat("m", 0..8), &[("n", "1"), ("same", "1")]));
        tab.undo("s").await.unwrap();
        assert_eq!(after(&tab, target(&[])).await, shot(&chat("m", 0..8), &[("n", "4"), ("same", "1")]));
        tab.clean().await;
    }

    async fn a_rollback_to_the_newest_changes_nothing_and_can_be_undone(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        tab.rollback("s", &checkpoints[3].id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[3]);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, shots[3]);
    }

    async fn a_rollback_to_what_does_not_exist_changes_nothing(kit) {
        let tab = kit.tab().await;
        let (checkpoints, _) = history(&tab, "s").await;
        tab.append("other", &[user("x")]).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(code(tab.rollback("s", &cid("cp_no")).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.rollback("other", &checkpoints[0].id).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.rollback("nobody", &checkpoints[0].id).await), Code::UnknownSession);
        assert_eq!(code(tab.undo("nobody").await), Code::UnknownSession);
        assert_eq!(kit.dump().await, before);
    }

    async fn undo_goes_back_one_operation_at_a_time_to_the_very_beginning(kit) {
        let tab = kit.tab().await;
        let (_, shots) = history(&tab, "s").await;
        for shot in shots[..3].iter().rev() {
            assert_eq!(after(&tab, Target::Undo).await, *shot);
        }
        assert_eq!(after(&tab, Target::Undo).await, Shot::default());
        assert_eq!(code(tab.undo("s").await), Code::NothingToUndo);
        for shot in &shots {
            assert_eq!(after(&tab, Target::Redo).await, *shot);
        }
        assert_eq!(code(tab.redo("s").await), Code::NothingToRedo);
        tab.clean().await;
    }

    async fn undo_and_redo_go_on_after_a_reload(kit) {
        let (_, shots) = history(&kit.tab().await, "s").await;
        let reloaded = async |target: Target| {
            let tab = kit.tab().await;
            tab.engine.restore(sid("s"), target, None, None, None).await.unwrap();
            tab.live("s").await
        };
        assert_eq!(reloaded(Target::Undo).await, shots[2]);
        assert_eq!(reloaded(Target::Undo).await, shots[1]);
        assert_eq!(reloaded(Target::Redo).await, shots[2]);
        assert_eq!(reloaded(Target::Undo).await, shots[1]);
        assert_eq!(reloaded(Target::Undo).await, shots[0]);
        assert_eq!(reloaded(Target::Redo).await, shots[1]);
        assert_eq!(reloaded(Target::Redo).await, shots[2]);
        assert_eq!(reloaded(Target::Redo).await, shots[3]);
    }

    async fn a_rollback_can_be_undone_and_redone_like_any_operation(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        tab.rollback("s", &checkpoints[0].id).await.unwrap();
        assert_eq!(after(&tab, Target::Undo).await, shots[3]);
        assert_eq!(after(&tab, Target::Redo).await, shots[0]);
        assert_eq!(after(&tab, Target::Undo).await, shots[3]);
        assert_eq!(after(&tab, Target::Undo).await, shots[2]);
        assert_eq!(after(&tab, Target::Redo).await, shots[3]);
        assert_eq!(after(&tab, Target::Redo).await, shots[0]);
    }

    async fn a_write_after_an_undo_leaves_nothing_to_redo_and_loses_nothing(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        tab.undo("s").await.unwrap();
        tab.undo("s").await.unwrap();
        tab.append("s", &[user("another way")]).await.unwrap();
        assert_eq!(code(tab.redo("s").await), Code::NothingToRedo);
        assert_eq!(after(&tab, Target::Undo).await, shots[1]);
        assert_eq!(after(&tab, Target::Undo).await, shots[0]);
        // What was undone is still a checkpoint.
        tab.rollback("s", &checkpoints[3].id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[3]);
        tab.clean().await;
    }

    async fn the_log_says_which_operation_undo_would_undo(kit) {
        let tab = kit.tab().await;
        history(&tab, "s").await;
        let (operations, next) = tab.engine.operations(&sid("s"), 2).await.unwrap();
        assert_eq!((operations.iter().map(|cp| cp.seq).collect::<Vec<_>>(), next), (vec![3, 2], Some(3)));
        tab.undo("s").await.unwrap();
        let (operations, next) = tab.engine.operations(&sid("s"), 99).await.unwrap();
        let actions: Vec<Action> = operations.iter().map(|cp| cp.operation.action).collect();
        assert_eq!(actions, [Action::Undo, Action::RestorePoint, Action::Put, Action::Put, Action::Put, Action::Put]);
        assert_eq!(next, Some(2));
        assert_eq!(tab.engine.operations(&sid("s"), 0).await.unwrap().0, []);
    }

    async fn an_undo_whose_state_before_is_gone_says_so_and_changes_nothing(kit) {
        let tab = kit.tab().await;
        let (checkpoints, _) = history(&tab, "s").await;
        tab.delete("s", &checkpoints[2].id).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(code(tab.undo("s").await), Code::NothingToUndo);
        assert_eq!(kit.dump().await, before);
    }

    /// Deleting the newest checkpoint leads to the session as it was before it, what can be undone and redone included.
    async fn deleting_an_undo_leaves_what_could_be_undone_before_it(kit) {
        let tab = kit.tab().await;
        let (_, shots) = history(&tab, "s").await;
        tab.undo("s").await.unwrap();
        let undo = tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, shots[1]);
        tab.delete("s", &undo.checkpoint.id).await.unwrap();
        // The newest is now the restore point of the second undo: the state after the first.
        assert_eq!(tab.live("s").await, shots[2]);
        assert_eq!(after(&tab, Target::Redo).await, shots[3]);
        assert_eq!(after(&tab, Target::Undo).await, shots[2]);
        assert_eq!(after(&tab, Target::Undo).await, shots[1]);
        tab.sound().await;
    }

    async fn deleting_a_redo_or_a_rollback_leaves_what_could_be_undone_before_it(kit) {
        let tab = kit.tab().await;
        let (checkpoints, shots) = history(&tab, "s").await;
        tab.undo("s").await.unwrap();
        let redo = tab.redo("s").await.unwrap();
        tab.delete("s", &redo.checkpoint.id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[2]);
        assert_eq!(after(&tab, Target::Redo).await, shots[3]);
        let rollback = tab.rollback("s", &checkpoints[0].id).await.unwrap();
        tab.delete("s", &rollback.checkpoint.id).await.unwrap();
        assert_eq!(tab.live("s").await, shots[3]);
        assert_eq!(after(&tab, Target::Undo).await, shots[2]);
        tab.sound().await;
    }

    /// E-34: what was interrupted is finalized only when somebody asks for it.
    async fn recovery_finalizes_an_interrupted_answer(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        let partial = [user("a"), assistant("half an ans")];
        tab.write("s", whole(&partial, &[]), Metadata { provisional: true, ..meta() }).await.unwrap();
        let other = kit.tab().await;
        assert_eq!(other.live("s").await, shot(&partial, &[]));
        assert_eq!(other.engine.status().await.unwrap().unfinished.len(), 1);
        let recovered = other.engine.recover(sid("s"), false).await.unwrap().unwrap();
        let newest = other.all("s").await.remove(0);
        assert_eq!((newest.id, newest.provisional), (recovered.checkpoint, false));
        assert!(newest.extra.iter().any(|(key, _)| key == "interrupted"));
        assert_eq!(other.live("s").await, shot(&partial, &[]));
        assert_eq!(other.engine.recover(sid("s"), false).await.unwrap(), None);
        assert_eq!(code(other.engine.recover(sid("nobody"), false).await), Code::UnknownSession);
        // The writer that was thought dead is told.
        assert_eq!(code(tab.append("s", &[user("b")]).await), Code::Conflict);
        other.load("s").await;
        other.undo("s").await.unwrap();
        assert_eq!(other.live("s").await, shot(&[user("a")], &[]));
        other.sound().await;
    }

    /// E-34
    async fn recovery_may_drop_an_interrupted_answer_and_that_can_be_undone(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[("x", "1")]).await.unwrap();
        let partial = [user("a"), assistant("half an ans")];
        tab.write("s", whole(&partial, &[("x", "2")]), Metadata { provisional: true, ..meta() }).await.unwrap();
        tab.engine.recover(sid("s"), true).await.unwrap().unwrap();
        let other = kit.tab().await;
        assert_eq!(other.live("s").await, shot(&[user("a")], &[("x", "1")]));
        other.undo("s").await.unwrap();
        assert_eq!(other.live("s").await, shot(&partial, &[("x", "2")]));
        other.undo("s").await.unwrap();
        assert_eq!(other.live("s").await, shot(&[user("a")], &[("x", "1")]));
        other.clean().await;
    }

    async fn dropping_never_empties_a_session_whose_state_before_was_deleted(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        let before = tab.append("s", &[assistant("b")]).await.unwrap();
        tab.write("s", more(&[user("c")]), Metadata { provisional: true, ..meta() }).await.unwrap();
        tab.delete("s", &before.id).await.unwrap();
        tab.engine.recover(sid("s"), true).await.unwrap().unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[]));
    }

    async fn a_rollback_during_a_stream_keeps_what_had_arrived(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a")], &[]).await.unwrap();
        let partial = tab.write("s", more(&[assistant("half")]), Metadata { provisional: true, ..meta() }).await.unwrap().checkpoint;
        let restored = tab.rollback("s", &first.id).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[]));
        for id in [&partial.id, &restored.restore_point.id] {
            assert_eq!(tab.at("s", id).await, shot(&[user("a"), assistant("half")], &[]));
        }
        assert_eq!(tab.engine.status().await.unwrap().unfinished, []);
        tab.clean().await;
    }

    /// ggml-org/llama.cpp#16406, open-webui#11652: switching between branches of one session changes neither.
    async fn going_back_and_forth_between_two_branches_changes_neither(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &chat("m", 0..4), &[("n", "0")]).await.unwrap();
        let left = tab.append("s", &[user("left")]).await.unwrap();
        let before = tab.live("s").await;
        tab.rollback("s", &base.id).await.unwrap();
        let right = tab.append("s", &[user("right"), assistant("yes")]).await.unwrap();
        let after = tab.live("s").await;
        for _ in 0..3 {
            tab.rollback("s", &left.id).await.unwrap();
            assert_eq!(tab.live("s").await, before);
            tab.rollback("s", &right.id).await.unwrap();
            assert_eq!(tab.live("s").await, after);
        }
        tab.clean().await;
    }
}
