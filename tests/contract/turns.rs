//! Turns: a prompt checkpoint before the user's message, one step of undo, and versions that are never lost.

use turnmark::engine::Stepped;
use turnmark::model::checkpoint::{Action, Kind};
use turnmark::model::part::Part;
use turnmark::plan::restore::Target;
use turnmark::plan::turn::Begin;
use turnmark::plan::write::Metadata;

use super::chat::{again, asking, instead, plain, run, showing};
use turnmark::error::Code;

use super::kit::{Msg, T, assistant, body, chat, code, meta, more, named, shot, sid, user, whole};

fn known(begun: Stepped<T>) -> turnmark::model::checkpoint::Checkpoint<T> {
    assert_eq!(begun.conflict, None);
    begun.saved.checkpoint
}

contract! {
    /// A-01, A-02, A-03, A-04
    async fn a_prompt_has_one_checkpoint_that_is_there_before_the_message(kit) {
        let tab = kit.tab().await;
        let first = tab.begin("s", "r1", "Hello?").await.unwrap();
        assert_eq!((first.kind, first.name.as_deref(), first.operation.action), (Kind::PromptBefore, Some("Prompt 1"), Action::Begin));
        assert_eq!((first.sealed, first.provisional, first.commit.as_deref()), (false, false, None));
        let turn = first.turn.clone().unwrap();
        assert_eq!(turn.seq, 1);
        // It is stored, and the message is not.
        assert_eq!(kit.tab().await.ids("s").await, [first.id.to_string()]);
        assert!(tab.then("s", &first.id).await.is_empty());
        assert!(tab.now("s").await.is_empty());
        let asked = tab.go("s", "r1", &[user("u1")]).await.unwrap();
        assert_eq!((asked.kind, asked.turn.as_ref()), (Kind::PromptAfter, Some(&turn)));
        let answered = tab.end("s", "r1", &[assistant("a1")]).await.unwrap();
        assert_eq!((answered.kind, answered.turn.as_ref()), (Kind::TurnAfter, Some(&turn)));
        assert!(tab.then("s", &first.id).await.is_empty());
        let second = tab.begin("s", "r2", "And?").await.unwrap();
        assert_eq!(second.name.as_deref(), Some("Prompt 2"));
        assert_eq!(tab.then("s", &second.id).await, ["u1", "a1"]);
        let other = second.turn.clone().unwrap();
        assert_eq!(other.seq, 2);
        assert!(other.id != turn.id && other.version != turn.version);
        let prompts = tab.all("s").await.into_iter().filter(|cp| cp.kind == Kind::PromptBefore).count();
        assert_eq!(prompts, 2);
        // Each session counts its own.
        assert_eq!(tab.begin("t", "r3", "Hi").await.unwrap().name.as_deref(), Some("Prompt 1"));
        tab.clean().await;
    }

    /// A-23, A-05
    async fn a_prompt_is_kept_as_it_was_typed_with_the_commit_and_the_picture_it_came_with(kit) {
        let tab = kit.tab().await;
        let typed = r#"{"raw":"Make it red","composed":"Make it red\n\nTarget selections JSON: []","shot":0}"#;
        let begin = Begin { prompt: Some(body(typed, &[vec![7; 50_000]])), ..asking("r1", "") };
        let metadata = Metadata { commit: Some("c0ffee".to_owned()), ..meta() };
        let prompt = known(tab.begin_as("s", begin, more(&[]), metadata).await.unwrap());
        tab.end("s", "r1", &[user("u1"), assistant("a1")]).await.unwrap();
        let late = kit.tab().await;
        let loaded = late.engine.load(&sid("s"), Some(&prompt.id)).await.unwrap().unwrap();
        let found = loaded.prompt.unwrap();
        assert_eq!(found.text, super::kit::text(typed));
        assert_eq!(loaded.contents.binaries.get(&found.refs[0]).unwrap().len(), 50_000);
        assert_eq!(loaded.checkpoint.commit.as_deref(), Some("c0ffee"));
        assert_eq!(late.engine.session(&sid("s")).await.unwrap().unwrap().commit.as_deref(), Some("c0ffee"));
        let newest = late.engine.load(&sid("s"), None).await.unwrap().unwrap();
        assert!(newest.prompt.is_none() && newest.checkpoint.commit.is_none() && newest.run.is_none());
        kit.rows_are_small().await;
        tab.clean().await;
        let long = Metadata { commit: Some("c".repeat(501)), ..meta() };
        assert_eq!(code(tab.begin_as("s", asking("r2", "x"), more(&[]), long).await), Code::TooLarge);
    }

    /// A-05: what surrounds the chat is set whole, or stays.
    async fn targets_and_screenshots_are_set_whole_and_stay_where_nothing_is_said(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[], &[("x", "1")]).await.unwrap();
        tab.begin_as("s", asking("r1", "p"), showing(&[], &[("targets", "[1]"), ("screenshots", "[2]")]), meta()).await.unwrap();
        tab.go("s", "r1", &[user("u1")]).await.unwrap();
        assert_eq!(tab.ui("s").await, plain(&[("screenshots", "[2]"), ("targets", "[1]")]));
        tab.step("s", "r1", true, showing(&[assistant("a1")], &[("targets", "[3]")])).await.unwrap();
        assert_eq!(tab.ui("s").await, plain(&[("targets", "[3]")]));
        // A whole state says nothing about it.
        tab.put("s", &[user("u1"), assistant("a1"), user("u2")], &[("x", "2")]).await.unwrap();
        assert_eq!(tab.ui("s").await, plain(&[("targets", "[3]")]));
        tab.write("s", showing(&[], &[]), meta()).await.unwrap();
        assert_eq!(tab.ui("s").await, plain(&[]));
        let restored = tab.to("s", "u1").await.unwrap();
        assert_eq!(restored.parts, Part::ALL);
        assert_eq!(tab.ui("s").await, plain(&[("screenshots", "[2]"), ("targets", "[1]")]));
        assert_eq!(tab.live("s").await, shot(&[], &[("x", "1")]));
        // A part alone.
        let newest = tab.all("s").await[1].id.clone();
        tab.restore("s", Target::Rollback { id: newest, parts: vec![Part::Ui] }).await.unwrap();
        assert_eq!((tab.ui("s").await, tab.live("s").await), (plain(&[]), shot(&[], &[("x", "1")])));
        tab.clean().await;
    }

    async fn a_turn_of_many_steps_is_undone_and_redone_as_a_whole(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        let prompt = tab.begin("s", "r", "p").await.unwrap();
        tab.go("s", "r", &[user("u2")]).await.unwrap();
        for n in 0..5 {
            tab.go("s", "r", &[assistant(&format!("tool {n}"))]).await.unwrap();
        }
        tab.end("s", "r", &[assistant("a2")]).await.unwrap();
        let all = tab.live("s").await;
        assert_eq!(tab.undo("s").await.unwrap().target, Some(prompt.id));
        assert_eq!(tab.now("s").await, ["u1", "a1"]);
        tab.redo("s").await.unwrap();
        assert_eq!(tab.live("s").await, all);
        tab.undo("s").await.unwrap();
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, Vec::<String>::new());
        assert_eq!(code(tab.undo("s").await), Code::NothingToUndo);
        tab.redo("s").await.unwrap();
        tab.redo("s").await.unwrap();
        assert_eq!(tab.live("s").await, all);
        assert_eq!(code(tab.redo("s").await), Code::NothingToRedo);
        tab.clean().await;
    }

    async fn what_came_before_a_turn_is_undone_after_it(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("x")], &[]).await.unwrap();
        tab.append("s", &[assistant("y")]).await.unwrap();
        tab.ask("s", "u1", "a1").await;
        for expected in [vec!["x", "y"], vec!["x"], vec![]] {
            tab.undo("s").await.unwrap();
            assert_eq!(tab.now("s").await, expected);
        }
        // A turn that only began is no step of its own.
        for _ in 0..3 {
            tab.redo("s").await.unwrap();
        }
        tab.begin("s", "r", "never sent").await.unwrap();
        tab.end("s", "r", &[]).await.unwrap();
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["x", "y", "u1", "a1"]);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["x", "y"]);
        tab.clean().await;
    }

    async fn a_turn_after_an_unfinished_write_leaves_what_came_before_undoable(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("x")], &[]).await.unwrap();
        tab.write("s", more(&[assistant("half")]), Metadata { provisional: true, ..meta() }).await.unwrap();
        tab.ask("s", "u1", "a1").await;
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["x", "half"]);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await.len(), 1);
        tab.clean().await;
    }

    async fn a_step_may_replace_the_end_of_the_list(kit) {
        let tab = kit.tab().await;
        tab.begin("s", "r", "p").await.unwrap();
        tab.go("s", "r", &[user("u1")]).await.unwrap();
        tab.go("s", "r", &[assistant("a1").saying("half")]).await.unwrap();
        let saved = tab.step("s", "r", true, instead(1, &[assistant("a1").saying("half and half")])).await.unwrap();
        let expected = shot(&[user("u1"), assistant("a1").saying("half and half")], &[]);
        assert_eq!(tab.live("s").await, expected);
        assert_eq!(kit.tab().await.at("s", &saved.id).await, expected);
        // Also by a tab that does not know the messages.
        let late = kit.tab().await;
        late.load("s").await;
        late.write("s", instead(1, &[assistant("b"), user("c")]), meta()).await.unwrap();
        assert_eq!(late.now("s").await, ["u1", "b", "c"]);
        late.write("s", instead(0, &[]), meta()).await.unwrap();
        assert!(late.now("s").await.is_empty());
        late.clean().await;
    }

    /// W-01, P-13; open-webui#11652: another answer replaces none; the old one can be shown again, and so can the new one.
    async fn another_answer_keeps_the_old_one_as_a_version(kit) {
        let tab = kit.tab().await;
        let first = tab.ask("s", "u1", "a1").await;
        let turn = first.turn.unwrap();
        assert_eq!(tab.versions("s", "u1").await, [(vec!["u1".to_owned(), "a1".to_owned()], true)]);
        let begun = known(tab.begin_as("s", again("r2", "u1"), more(&[]), meta()).await.unwrap());
        assert_eq!(tab.now("s").await, ["u1"]);
        let of = begun.turn.unwrap();
        assert_eq!((&of.id, of.seq), (&turn.id, 1));
        assert!(of.version != turn.version);
        tab.end("s", "r2", &[assistant("b1")]).await.unwrap();
        tab.answer_again("s", "u1", "c1").await;
        let live = async || {
            let versions = tab.versions("s", "u1").await;
            let ids: Vec<&str> = versions.iter().map(|(ids, _)| ids[1].as_str()).collect();
            assert_eq!(ids, ["a1", "b1", "c1"], "oldest first");
            versions.iter().position(|(_, live)| *live)
        };
        assert_eq!(live().await, Some(2));
        // 2/3, 1/3, 3/3 and so on, as often as anyone likes.
        for n in [1, 0, 2, 0, 1, 2, 1] {
            tab.show("s", "u1", n).await;
            assert_eq!(tab.now("s").await, ["u1", ["a1", "b1", "c1"][n]]);
            assert_eq!(live().await, Some(n));
        }
        tab.undo("s").await.unwrap();
        assert_eq!(live().await, Some(2));
        tab.clean().await;
    }

    async fn undo_of_another_answer_brings_the_old_one_back(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        tab.ask("s", "u2", "a2").await;
        tab.answer_again("s", "u1", "b1").await;
        assert_eq!(tab.now("s").await, ["u1", "b1"]);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["u1", "a1", "u2", "a2"]);
        tab.redo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["u1", "b1"]);
        tab.undo("s").await.unwrap();
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["u1", "a1"]);
        // One that was begun and never answered as well.
        tab.begin_as("s", again("r", "u1"), more(&[]), meta()).await.unwrap();
        tab.restore_by("s", Target::Undo, Some(run("r"))).await.unwrap();
        assert_eq!(tab.now("s").await, ["u1", "a1"]);
        assert_eq!(tab.versions("s", "u1").await.iter().filter(|(_, live)| *live).count(), 1);
        tab.clean().await;
    }

    async fn a_version_comes_back_with_what_followed_it(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        tab.ask("s", "u2", "a2").await;
        tab.answer_again("s", "u1", "b1").await;
        tab.ask("s", "u3", "a3").await;
        tab.append("s", &[user("note")]).await.unwrap();
        for _ in 0..2 {
            tab.show("s", "u1", 0).await;
            assert_eq!(tab.now("s").await, ["u1", "a1", "u2", "a2"]);
            tab.show("s", "u1", 1).await;
            assert_eq!(tab.now("s").await, ["u1", "b1", "u3", "a3", "note"]);
        }
        // What follows goes on growing on either side.
        tab.show("s", "u1", 0).await;
        tab.ask("s", "u4", "a4").await;
        tab.answer_again("s", "u2", "b2").await;
        assert_eq!(tab.now("s").await, ["u1", "a1", "u2", "b2"]);
        tab.show("s", "u1", 1).await;
        tab.show("s", "u1", 0).await;
        assert_eq!(tab.now("s").await, ["u1", "a1", "u2", "b2"]);
        tab.show("s", "u2", 0).await;
        assert_eq!(tab.now("s").await, ["u1", "a1", "u2", "a2", "u4", "a4"]);
        tab.clean().await;
    }

    /// P-15: in a fork as well, where the turn itself belongs to the source.
    async fn versions_made_in_a_fork_come_back_with_what_followed_them(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        let base = tab.all("s").await.remove(0);
        tab.fork("s", &base.id, "f").await.unwrap();
        tab.answer_again("f", "u1", "b1").await;
        tab.ask("f", "u2", "a2").await;
        assert_eq!(tab.versions("f", "u1").await.len(), 2);
        for _ in 0..2 {
            tab.show("f", "u1", 0).await;
            assert_eq!(tab.now("f").await, ["u1", "a1"]);
            tab.show("f", "u1", 1).await;
            assert_eq!(tab.now("f").await, ["u1", "b1", "u2", "a2"]);
        }
        assert_eq!(tab.versions("s", "u1").await, [(vec!["u1".to_owned(), "a1".to_owned()], true)]);
        tab.clean().await;
    }

    async fn a_message_of_no_turn_has_no_versions(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[]).await.unwrap();
        for message in chat("m", 0..4) {
            assert!(tab.versions("s", &message.text).await.is_empty());
        }
        for (session, message, expected) in [("s", "nobody", Code::InvalidArgument), ("t", "m0", Code::UnknownSession)] {
            assert_eq!(code(tab.engine.versions(&sid(session), message).await), expected);
        }
        // Nor has one that stands where another was asked before.
        tab.ask("s", "u1", "a1").await;
        tab.to("s", "u1").await.unwrap();
        let mut messages = chat("m", 0..4);
        messages.extend([user("by put"), assistant("by put too")]);
        tab.put("s", &messages, &[]).await.unwrap();
        assert_eq!(tab.versions("s", "by put").await, []);
        tab.clean().await;
    }

    async fn a_message_of_no_turn_can_be_answered_again(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[]).await.unwrap();
        tab.answer_again("s", "m2", "other").await;
        assert_eq!(tab.now("s").await, ["m0", "m1", "m2", "other"]);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["m0", "m1", "m2", "m3"]);
        for (message, expected) in [("m1", Code::InvalidArgument), ("nobody", Code::InvalidArgument)] {
            let before = kit.dump().await;
            assert_eq!(code(tab.begin_as("s", again("r", message), more(&[]), meta()).await), expected);
            assert_eq!(kit.dump().await, before);
        }
        tab.clean().await;
    }

    /// Compaction gives the same messages other places; which version is shown does not depend on places.
    async fn the_version_shown_is_known_after_a_compaction(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        tab.answer_again("s", "u1", "b1").await;
        let mut messages: Vec<Msg> = vec![user("u1"), assistant("b1")];
        messages.extend(chat("m", 0..300));
        tab.put("s", &messages, &[]).await.unwrap();
        for n in 0..80 {
            messages[n * 2 + 5] = messages[n * 2 + 5].clone().saying(&format!("edit {n}"));
            let saved = tab.write("s", whole(&messages, &[]), meta()).await.unwrap();
            tab.engine.upkeep(&sid("s"), saved.upkeep).await.unwrap();
        }
        let live: Vec<bool> = tab.versions("s", "u1").await.into_iter().map(|(_, live)| live).collect();
        assert_eq!(live, [false, true]);
        tab.answer_again("s", "u1", "c1").await;
        assert_eq!(tab.versions("s", "u1").await.len(), 3);
        tab.clean().await;
    }

    async fn channels_go_with_their_turn(kit) {
        let tab = kit.tab().await;
        tab.begin("s", "r", "p").await.unwrap();
        let turnmark::plan::change::Change::Append { keep, messages, ui, .. } = more(&[user("u1"), assistant("a1")]) else { unreachable!() };
        let change = turnmark::plan::change::Change::Append { keep, messages, set: named(&[("x", "1")]), remove: Vec::new(), ui };
        tab.step("s", "r", true, change).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("u1"), assistant("a1")], &[("x", "1")]));
        tab.undo("s").await.unwrap();
        assert!(tab.live("s").await.channels.is_empty());
        tab.clean().await;
    }
}
