//! Conversations of a scope: one is active, the next one seals it, and what was sealed never changes again.

use turnmark::codec::key::Store;
use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::checkpoint::{Action, Checkpoint, Kind};
use turnmark::model::retention::Retention;
use turnmark::model::session::Session;
use turnmark::plan::restore::Target;
use turnmark::plan::sessions::Opened;
use turnmark::plan::write::Metadata;

use super::chat::{addition, asking, plain, run, showing};
use super::kit::{Kit, T, Tab, assistant, chat, code, meta, more, shot, sid, user};

/// A new conversation after the active one.
async fn next(tab: &Tab, id: &str) -> Opened<T> {
    let opened = tab.engine.new_session(sid(id), None, None, None, None).await.unwrap();
    tab.seen.borrow_mut().insert(id.to_owned(), opened.epoch);
    opened
}

async fn row(tab: &Tab, id: &str) -> Session {
    tab.engine.session(&sid(id)).await.unwrap().expect("the session exists")
}

async fn active(tab: &Tab) -> Option<String> {
    tab.engine.active_session().await.unwrap().map(|id| id.to_string())
}

async fn boundaries(tab: &Tab, id: &str) -> Vec<Checkpoint<T>> {
    let all = tab.all(id).await;
    all.into_iter().rev().filter(|cp| cp.kind == Kind::SessionBoundary).collect()
}

/// A tab that keeps boundaries only.
async fn forgetful(kit: &Kit) -> Tab {
    kit.tab_of("scope", Retention { sessions_only: true, ..Retention::default() }).await
}

