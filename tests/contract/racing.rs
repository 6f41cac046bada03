//! Writers that are not first, have read nothing, or would empty what is there. No work is ever lost.

use turnmark::engine::Event;
use turnmark::error::{Branch, Code};
use turnmark::plan::change::Change;
use turnmark::plan::write::Metadata;

use super::kit::{Tab, assistant, chat, cid, code, failure, meta, more, named, shot, sid, unlisted, user, whole};

/// Where the refused work was kept.
fn branch(error: &turnmark::error::Error) -> Branch {
    assert_eq!(error.code, Code::Conflict);
    error.branch.clone().expect("a conflict names its branch")
}

async fn state(tab: &Tab, branch: &Branch) -> super::kit::Shot {
    let loaded = tab.live(branch.session.as_str()).await;
    assert_eq!(tab.at(branch.session.as_str(), &branch.checkpoint).await, loaded);
    loaded
}

contract! {
    /// R9: a streaming writer names the stage it continues; that another tab's write has replaced it makes the writer late,
    /// not wrong, and its work is kept.
    async fn a_writer_whose_parent_was_replaced_meanwhile_is_behind_and_its_work_is_kept(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.put("s", &[user("a")], &[]).await.unwrap();
        let stage = [user("a"), assistant("half an ans")];
        let parent = a.write("s", whole(&stage, &[]), Metadata { provisional: true, ..meta() }).await.unwrap().checkpoint.id;
        b.load("s").await;
        let by_b = [user("a"), assistant("half an ans"), user("by b")];
        b.put("s", &by_b, &[]).await.unwrap();
        let by_a = [user("a"), assistant("half an answer, and the rest")];
        let late = a.write("s", whole(&by_a, &[]), Metadata { parent: Some(parent), ..meta() }).await;
        assert_eq!(state(&a, &branch(&failure(late))).await, shot(&by_a, &[]));
        assert_eq!(b.live("s").await, shot(&by_b, &[]));
        // A parent that never was is still a mistake.
        b.load("s").await;
        let never = b.write("s", whole(&by_b, &[]), Metadata { parent: Some(cid("cp_never")), ..meta() }).await;
        assert_eq!(code(never), Code::UnknownParent);
        a.clean().await;
    }

    /// R9: to have looked, and to have seen that there is nothing, is to have seen it.
    async fn of_two_first_messages_of_a_new_session_the_later_is_kept_on_top_of_nothing(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.write_seeing("s", more(&[user("by a")]), Some(0)).await.unwrap();
        a.append("s", &[user("further")]).await.unwrap();
        for change in [more(&[user("by b")]), whole(&[user("by b")], &[])] {
            let late = branch(&failure(b.write_seeing("s", change, Some(0)).await));
            assert_eq!(state(&b, &late).await, shot(&[user("by b")], &[]));
        }
        assert_eq!(a.live("s").await, shot(&[user("by a"), user("further")], &[]));
        a.clean().await;
    }

    /// R9; oobabooga/textgen#5136, zewish/redux-remember#29: a stale tab's state never replaces a newer one.
    async fn a_stale_put_is_refused_and_kept_whole_as_a_branch(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        let base = a.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        b.load("s").await;
        let mut by_b = chat("m", 0..4);
        by_b.push(user("by b"));
        b.put("s", &by_b, &[("x", "b")]).await.unwrap();
        let mut by_a = chat("m", 0..4);
        by_a.push(user("by a"));
        a.heard();
        let kept = branch(&failure(a.put("s", &by_a, &[("x", "a")]).await));
        // The branch is announced, and nothing about the session itself.
        assert!(a.heard().iter().all(|event| !matches!(event, Event::Changed { session, .. } if *session == sid("s"))));
        assert_eq!(state(&a, &kept).await, shot(&by_a, &[("x", "a")]));
        assert_eq!(b.live("s").await, shot(&by_b, &[("x", "b")]));
        let session = a.engine.session(&kept.session).await.unwrap().unwrap();
        assert_eq!(session.conflict_of, Some(sid("s")));
        assert_eq!(session.forked_from.map(|from| from.checkpoint_id), Some(base.id));
        // Once it has read, it may write.
        a.load("s").await;
        a.append("s", &[user("after all")]).await.unwrap();
        a.clean().await;
    }

    /// R9
    async fn a_stale_append_is_refused_and_kept_on_top_of_what_its_writer_saw(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        b.load("s").await;
        b.append("s", &[user("by b")]).await.unwrap();
        b.append("s", &[user("more by b")]).await.unwrap();
        let change = Change::Append { keep: None, messages: vec![user("by a").incoming()], set: named(&[("y", "a")]), remove: vec!["x".to_owned()], ui: None };
        let kept = branch(&failure(a.write("s", change, meta()).await));
        let mut expected = chat("m", 0..4);
        expected.push(user("by a"));
        assert_eq!(state(&a, &kept).await, shot(&expected, &[("y", "a")]));
        assert_eq!(b.live("s").await.messages.len(), 6);
        a.clean().await;
    }

    /// cogwheel0/conduit#443: a write names its parent, and a mismatch is refused.
    async fn an_explicit_parent_that_is_no_longer_the_newest_is_a_conflict(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a")], &[("x", "1")]).await.unwrap();
        let second = tab.append("s", &[assistant("b")]).await.unwrap();
        let continuing = |id: &turnmark::ids::CheckpointId| Metadata { parent: Some(id.clone()), ..meta() };
        // The newest may be named, also by a writer that has read nothing.
        let fresh = kit.tab().await;
        let third = fresh.write("s", more(&[user("c")]), continuing(&second.id)).await.unwrap().checkpoint;
        assert_eq!(third.parent, Some(second.id));
        tab.load("s").await;
        let kept = branch(&failure(tab.write("s", more(&[user("d")]), continuing(&first.id)).await));
        assert_eq!(state(&tab, &kept).await, shot(&[user("a"), user("d")], &[("x", "1")]));
        let kept = branch(&failure(tab.write("s", whole(&[user("e")], &[]), continuing(&first.id)).await));
        assert_eq!(state(&tab, &kept).await, shot(&[user("e")], &[]));
        assert_eq!(tab.live("s").await, shot(&[user("a"), assistant("b"), user("c")], &[("x", "1")]));
        // A branch's base counts it, and is protected by it.
        assert_eq!(code(tab.delete("s", &first.id).await), Code::Protected);
        tab.clean().await;
    }

    /// assistant-ui#1935: dangling ids are refused at the door.
    async fn an_explicit_parent_that_does_not_exist_is_refused(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        let other = tab.put("t", &[user("a")], &[]).await.unwrap();
        let before = kit.dump().await;
        for (session, parent) in [("s", cid("cp_no")), ("s", other.id.clone()), ("nobody", other.id.clone())] {
            let metadata = Metadata { parent: Some(parent), ..meta() };
            assert_eq!(code(tab.write(session, more(&[user("b")]), metadata).await), Code::UnknownParent);
        }
        assert_eq!(kit.dump().await, before);
    }

    /// R9, R11: what was deleted stays deleted, and the work on it is kept.
    async fn a_write_to_a_session_that_was_deleted_meanwhile_is_kept_as_a_branch(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        let messages = [user("a"), assistant("b")];
        a.put("s", &messages[..1], &[]).await.unwrap();
        b.engine.delete_session(&sid("s")).await.unwrap();
        let kept = branch(&failure(a.put("s", &messages, &[("x", "1")]).await));
        assert_eq!(state(&a, &kept).await, shot(&messages, &[("x", "1")]));
        assert!(b.load("s").await.is_none());
        let kept = branch(&failure(a.append("s", &messages[1..]).await));
        assert_eq!(state(&a, &kept).await, shot(&messages[1..], &[]));
        a.clean().await;
    }

    /// SillyTavern#5454: two histories of one name are told apart, and neither replaces the other.
    async fn a_session_made_again_is_not_the_one_that_was_seen(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.put("s", &[user("old")], &[]).await.unwrap();
        b.engine.delete_session(&sid("s")).await.unwrap();
        b.put("s", &[user("new")], &[]).await.unwrap();
        let kept = branch(&failure(a.append("s", &[user("more")]).await));
        assert!(state(&a, &kept).await.messages.contains(&(user("more").encoded(), Vec::new())));
        assert_eq!(b.live("s").await, shot(&[user("new")], &[]));
        a.clean().await;
    }

    /// With a low ceiling what the writer saw may be pruned; its work then stands on the nearest state that exists.
    async fn a_stale_append_whose_base_was_pruned_is_kept_on_the_nearest_newer_state(kit) {
        let (a, b) = (kit.tab_keeping(1, 0).await, kit.tab_keeping(1, 0).await);
        a.put("s", &[user("a")], &[]).await.unwrap();
        b.load("s").await;
        b.append("s", &[user("b")]).await.unwrap();
        let kept = branch(&failure(a.append("s", &[user("c")]).await));
        assert_eq!(state(&a, &kept).await, shot(&[user("a"), user("b"), user("c")], &[]));
        a.clean().await;
    }

    /// R10; zustand#458 and #562, SillyTavern#737: nothing is written over a session before it was read.
    async fn a_writer_that_has_read_nothing_cannot_replace_or_continue_what_is_there(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        tab.write("channels", unlisted(&[("products", "[1,2,3]")]), meta()).await.unwrap();
        let before = kit.dump().await;
        let fresh = kit.tab().await;
        assert_eq!(code(fresh.append("s", &[user("b")]).await), Code::NotLoaded);
        assert_eq!(code(fresh.put("s", &[user("example")], &[]).await), Code::NotLoaded);
        assert_eq!(code(fresh.put("s", &chat("m", 0..3), &[]).await), Code::NotLoaded);
        let mut edited = chat("m", 0..4);
        edited[0] = edited[0].clone().saying("other");
        assert_eq!(code(fresh.put("s", &edited, &[]).await), Code::NotLoaded);
        assert_eq!(code(fresh.write("channels", unlisted(&[("products", "[]")]), meta()).await), Code::NotLoaded);
        assert_eq!(code(fresh.write("channels", unlisted(&[]), meta()).await), Code::NotLoaded);
        assert_eq!(code(fresh.append("channels", &[user("b")]).await), Code::NotLoaded);
        assert_eq!(kit.dump().await, before);
        assert!(fresh.heard().is_empty());
        fresh.load("s").await;
        fresh.append("s", &[user("b")]).await.unwrap();
        fresh.load("channels").await;
        fresh.write("channels", unlisted(&[("products", "[]")]), meta()).await.unwrap();
    }

    /// A state that holds every message of the live one can only come from somebody who knows them.
    async fn a_writer_that_has_read_nothing_may_put_a_state_that_goes_on_from_the_live_one(kit) {
        kit.tab().await.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        let fresh = kit.tab().await;
        fresh.put("s", &chat("m", 0..6), &[("x", "2")]).await.unwrap();
        assert_eq!(fresh.live("s").await, shot(&chat("m", 0..6), &[("x", "2")]));
        let same = kit.tab().await;
        same.put("s", &chat("m", 0..6), &[("x", "3")]).await.unwrap();
        kit.tab().await.write("c", unlisted(&[("x", "1")]), meta()).await.unwrap();
        kit.tab().await.write("c", unlisted(&[("x", "1")]), meta()).await.unwrap();
    }

    /// rt2zz/redux-persist#1105, tabwrangler#241: an empty state does not replace one that holds messages by accident.
    async fn a_state_without_messages_does_not_replace_one_that_has_some(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[("x", "1")]).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(code(tab.put("s", &[], &[("x", "1")]).await), Code::EmptyOverNonEmpty);
        assert_eq!(code(tab.write("s", unlisted(&[]), meta()).await), Code::EmptyOverNonEmpty);
        assert_eq!(kit.dump().await, before);
        tab.write("s", whole(&[], &[]), Metadata { allow_empty: true, ..meta() }).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[], &[]));
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, shot(&chat("m", 0..4), &[("x", "1")]));
        tab.clean().await;
    }

    /// Emptiness is told before a race is lost: there is no work to keep.
    async fn an_empty_state_by_a_stale_writer_is_refused_too(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.put("s", &[user("a")], &[]).await.unwrap();
        b.load("s").await;
        b.append("s", &[user("b")]).await.unwrap();
        assert_eq!(code(a.put("s", &[], &[]).await), Code::EmptyOverNonEmpty);
        assert_eq!(b.live("s").await.messages.len(), 2);
        assert_eq!(a.engine.sessions().await.unwrap().len(), 1);
    }

    /// R9
    async fn a_restore_by_one_who_has_not_seen_the_newest_is_refused(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        let first = a.put("s", &[user("a")], &[]).await.unwrap();
        a.append("s", &[user("b")]).await.unwrap();
        b.load("s").await;
        b.append("s", &[user("c")]).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(code(a.rollback("s", &first.id).await), Code::Conflict);
        assert_eq!(code(a.undo("s").await), Code::Conflict);
        assert_eq!(kit.dump().await, before);
        a.load("s").await;
        a.undo("s").await.unwrap();
        assert_eq!(a.live("s").await, shot(&[user("a"), user("b")], &[]));
    }

    /// R9: a rollback, an undo or a deletion by another tab is a change like any other.
    async fn a_writer_is_behind_after_any_change_of_the_head_by_another(kit) {
        for what in 0..3 {
            let session = format!("s{what}");
            let (a, b) = (kit.tab().await, kit.tab().await);
            let first = a.put(&session, &[user("a")], &[]).await.unwrap();
            let second = a.append(&session, &[user("b")]).await.unwrap();
            b.load(&session).await;
            match what {
                0 => drop(b.rollback(&session, &first.id).await.unwrap()),
                1 => drop(b.undo(&session).await.unwrap()),
                _ => b.delete(&session, &second.id).await.unwrap(),
            }
            let kept = branch(&failure(a.append(&session, &[user("c")]).await));
            let work = state(&a, &kept).await;
            assert_eq!(work.messages.last(), Some(&(user("c").encoded(), Vec::new())));
            assert_eq!(b.live(&session).await, shot(&[user("a")], &[]));
        }
    }

    async fn reads_pins_titles_and_prunings_by_another_do_not_put_a_writer_behind(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        let first = a.put("s", &[user("a")], &[]).await.unwrap();
        a.append("s", &[user("b")]).await.unwrap();
        b.load("s").await;
        b.engine.pin(&sid("s"), &first.id, true).await.unwrap();
        b.engine.set_title(&sid("s"), Some("t".to_owned())).await.unwrap();
        b.engine.pin(&sid("s"), &first.id, false).await.unwrap();
        b.put_writes("s", "t", &[("x", "1")]).await.unwrap();
        b.engine.prune(sid("s"), 1).await.unwrap();
        b.engine.collect().await.unwrap();
        a.append("s", &[user("c")]).await.unwrap();
        assert_eq!(a.live("s").await.messages.len(), 3);
    }

    /// R9: whatever the tabs do, each turn is in the session or in a branch, exactly once.
    async fn many_tabs_writing_at_once_lose_nothing(kit) {
        let tabs = [kit.tab().await, kit.tab().await, kit.tab().await];
        let (mut written, mut kept) = (0, 0);
        for n in 0..30 {
            let tab = &tabs[n % 3];
            if n % 4 == 0 {
                tab.load("s").await;
            }
            match tab.append("s", &[user(&n.to_string())]).await {
                Ok(_) => written += 1,
                Err(error) => match error.code {
                    Code::Conflict => {
                        let branch = branch(&error);
                        let work = state(tab, &branch).await;
                        assert_eq!(work.messages.last(), Some(&(user(&n.to_string()).encoded(), Vec::new())));
                        kept += 1;
                    }
                    other => assert_eq!(other, Code::NotLoaded),
                },
            }
        }
        assert!(written > 5 && kept > 5, "{written} {kept}");
        assert_eq!(tabs[0].live("s").await.messages.len(), written);
        assert_eq!(tabs[0].engine.sessions().await.unwrap().len(), kept + 1);
        tabs[0].clean().await;
    }
}
