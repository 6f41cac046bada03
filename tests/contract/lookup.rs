//! The way back from a message to its prompt: by exact ordered ids of users' and assistants' messages, and by nothing less.

use turnmark::error::Code;
use turnmark::model::checkpoint::Kind;
use turnmark::model::part::Part;
use turnmark::plan::bundle::OnExisting;
use turnmark::plan::write::Metadata;

use super::chat::{again, asked, asking, plain, removed, showing};
use super::kit::{Kit, Msg, Tab, assistant, chat, code, meta, more, shot, sid, user, whole};
use crate::backend;

/// Two turns, each with a picture of its own around the chat and a commit.
async fn two(tab: &Tab) {
    for n in ["1", "2"] {
        let metadata = Metadata { commit: Some(format!("commit {n}")), ..meta() };
        let around = showing(&[], &[("targets", n)]);
        tab.begin_as("s", asking(n, &format!("prompt {n}")), around, metadata).await.unwrap();
        tab.go("s", n, &[user(&format!("u{n}"))]).await.unwrap();
        tab.end("s", n, &[assistant(&format!("a{n}"))]).await.unwrap();
    }
    tab.write("s", showing(&[], &[("targets", "later")]), meta()).await.unwrap();
}

/// What a look-up finds: the checkpoint's name.
async fn found(tab: &Tab, session: &str, message: &str) -> Option<String> {
    let found = tab.engine.find_prompt(&sid(session), message).await.unwrap()?;
    let loaded = tab.engine.load(&sid(session), Some(&found.checkpoint)).await.unwrap();
    // A fork's prompts may be its source's.
    let loaded = match loaded {
        Some(loaded) => loaded,
        None => tab.engine.load(&sid("s"), Some(&found.checkpoint)).await.unwrap().unwrap(),
    };
    assert_eq!(loaded.checkpoint.commit, found.commit);
    loaded.checkpoint.name
}