contract! {
    /// A-07, A-09, A-11: the conversation that is left is sealed whole, the new one is empty and active.
    async fn a_new_session_seals_the_one_before_and_is_the_active_one(kit) {
        let tab = kit.tab().await;
        assert_eq!(active(&tab).await, None);
        let first = next(&tab, "one").await;
        assert_eq!((first.number, first.previous.as_ref(), first.sealed.is_none()), (1, None, true));
        assert_eq!(active(&tab).await.as_deref(), Some("one"));
        tab.begin_as("one", asking("r", "p"), showing(&[], &[("targets", "[1]")]), meta()).await.unwrap();
        tab.end("one", "r", &chat("m", 0..4)).await.unwrap();
        let boundary = row(&tab, "one").await.boundary.unwrap();
        tab.heard();
        let opened = tab.engine.new_session(sid("two"), Some("Title".to_owned()), None, Some("c1".to_owned()), None).await.unwrap();
        let sealed = opened.sealed.unwrap();
        assert!(matches!(&tab.heard()[..], [Event::Created(cp), Event::Changed { .. }, Event::Changed { .. }] if cp.id == sealed.id));
        assert_eq!((opened.number, opened.previous, opened.pruned), (2, Some(sid("one")), 0));
        assert_eq!((sealed.kind, sealed.operation.action, sealed.sealed), (Kind::SessionBoundary, Action::Seal, true));
        assert_eq!((sealed.name.as_deref(), sealed.commit.as_deref(), &sealed.id), (Some("Session 1"), Some("c1"), &boundary));
        assert_eq!(tab.at("one", &sealed.id).await, shot(&chat("m", 0..4), &[]));
        assert_eq!(tab.then("one", &sealed.id).await, ["m0", "m1", "m2", "m3"]);
        assert_eq!(tab.all("one").await[0], sealed);
        let one = row(&tab, "one").await;
        assert_eq!((one.boundary, one.commit.as_deref()), (None, Some("c1")));
        let two = row(&tab, "two").await;
        assert_eq!((two.title.as_deref(), two.parent, two.remote.as_deref()), (Some("Title"), Some(sid("one")), Some("reserved:two")));
        assert!(two.boundary.is_some() && two.head.is_none() && two.run.is_none() && two.commit.is_none());
        assert_eq!(active(&kit.tab().await).await.as_deref(), Some("two"));
        assert!(tab.load("two").await.is_none());
        tab.clean().await;
    }

    /// A-08, A-14, B1: what follows in the new session, or in the old one, changes no boundary.
    async fn a_sealed_boundary_never_changes(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.ask("one", "u1", "a1").await;
        next(&tab, "two").await;
        let sealed = boundaries(&tab, "one").await.remove(0);
        let held = tab.at("one", &sealed.id).await;
        tab.ask("two", "u2", "a2").await;
        next(&tab, "three").await;
        tab.ask("three", "u3", "a3").await;
        // The old one goes on.
        tab.load("one").await;
        tab.ask("one", "u4", "a4").await;
        tab.to("one", "u1").await.unwrap();
        tab.undo("one").await.unwrap();
        tab.answer_again("one", "u1", "b1").await;
        assert_eq!(tab.all("one").await.iter().filter(|cp| cp.id == sealed.id).collect::<Vec<_>>(), [&sealed]);
        assert_eq!(tab.at("one", &sealed.id).await, held);
        for delete in [&sealed.id, &boundaries(&tab, "two").await[0].id] {
            let session = if *delete == sealed.id { "one" } else { "two" };
            assert_eq!(code(tab.delete(session, delete).await), Code::Protected);
        }
        tab.engine.prune(sid("one"), 1).await.unwrap();
        assert_eq!(boundaries(&tab, "one").await, std::slice::from_ref(&sealed));
        assert_eq!(tab.at("one", &sealed.id).await, held);
        // Gone on with, it gets a boundary of its own beside the sealed one.
        let open = row(&tab, "one").await.boundary.unwrap();
        assert!(open != sealed.id);
        let again = tab.engine.new_session(sid("four"), None, Some(sid("one")), None, None).await.unwrap();
        assert_eq!(again.sealed.as_ref().map(|cp| &cp.id), Some(&open));
        let both = boundaries(&tab, "one").await;
        assert_eq!(both, [sealed.clone(), again.sealed.unwrap()]);
        assert_eq!((tab.at("one", &sealed.id).await, tab.then("one", &open).await), (held, vec!["u1".to_owned(), "b1".to_owned()]));
        assert_eq!(both[1].name.as_deref(), Some("Session 1"));
        tab.clean().await;
    }

    /// A-12, A-11: the whole of a session comes back from its boundary, also into one that has been emptied.
    async fn a_session_is_restored_from_its_boundary(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.begin_as("one", asking("r", "p"), showing(&[], &[("targets", "[1]")]), meta()).await.unwrap();
        tab.end("one", "r", &chat("m", 0..4)).await.unwrap();
        next(&tab, "two").await;
        tab.load("one").await;
        let sealed = boundaries(&tab, "one").await.remove(0);
        tab.write("one", super::kit::whole(&[], &[]), Metadata { allow_empty: true, ..meta() }).await.unwrap();
        tab.write("one", showing(&[], &[]), meta()).await.unwrap();
        let restored = tab.rollback("one", &sealed.id).await.unwrap();
        assert_eq!(restored.target.as_ref(), Some(&sealed.id));
        assert_eq!(tab.live("one").await, shot(&chat("m", 0..4), &[]));
        assert_eq!(tab.ui("one").await, plain(&[("targets", "[1]")]));
        tab.undo("one").await.unwrap();
        assert!(tab.now("one").await.is_empty());
        tab.clean().await;
    }

    async fn a_seal_is_no_step_of_undo(kit) {
        let tab = kit.tab().await;
        tab.ask("one", "u1", "a1").await;
        tab.ask("one", "u2", "a2").await;
        tab.undo("one").await.unwrap();
        tab.engine.new_session(sid("two"), None, Some(sid("one")), None, None).await.unwrap();
        tab.load("one").await;
        tab.redo("one").await.unwrap();
        assert_eq!(tab.now("one").await.len(), 4);
        tab.undo("one").await.unwrap();
        tab.undo("one").await.unwrap();
        assert!(tab.now("one").await.is_empty());
        tab.clean().await;
    }

    /// A-13: whoever opens another conversation may leave a reference of the files behind.
    async fn an_older_session_is_opened_and_goes_on(kit) {
        let tab = kit.tab().await;
        for id in ["one", "two"] {
            next(&tab, id).await;
            tab.ask(id, "u", "a").await;
        }
        tab.heard();
        assert_eq!(tab.engine.open_session(&sid("one"), Some("c2")).await.unwrap(), Some(sid("two")));
        assert!(matches!(&tab.heard()[..], [Event::Changed { session, .. }] if *session == sid("one")));
        assert_eq!((active(&tab).await.as_deref(), row(&tab, "two").await.commit.as_deref()), (Some("one"), Some("c2")));
        assert_eq!(row(&tab, "one").await.commit, None);
        // Nothing of a history moves by it, so nobody is late.
        tab.ask("two", "u2", "a2").await;
        tab.load("one").await;
        tab.ask("one", "u2", "a2").await;
        let before = kit.dump().await;
        assert_eq!(tab.engine.open_session(&sid("one"), Some("c3")).await.unwrap(), Some(sid("one")));
        assert_eq!(code(tab.engine.open_session(&sid("nobody"), None).await), Code::UnknownSession);
        assert_eq!(code(tab.engine.open_session(&sid("two"), Some(&"c".repeat(501))).await), Code::TooLarge);
        assert_eq!(kit.dump().await, before);
        let opened = next(&tab, "three").await;
        assert_eq!((opened.previous, opened.number), (Some(sid("one")), 3));
        assert_eq!(tab.engine.open_session(&sid("two"), None).await.unwrap(), Some(sid("three")));
        let sealed = tab.engine.new_session(sid("four"), None, None, None, None).await.unwrap().sealed.unwrap();
        assert_eq!((sealed.session, sealed.commit.as_deref(), sealed.name.as_deref()), (sid("two"), Some("c2"), Some("Session 2")));
        tab.clean().await;
    }

    /// A-07, A-08: where the history lists sessions only, their prompts go when they are sealed, and boundaries stay.
    async fn prompts_go_with_the_seal_where_only_sessions_are_kept(kit) {
        let tab = forgetful(&kit).await;
        next(&tab, "one").await;
        tab.ask("one", "u1", "a1").await;
        let pinned = tab.ask("one", "u2", "a2").await;
        tab.engine.pin(&sid("one"), &pinned.id, true).await.unwrap();
        let opened = next(&tab, "two").await;
        let sealed = opened.sealed.unwrap();
        assert_eq!(opened.pruned, 5);
        assert_eq!(tab.ids("one").await, [sealed.id.to_string(), pinned.id.to_string()]);
        assert_eq!(tab.at("one", &sealed.id).await, shot(&[user("u1"), assistant("a1"), user("u2"), assistant("a2")], &[]));
        // It goes on, and keeps its boundary when it is sealed again.
        tab.load("one").await;
        tab.ask("one", "u3", "a3").await;
        let again = tab.engine.new_session(sid("three"), None, Some(sid("one")), None, None).await.unwrap().sealed.unwrap();
        assert_eq!(tab.ids("one").await, [again.id.to_string(), sealed.id.to_string(), pinned.id.to_string()]);
        tab.clean().await;
        assert_eq!(tab.at("one", &sealed.id).await.messages.len(), 4);
        // A message whose prompt is gone still goes back, alone.
        tab.load("one").await;
        assert_eq!(tab.to("one", "u3").await.unwrap().target, None);
        assert_eq!(tab.now("one").await, ["u1", "a1", "u2", "a2"]);
        tab.clean().await;
    }

    async fn prompts_stay_when_a_session_is_sealed(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.ask("one", "u1", "a1").await;
        let before = tab.ids("one").await;
        next(&tab, "two").await;
        assert_eq!(tab.ids("one").await[1..], before);
        tab.load("one").await;
        assert!(tab.to("one", "u1").await.unwrap().target.is_some());
        tab.clean().await;
    }

    /// A-10: a reserved id stands for none until the agent has made its session.
    async fn the_agents_own_session_is_remembered(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.engine.set_remote(&sid("one"), Some("agent 7")).await.unwrap();
        assert_eq!(row(&kit.tab().await, "one").await.remote.as_deref(), Some("agent 7"));
        // It is no change of what the session holds.
        tab.ask("one", "u1", "a1").await;
        assert_eq!(row(&tab, "one").await.remote.as_deref(), Some("agent 7"));
        assert_eq!(code(tab.engine.set_remote(&sid("one"), Some(&"x".repeat(501))).await), Code::TooLarge);
        assert_eq!(code(tab.engine.set_remote(&sid("nobody"), None).await), Code::UnknownSession);
        tab.engine.set_remote(&sid("one"), None).await.unwrap();
        assert_eq!(row(&tab, "one").await.remote, None);
        assert_eq!(row(&tab, "one").await.boundary, tab.engine.sessions().await.unwrap()[0].boundary);
    }

    async fn a_session_that_was_no_conversation_is_sealed_as_one(kit) {
        let tab = kit.tab().await;
        tab.put("plain", &[user("a")], &[]).await.unwrap();
        assert_eq!((active(&tab).await, row(&tab, "plain").await.number), (None, 0));
        let opened = tab.engine.new_session(sid("one"), None, Some(sid("plain")), None, None).await.unwrap();
        let sealed = opened.sealed.unwrap();
        assert_eq!((sealed.name.as_deref(), opened.number), (Some("Session 1"), 2));
        assert_eq!(row(&tab, "one").await.parent, Some(sid("plain")));
        tab.engine.set_title(&sid("one"), Some("My chat".to_owned())).await.unwrap();
        tab.begin("one", "r", "p").await.unwrap();
        tab.end("one", "r", &[]).await.unwrap();
        let sealed = next(&tab, "two").await.sealed.unwrap();
        assert_eq!((sealed.session, sealed.name.as_deref()), (sid("one"), Some("My chat")));
        for (id, from, expected) in [("two", None, Code::AlreadyExists), ("plain", None, Code::AlreadyExists), ("x", Some(sid("nobody")), Code::UnknownSession)] {
            assert_eq!(code(tab.engine.new_session(sid(id), None, from, None, None).await), expected);
        }
        assert_eq!(code(tab.engine.new_session(sid("x"), Some("x".repeat(501)), None, None, None).await), Code::TooLarge);
        assert_eq!(code(tab.engine.new_session(sid("x"), None, None, Some("x".repeat(501)), None).await), Code::TooLarge);
        tab.clean().await;
    }

    /// An empty one leaves no boundary behind: there is nothing to go back to.
    async fn an_empty_session_is_not_sealed(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        let opened = next(&tab, "two").await;
        assert_eq!((opened.sealed.is_none(), opened.number, opened.previous), (true, 2, Some(sid("one"))));
        assert!(tab.all("one").await.is_empty());
        tab.ask("one", "u1", "a1").await;
        tab.clean().await;
    }

    async fn the_owner_of_a_run_may_begin_a_session_and_ends_it_by_that(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.begin("one", "r", "p").await.unwrap();
        tab.go("one", "r", &[user("u1")]).await.unwrap();
        tab.grow("one", 0, &addition("r", (0, 0), "half")).await.unwrap();
        assert_eq!(code(tab.engine.new_session(sid("two"), None, None, None, None).await), Code::ActiveRun);
        // Looking at another one disturbs nobody.
        tab.put("plain", &[user("a")], &[]).await.unwrap();
        tab.engine.open_session(&sid("plain"), None).await.unwrap();
        tab.engine.open_session(&sid("one"), None).await.unwrap();
        tab.heard();
        let opened = tab.engine.new_session(sid("two"), None, None, None, Some(run("r"))).await.unwrap();
        assert_eq!(tab.then("one", &opened.sealed.unwrap().id).await, ["u1"]);
        assert_eq!((tab.running("one").await, kit.rows(Store::Streams).await.len()), (None, 0));
        assert_eq!(tab.runs_heard(), ["r ended in one"]);
        tab.load("one").await;
        tab.restore_by("one", Target::Undo, None).await.unwrap();
        tab.clean().await;
    }

    async fn deleting_the_active_session_makes_the_one_before_it_active(kit) {
        let tab = kit.tab().await;
        for id in ["one", "two", "three"] {
            next(&tab, id).await;
            tab.ask(id, "u", "a").await;
        }
        tab.engine.open_session(&sid("one"), None).await.unwrap();
        for expected in ["three", "two"] {
            let id = active(&tab).await.unwrap();
            tab.engine.delete_session(&sid(&id)).await.unwrap();
            assert_eq!(active(&tab).await.as_deref(), Some(expected));
        }
        tab.engine.delete_session(&sid("two")).await.unwrap();
        assert_eq!(active(&tab).await, None);
        assert_eq!(kit.rows(Store::Checkpoints).await.len(), 0);
        let again = next(&tab, "one").await;
        assert_eq!((again.previous, again.number), (None, 1));
        tab.clean().await;
    }

    /// A-38: conversations of one scope are no other's.
    async fn each_scope_has_its_own_conversations(kit) {
        let (a, b) = (kit.tab_of("a", Retention::default()).await, kit.tab_of("b", Retention::default()).await);
        for tab in [&a, &b] {
            assert_eq!(next(tab, "one").await.number, 1);
            tab.ask("one", "u1", "a1").await;
        }
        assert_eq!(next(&a, "two").await.previous, Some(sid("one")));
        assert_eq!((active(&a).await.as_deref(), active(&b).await.as_deref()), (Some("two"), Some("one")));
        assert!(boundaries(&b, "one").await.is_empty());
        assert_eq!(code(b.engine.open_session(&sid("two"), None).await), Code::UnknownSession);
        a.load("one").await;
        a.to("one", "u1").await.unwrap();
        assert_eq!(b.now("one").await, ["u1", "a1"]);
        a.engine.delete_session(&sid("one")).await.unwrap();
        assert_eq!(b.ask("one", "u2", "a2").await.name.as_deref(), Some("Prompt 2"));
        b.clean().await;
    }

    /// Which session is active is a matter of the database, not of the bundle.
    async fn sealed_sessions_travel_and_are_not_active_where_they_arrive(kit) {
        let tab = kit.tab().await;
        next(&tab, "one").await;
        tab.ask("one", "u1", "a1").await;
        next(&tab, "two").await;
        let text = crate::backend::text(&tab.engine.export(None).await.unwrap());
        let there = Kit::fresh().await;
        let late = there.tab().await;
        late.engine.import(&crate::backend::bundle(&text).unwrap(), turnmark::plan::bundle::OnExisting::Error).await.unwrap();
        assert_eq!(active(&late).await, None);
        let sealed = boundaries(&late, "one").await.remove(0);
        assert_eq!(code(late.delete("one", &sealed.id).await), Code::Protected);
        assert_eq!((row(&late, "one").await.number, row(&late, "two").await.parent), (1, Some(sid("one"))));
        assert_eq!(late.engine.open_session(&sid("one"), None).await.unwrap(), None);
        assert_eq!(next(&late, "three").await.number, 3);
        late.clean().await;
        // Two tabs that begin one each agree on which is the newer.
        let (x, y) = (there.tab().await, there.tab().await);
        next(&x, "x").await;
        assert_eq!(next(&y, "y").await.previous, Some(sid("x")));
        assert_eq!((active(&x).await, active(&y).await), (Some("y".to_owned()), Some("y".to_owned())));
        x.write("x", more(&[user("late")]), meta()).await.unwrap();
        x.clean().await;
    }
}
