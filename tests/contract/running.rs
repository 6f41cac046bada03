//! Runs: whoever answers a turn is left alone, whoever comes second loses nothing.

use turnmark::error::{Branch, Code};
use turnmark::model::checkpoint::Kind;
use turnmark::plan::restore::Target;
use turnmark::plan::turn::Begin;

use super::chat::{addition, again, asking, run};
use super::kit::{Tab, assistant, code, failure, meta, more, shot, sid, user};

/// Where the refused work was kept.
fn branch(error: &turnmark::error::Error) -> Branch {
    assert_eq!(error.code, Code::Conflict);
    error.branch.clone().expect("a conflict names its branch")
}

async fn none_is_running(tab: &Tab, session: &str) {
    assert_eq!(tab.running(session).await, None);
    assert_eq!(tab.engine.status().await.unwrap().unfinished, []);
}

contract! {
    /// A-16, B5: nothing is taken away under an answer that is being written.
    async fn nothing_is_restored_and_no_session_begun_while_an_answer_is_written(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.ask("s", "u1", "a1").await;
        let first = a.all("s").await.pop().unwrap();
        a.begin("s", "r", "p").await.unwrap();
        a.go("s", "r", &[user("u2"), assistant("half")]).await.unwrap();
        b.load("s").await;
        let before = kit.dump().await;
        for tab in [&a, &b] {
            for other in [None, Some(run("other"))] {
                let rollback = Target::Rollback { id: first.id.clone(), parts: Vec::new() };
                for target in [Target::Undo, Target::Redo, Target::Message("u1".to_owned()), rollback] {
                    let error = failure(tab.restore_by("s", target, other.clone()).await);
                    assert_eq!(error.code, Code::ActiveRun);
                    assert!(error.message.contains('r'), "{error}");
                }
                assert_eq!(code(tab.engine.new_session(sid("t"), None, Some(sid("s")), None, other.clone()).await), Code::ActiveRun);
                assert_eq!(code(tab.engine.aim(&sid("s"), "u1", other.as_ref()).await), Code::ActiveRun);
                // To look disturbs nobody.
                assert!(tab.engine.find_prompt(&sid("s"), "u1").await.unwrap().is_some());
            }
            assert_eq!(code(tab.begin_as("s", asking("mine", "p"), more(&[]), meta()).await), Code::ActiveRun);
            assert_eq!(code(tab.begin_as("s", again("mine", "u1"), more(&[]), meta()).await), Code::ActiveRun);
        }
        assert_eq!(kit.dump().await, before);
        // Other sessions are nobody's business.
        b.ask("t", "u1", "a1").await;
        b.undo("t").await.unwrap();
        a.end("s", "r", &[assistant("whole")]).await.unwrap();
        b.load("s").await;
        b.undo("s").await.unwrap();
        assert_eq!(b.now("s").await, ["u1", "a1"]);
        b.clean().await;
    }

    async fn the_owner_of_a_run_may_restore_and_ends_it_by_that(kit) {
        let tab = kit.tab().await;
        tab.ask("s", "u1", "a1").await;
        for target in [Target::Undo, Target::Message("u1".to_owned())] {
            let before = tab.live("s").await;
            tab.begin("s", "r", "p").await.unwrap();
            tab.go("s", "r", &[user("u2")]).await.unwrap();
            tab.grow("s", 0, &addition("r", (0, 0), "half")).await.unwrap();
            assert!(tab.engine.aim(&sid("s"), "u1", Some(&run("r"))).await.unwrap().is_some());
            tab.heard();
            tab.restore_by("s", target.clone(), Some(run("r"))).await.unwrap();
            assert_eq!(tab.runs_heard(), ["r ended in s"]);
            none_is_running(&tab, "s").await;
            assert_eq!(kit.rows(turnmark::codec::key::Store::Streams).await.len(), 0);
            assert_eq!(tab.live("s").await.messages.len(), if target == Target::Undo { before.messages.len() } else { 0 });
            // What had been written is still there, and nobody goes on with it by mistake.
            let point = tab.all("s").await.remove(1);
            assert_eq!((point.kind, point.state.spans.count()), (Kind::RestorePoint, 3));
            assert_eq!(code(tab.go("s", "r", &[assistant("a2")]).await), Code::InvalidArgument);
            // A run that had ended before does not end once more.
            tab.heard();
            tab.restore_by("s", Target::Undo, Some(run("r"))).await.unwrap();
            assert_eq!(tab.runs_heard(), [""; 0]);
            tab.restore_by("s", Target::Redo, None).await.unwrap();
        }
        tab.clean().await;
    }

    async fn a_run_is_heard_of_from_its_beginning_to_its_end(kit) {
        let tab = kit.tab().await;
        tab.begin("s", "r", "p").await.unwrap();
        tab.go("s", "r", &[user("u1")]).await.unwrap();
        assert_eq!(tab.running("s").await.as_deref(), Some("r"));
        let status = tab.engine.status().await.unwrap();
        let [found] = status.unfinished.as_slice() else { panic!("{status:?}") };
        assert_eq!((&found.session, &found.newest, found.since), (&sid("s"), &tab.all("s").await[0].id, super::kit::NOON));
        assert_eq!(found.run.as_ref().map(|run| &run.id), Some(&run("r")));
        // Another open store is another writer.
        assert_eq!(found.writer.as_ref(), Some(tab.engine.writer()));
        assert_ne!(tab.engine.writer(), kit.tab().await.engine.writer());
        tab.end("s", "r", &[assistant("a1")]).await.unwrap();
        assert_eq!(tab.runs_heard(), ["r began in s", "r ended in s", "a turn of s"]);
        none_is_running(&tab, "s").await;
    }

    async fn a_step_of_a_turn_that_is_over_is_refused(kit) {
        let tab = kit.tab().await;
        tab.begin("s", "r", "p").await.unwrap();
        tab.end("s", "r", &[user("u1"), assistant("a1")]).await.unwrap();
        let before = kit.dump().await;
        for id in ["r", "never was"] {
            assert_eq!(code(tab.go("s", id, &[assistant("more")]).await), Code::InvalidArgument);
            assert_eq!(code(tab.end("s", id, &[assistant("more")]).await), Code::InvalidArgument);
        }
        tab.begin("t", "q", "p").await.unwrap();
        assert_eq!(code(tab.go("t", "r", &[assistant("more")]).await), Code::InvalidArgument);
        tab.engine.delete_session(&sid("t")).await.unwrap();
        assert_eq!(kit.dump().await, before);
    }

    /// R9: a send beside another tab's answer goes on in a branch of its own, whole.
    async fn a_second_prompt_may_go_on_aside(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.ask("s", "u1", "a1").await;
        a.begin("s", "r", "by a").await.unwrap();
        a.go("s", "r", &[user("u2")]).await.unwrap();
        b.load("s").await;
        let before = kit.rows_of(&sid("s")).await;
        let begun = b.begin_as("s", Begin { aside: true, ..asking("q", "by b") }, more(&[]), meta()).await.unwrap();
        let kept = branch(&begun.conflict.unwrap());
        let name = kept.session.as_str();
        assert_eq!((&begun.saved.checkpoint.session, &begun.saved.checkpoint.id), (&kept.session, &kept.checkpoint));
        assert_eq!(b.prompt(name, &kept.checkpoint).await.as_deref(), Some("by b"));
        assert_eq!((b.running(name).await.as_deref(), b.running("s").await.as_deref()), (Some("q"), Some("r")));
        assert!(b.runs_heard().contains(&format!("q began in {name}")));
        let session = b.engine.session(&kept.session).await.unwrap().unwrap();
        assert_eq!(session.conflict_of, Some(sid("s")));
        b.go(name, "q", &[user("u3")]).await.unwrap();
        b.end(name, "q", &[assistant("a3")]).await.unwrap();
        assert_eq!(b.now(name).await, ["u1", "a1", "u2", "u3", "a3"]);
        b.undo(name).await.unwrap();
        assert_eq!(b.now(name).await, ["u1", "a1", "u2"]);
        // Nothing of it shows in the session but that it has a fork.
        assert_eq!(kit.rows_of(&sid("s")).await.len(), before.len());
        a.end("s", "r", &[assistant("a2")]).await.unwrap();
        assert_eq!(a.now("s").await, ["u1", "a1", "u2", "a2"]);
        a.clean().await;
    }

    /// R9
    async fn a_prompt_of_a_tab_that_is_behind_goes_on_in_a_branch_of_what_it_saw(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.ask("s", "u1", "a1").await;
        b.load("s").await;
        a.ask("s", "u2", "a2").await;
        let begun = b.begin_as("s", asking("q", "by b"), more(&[]), meta()).await.unwrap();
        let kept = branch(&begun.conflict.unwrap());
        let name = kept.session.as_str();
        b.end(name, "q", &[user("u3"), assistant("a3")]).await.unwrap();
        assert_eq!(b.now(name).await, ["u1", "a1", "u3", "a3"]);
        assert_eq!(super::chat::asked(&b.to(name, "u3").await.unwrap()).as_deref(), Some("by b"));
        // Another answer too.
        let begun = b.begin_as("s", again("p", "u1"), more(&[]), meta()).await.unwrap();
        let kept = branch(&begun.conflict.unwrap());
        b.end(kept.session.as_str(), "p", &[assistant("b1")]).await.unwrap();
        assert_eq!(b.now(kept.session.as_str()).await, ["u1", "b1"]);
        assert_eq!(a.now("s").await, ["u1", "a1", "u2", "a2"]);
        none_is_running(&a, "s").await;
        a.clean().await;
    }

    /// R10
    async fn who_has_read_nothing_begins_no_turn_in_a_session_that_holds_something(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.ask("s", "u1", "a1").await;
        let before = kit.dump().await;
        assert_eq!(code(b.begin_as("s", asking("q", "p"), more(&[]), meta()).await), Code::NotLoaded);
        assert_eq!(kit.dump().await, before);
        let (first, second) = (kit.tab().await, kit.tab().await);
        first.engine.begin(sid("new"), asking("1", "p"), more(&[]), meta(), Some(0)).await.unwrap();
        // Both saw that there was nothing; the second finds a turn.
        let late = second.engine.begin(sid("new"), asking("2", "p"), more(&[]), meta(), Some(0)).await;
        assert_eq!(code(late), Code::ActiveRun);
    }

    /// R9: the turn was recovered by another tab meanwhile, or taken back; what its writer still had is kept.
    async fn a_step_of_a_turn_that_was_taken_away_is_kept_as_a_branch(kit) {
        let (a, b) = (kit.tab().await, kit.tab().await);
        a.begin("s", "r", "p").await.unwrap();
        a.go("s", "r", &[user("u1")]).await.unwrap();
        b.engine.recover(sid("s"), false).await.unwrap().unwrap();
        b.load("s").await;
        b.undo("s").await.unwrap();
        for ends in [false, true] {
            let kept = branch(&failure(a.step("s", "r", ends, more(&[assistant("a1")])).await));
            assert_eq!(a.live(kept.session.as_str()).await, shot(&[user("u1"), assistant("a1")], &[]));
            none_is_running(&a, kept.session.as_str()).await;
        }
        assert!(b.now("s").await.is_empty());
        // Of a session that was deleted as well.
        b.engine.delete_session(&sid("s")).await.unwrap();
        let kept = branch(&failure(a.end("s", "r", &[assistant("a2")]).await));
        assert_eq!(a.now(kept.session.as_str()).await, ["a2"]);
        a.clean().await;
    }

    /// R9: a write by another tab in the middle of a turn stays, and so does the turn.
    async fn a_write_beside_a_turn_and_the_rest_of_the_turn_are_both_kept(kit) {
        for whole in [false, true] {
            let session = if whole { "put" } else { "append" };
            let (a, b) = (kit.tab().await, kit.tab().await);
            a.begin(session, "r", "p").await.unwrap();
            a.go(session, "r", &[user("u1")]).await.unwrap();
            b.load(session).await;
            if whole {
                b.put(session, &[user("u1"), user("by b")], &[]).await.unwrap();
            } else {
                b.append(session, &[user("by b")]).await.unwrap();
            }
            let kept = branch(&failure(a.end(session, "r", &[assistant("a1")]).await));
            assert_eq!(a.now(kept.session.as_str()).await, ["u1", "a1"]);
            assert_eq!(b.now(session).await, ["u1", "by b"]);
            // In its session nothing of it is unfinished.
            assert_eq!(b.running(session).await, None);
            assert_eq!(b.engine.recover(sid(session), true).await.unwrap(), None);
            assert_eq!(b.now(session).await, ["u1", "by b"]);
            b.ask(session, "u2", "a2").await;
            assert_eq!(b.now(session).await, ["u1", "by b", "u2", "a2"]);
        }
        kit.tab().await.clean().await;
    }

    /// Sends that race: each is whole somewhere, and no two are mixed.
    async fn racing_prompts_lose_nothing(kit) {
        let tabs = [kit.tab().await, kit.tab().await, kit.tab().await];
        tabs[0].ask("s", "u0", "a0").await;
        for tab in &tabs {
            tab.load("s").await;
        }
        let mut homes = Vec::new();
        for (n, tab) in tabs.iter().enumerate() {
            let id = format!("r{n}");
            let begun = tab.begin_as("s", Begin { aside: true, ..asking(&id, &id) }, more(&[]), meta()).await.unwrap();
            homes.push(begun.saved.checkpoint.session.to_string());
        }
        for (n, tab) in tabs.iter().enumerate().rev() {
            tab.go(&homes[n], &format!("r{n}"), &[user(&format!("u by {n}"))]).await.unwrap();
        }
        for (n, tab) in tabs.iter().enumerate() {
            tab.end(&homes[n], &format!("r{n}"), &[assistant(&format!("a by {n}"))]).await.unwrap();
            assert_eq!(tab.now(&homes[n]).await, ["u0".to_owned(), "a0".to_owned(), format!("u by {n}"), format!("a by {n}")]);
        }
        assert_eq!(homes[0], "s");
        assert!(homes[1] != "s" && homes[2] != "s" && homes[1] != homes[2]);
        tabs[0].clean().await;
    }
}