contract! {
    /// A-17, A-19, A-20: what was asked goes, with all that follows; what was around it then comes back.
    async fn a_restore_to_a_message_goes_back_to_exactly_before_it(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let all = tab.live("s").await;
        let prompt = tab.engine.find_prompt(&sid("s"), "u2").await.unwrap().unwrap();
        assert_eq!(prompt.commit.as_deref(), Some("commit 2"));
        let restored = tab.to("s", "u2").await.unwrap();
        assert_eq!((restored.target.as_ref(), restored.parts.as_slice()), (Some(&prompt.checkpoint), Part::ALL));
        assert_eq!(restored.checkpoint.commit.as_deref(), Some("commit 2"));
        assert_eq!(removed(&restored), ["u2", "a2"]);
        assert_eq!(asked(&restored).as_deref(), Some("prompt 2"));
        assert_eq!(restored.prompt.as_ref().unwrap().1.as_ref().map(|turn| turn.seq), Some(2));
        assert_eq!(tab.live("s").await, shot(&[user("u1"), assistant("a1")], &[]));
        assert_eq!(tab.ui("s").await, plain(&[("targets", "2")]));
        // After a reload nothing that was removed is there.
        let late = kit.tab().await;
        assert_eq!(late.now("s").await, ["u1", "a1"]);
        assert_eq!(code(late.to("s", "u2").await), Code::InvalidArgument);
        late.undo("s").await.unwrap();
        assert_eq!(late.live("s").await, all);
        assert_eq!(late.ui("s").await, plain(&[("targets", "later")]));
        let restored = late.to("s", "u1").await.unwrap();
        assert_eq!((asked(&restored).as_deref(), removed(&restored).len()), (Some("prompt 1"), 4));
        assert!(late.now("s").await.is_empty());
        late.clean().await;
    }

    /// A-17: a user's message that exists, and only that.
    async fn only_a_message_of_the_users_that_is_live_can_be_gone_back_to(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let before = kit.dump().await;
        for message in ["a1", "a2", "nobody", "prompt 1", ""] {
            assert_eq!(code(tab.to("s", message).await), Code::InvalidArgument);
            assert_eq!(code(tab.engine.find_prompt(&sid("s"), message).await), Code::InvalidArgument);
        }
        assert_eq!(code(tab.engine.find_prompt(&sid("t"), "u1").await), Code::UnknownSession);
        assert_eq!(kit.dump().await, before);
    }

    /// A-17: never by inclusion. A history that only contains the same ids, or has them in another order, is another one.
    async fn a_prompt_after_another_history_is_no_match(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let q = || user("q");
        let histories: [&[Msg]; 5] = [
            &[assistant("a1"), user("u1"), q()],
            &[user("u1"), assistant("a1"), user("more"), q()],
            &[user("u1"), assistant("a1").saying("said otherwise"), q()],
            &[user("u1"), Msg { id: Some("a1 ".to_owned()), ..assistant("a1") }, q()],
            &[user("u1a1"), q()],
        ];
        for (messages, expected) in histories.into_iter().zip([None, None, Some("Prompt 2"), None, None]) {
            tab.put("s", messages, &[]).await.unwrap();
            assert_eq!(found(&tab, "s", "q").await.as_deref(), expected, "{messages:?}");
        }
        tab.clean().await;
    }

    /// A-17: ids count, contents and other roles do not.
    async fn messages_of_other_roles_and_other_contents_make_no_other_history(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let other = |role: &str, id: &str| Msg { role: Some(role.to_owned()), ..user(id) };
        let bare = Msg { id: None, role: Some("user".to_owned()), ..user("bare") };
        let messages = [other("system", "s"), user("u1"), other("tool", "t"), bare, assistant("a1"), other("data", "u9"), user("u2"), assistant("a2")];
        tab.put("s", &messages, &[]).await.unwrap();
        assert_eq!(found(&tab, "s", "u1").await.as_deref(), Some("Prompt 1"));
        assert_eq!(found(&tab, "s", "u2").await.as_deref(), Some("Prompt 2"));
        let restored = tab.to("s", "u2").await.unwrap();
        assert_eq!(tab.live("s").await, shot(&messages[..6], &[]));
        assert_eq!((removed(&restored), tab.ui("s").await), (vec!["u2".to_owned(), "a2".to_owned()], plain(&[("targets", "2")])));
        tab.clean().await;
    }

    /// A-17: of several prompts after one history the last one counts; what a message itself was asked with stays its own.
    async fn the_last_match_wins_and_a_message_keeps_its_own_prompt(kit) {
        let tab = kit.tab().await;
        tab.begin_as("s", asking("1", "first words"), showing(&[], &[("targets", "first")]), meta()).await.unwrap();
        tab.end("s", "1", &[user("A"), assistant("to A")]).await.unwrap();
        tab.to("s", "A").await.unwrap();
        tab.begin_as("s", asking("2", "other words"), showing(&[], &[("targets", "second")]), meta()).await.unwrap();
        tab.end("s", "2", &[user("B"), assistant("to B")]).await.unwrap();
        assert_eq!(found(&tab, "s", "B").await.as_deref(), Some("Prompt 2"));
        tab.undo("s").await.unwrap();
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["A", "to A"]);
        assert_eq!(found(&tab, "s", "A").await.as_deref(), Some("Prompt 2"));
        let restored = tab.to("s", "A").await.unwrap();
        assert_eq!(asked(&restored).as_deref(), Some("first words"));
        assert_eq!(tab.ui("s").await, plain(&[("targets", "second")]));
        tab.clean().await;
    }

    /// A-17, A-23: a message that is sent again in other words under its own id.
    async fn a_message_sent_again_under_the_same_id_keeps_its_own_words(kit) {
        let tab = kit.tab().await;
        for words in ["first words", "other words"] {
            tab.begin("s", words, words).await.unwrap();
            tab.end("s", words, &[user("A").saying(words), assistant(words)]).await.unwrap();
            if words == "first words" {
                tab.to("s", "A").await.unwrap();
            }
        }
        let restored = tab.to("s", "A").await.unwrap();
        assert_eq!(asked(&restored).as_deref(), Some("other words"));
        for _ in 0..3 {
            tab.undo("s").await.unwrap();
        }
        assert_eq!(tab.now("s").await, ["A", "first words"]);
        assert_eq!(asked(&tab.to("s", "A").await.unwrap()).as_deref(), Some("first words"));
        tab.clean().await;
    }

    /// A-18: a boundary is no prompt, though it follows the same history; nor is anything else that is none.
    async fn a_boundary_is_no_candidate(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("u1"), assistant("a1")], &[]).await.unwrap();
        tab.engine.new_session(sid("t"), None, Some(sid("s")), None, None).await.unwrap();
        tab.load("s").await;
        let metadata = |kind| Metadata { kind: Some(kind), name: Some("Prompt 1".to_owned()), ..meta() };
        for kind in [Kind::SessionBoundary, Kind::PromptBefore, Kind::Manual] {
            tab.write("s", more(&[]), metadata(kind)).await.unwrap();
        }
        tab.append("s", &[user("u2"), assistant("a2")]).await.unwrap();
        assert_eq!(found(&tab, "s", "u2").await, None);
        // The beginning of another answer is none either.
        tab.answer_again("s", "u2", "b2").await;
        assert_eq!(found(&tab, "s", "u2").await, None);
        tab.clean().await;
    }

    /// A-44: without a match only the chat goes back, and that is said.
    async fn without_a_match_only_the_messages_go_back(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        for cp in tab.all("s").await.into_iter().filter(|cp| cp.kind == Kind::PromptBefore) {
            tab.delete("s", &cp.id).await.unwrap();
        }
        tab.write("s", whole(&[user("u1"), assistant("a1"), user("u2")], &[("x", "1")]), meta()).await.unwrap();
        let restored = tab.to("s", "u2").await.unwrap();
        assert_eq!((restored.target.as_ref(), restored.parts.as_slice()), (None, &[Part::Messages][..]));
        assert!(restored.prompt.is_none() && restored.checkpoint.commit.is_none());
        assert_eq!(tab.live("s").await, shot(&[user("u1"), assistant("a1")], &[("x", "1")]));
        assert_eq!(tab.ui("s").await, plain(&[("targets", "later")]));
        // That can be undone too.
        tab.undo("s").await.unwrap();
        assert_eq!(tab.now("s").await, ["u1", "a1", "u2"]);
        tab.clean().await;
    }

    async fn a_pruned_prompt_is_no_match_and_those_that_are_left_are(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        tab.ask("s", "u3", "a3").await;
        tab.engine.prune(sid("s"), 3).await.unwrap();
        assert_eq!((found(&tab, "s", "u1").await, found(&tab, "s", "u2").await), (None, None));
        assert_eq!(found(&tab, "s", "u3").await.as_deref(), Some("Prompt 3"));
        assert_eq!(tab.versions("s", "u1").await, []);
        let restored = tab.to("s", "u1").await.unwrap();
        assert_eq!((restored.target, restored.parts), (None, vec![Part::Messages]));
        assert!(tab.now("s").await.is_empty());
        tab.clean().await;
    }

    /// A put of the same messages, whole, by a tab that compares or one that reads.
    async fn prompts_are_found_after_the_messages_were_put_whole(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let messages = [user("u1"), assistant("a1"), user("u2"), assistant("a2").saying("with a note"), user("next")];
        let late = kit.tab().await;
        for tab in [&tab, &late] {
            tab.load("s").await;
            tab.put("s", &messages, &[("x", "1")]).await.unwrap();
            assert_eq!(found(tab, "s", "u1").await.as_deref(), Some("Prompt 1"));
            assert_eq!(found(tab, "s", "u2").await.as_deref(), Some("Prompt 2"));
            assert_eq!(found(tab, "s", "next").await, None);
        }
        // A message that was put with a turn of its own.
        late.begin("s", "3", "prompt 3").await.unwrap();
        let mut more = messages.to_vec();
        more.extend([user("u3"), assistant("a3")]);
        late.step("s", "3", true, whole(&more, &[])).await.unwrap();
        let restored = late.to("s", "u3").await.unwrap();
        assert_eq!((asked(&restored).as_deref(), removed(&restored)), (Some("prompt 3"), vec!["u3".to_owned(), "a3".to_owned()]));
        late.clean().await;
    }

    /// A compacted list has other places and the same ids.
    async fn prompts_are_found_after_a_compaction(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let mut messages = vec![user("u1"), assistant("a1"), user("u2"), assistant("a2")];
        messages.extend(chat("m", 0..300));
        tab.put("s", &messages, &[]).await.unwrap();
        let mut compacted = false;
        for n in 0..80 {
            messages[n * 2 + 5] = messages[n * 2 + 5].clone().saying(&format!("edit {n}"));
            let saved = tab.write("s", whole(&messages, &[]), meta()).await.unwrap();
            compacted |= saved.upkeep.compact;
            tab.engine.upkeep(&sid("s"), saved.upkeep).await.unwrap();
        }
        assert!(compacted);
        assert_eq!(found(&tab, "s", "u1").await.as_deref(), Some("Prompt 1"));
        assert_eq!(found(&tab, "s", "u2").await.as_deref(), Some("Prompt 2"));
        let restored = tab.to("s", "u2").await.unwrap();
        assert_eq!((asked(&restored).as_deref(), removed(&restored).len()), (Some("prompt 2"), 302));
        assert_eq!(tab.now("s").await, ["u1", "a1"]);
        tab.clean().await;
    }

    /// P-15: a fork finds what was asked in its source before it was forked, and nothing that was asked later.
    async fn a_fork_finds_the_prompts_of_its_source_up_to_where_it_was_forked(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let base = tab.all("s").await.remove(0);
        tab.fork("s", &base.id, "f").await.unwrap();
        tab.to("s", "u2").await.unwrap();
        tab.ask("s", "u2 again", "a2 again").await;
        assert_eq!(found(&tab, "s", "u2 again").await.as_deref(), Some("Prompt 3"));
        for message in ["u1", "u2"] {
            assert_eq!(found(&tab, "f", message).await, Some(message.replace('u', "Prompt ")));
        }
        let restored = tab.to("f", "u2").await.unwrap();
        assert_eq!((asked(&restored).as_deref(), tab.ui("f").await), (Some("prompt 2"), plain(&[("targets", "2")])));
        // Its own count first.
        tab.ask("f", "u2 of the fork", "a").await;
        assert_eq!(found(&tab, "f", "u2 of the fork").await.as_deref(), Some("Prompt 1"));
        let newest = tab.all("f").await.remove(0);
        tab.fork("f", &newest.id, "g").await.unwrap();
        let restored = tab.to("g", "u1").await.unwrap();
        assert_eq!((asked(&restored).as_deref(), removed(&restored).len()), (Some("prompt 1"), 4));
        // Forked at the prompt itself, before its message.
        let prompt = tab.all("s").await.into_iter().find(|cp| cp.name.as_deref() == Some("Prompt 2")).unwrap();
        tab.fork("s", &prompt.id, "h").await.unwrap();
        tab.append("h", &[user("by append")]).await.unwrap();
        assert_eq!(found(&tab, "h", "by append").await.as_deref(), Some("Prompt 2"));
        tab.clean().await;
    }

    /// A-38: never across scopes, though every id is the same.
    async fn prompts_of_another_scope_are_not_found(kit) {
        let (here, there) = (kit.tab().await, kit.tab_of("other", Default::default()).await);
        two(&there).await;
        here.put("s", &[user("u1"), assistant("a1"), user("u2")], &[]).await.unwrap();
        assert_eq!((found(&here, "s", "u1").await, found(&here, "s", "u2").await), (None, None));
        here.to("s", "u1").await.unwrap();
        assert_eq!(there.now("s").await, ["u1", "a1", "u2", "a2"]);
        here.clean().await;
    }

    async fn prompts_travel_in_bundles_and_are_found_where_they_arrive(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        tab.answer_again("s", "u2", "b2").await;
        let text = backend::text(&tab.engine.export(None).await.unwrap());
        let there = Kit::fresh().await;
        let tab = there.tab().await;
        for _ in 0..2 {
            tab.engine.import(&backend::bundle(&text).unwrap(), OnExisting::Rename).await.unwrap();
        }
        for session in tab.engine.sessions().await.unwrap() {
            let session = session.id.as_str();
            tab.load(session).await;
            assert_eq!(tab.versions(session, "u2").await.len(), 2);
            let restored = tab.to(session, "u2").await.unwrap();
            assert_eq!((asked(&restored).as_deref(), tab.ui(session).await), (Some("prompt 2"), plain(&[("targets", "2")])));
        }
        tab.clean().await;
    }

    /// R8: a prompt is kept for as long as its checkpoint, and goes with it.
    async fn prompts_survive_collection_and_go_with_their_checkpoint(kit) {
        let tab = kit.tab().await;
        let long = "long ".repeat(20_000);
        let prompt = tab.begin("s", "1", &long).await.unwrap();
        tab.end("s", "1", &[user("u1"), assistant("a1")]).await.unwrap();
        let objects = async || kit.rows(turnmark::codec::key::Store::Objects).await.len();
        let before = objects().await;
        assert!(before > 1);
        tab.clean().await;
        assert_eq!((objects().await, tab.prompt("s", &prompt.id).await), (before, Some(long)));
        kit.rows_are_small().await;
        tab.delete("s", &prompt.id).await.unwrap();
        assert_eq!(objects().await, 0);
        tab.clean().await;
    }

    /// Nothing of another answer is found as a prompt: `Prompt N` counts what was asked.
    async fn another_answer_is_no_other_prompt(kit) {
        let tab = kit.tab().await;
        two(&tab).await;
        let begun = tab.begin_as("s", again("r", "u1"), more(&[]), meta()).await.unwrap().saved.checkpoint;
        assert_eq!((begun.name.as_deref(), begun.kind), (Some("Prompt 1"), Kind::PromptBefore));
        tab.end("s", "r", &[assistant("b1")]).await.unwrap();
        let restored = tab.to("s", "u1").await.unwrap();
        assert_eq!(asked(&restored).as_deref(), Some("prompt 1"));
        assert_eq!(tab.ask("s", "u3", "a3").await.name.as_deref(), Some("Prompt 3"));
        tab.clean().await;
    }
}
