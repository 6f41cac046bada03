//! Whole states and appended messages.

use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::checkpoint::{Action, Kind, Source, Usage};
use turnmark::plan::change::Change;
use turnmark::plan::parts::MAX_NAME;
use turnmark::plan::write::Metadata;

use super::kit::{Msg, assistant, body, chat, code, meta, more, named, shot, sid, text, unlisted, user, whole};

contract! {
    /// P-02
    async fn a_put_resolves_to_its_checkpoint_and_the_newest_is_what_was_put(kit) {
        let tab = kit.tab().await;
        let messages = [user("hello"), assistant("hi")];
        let first = tab.put("s", &messages, &[("plan", "1")]).await.unwrap();
        assert_eq!((first.seq, first.parent.clone(), first.kind, first.source), (0, None, Kind::TurnAfter, Source::Message));
        assert_eq!(first.operation.action, Action::Put);
        assert_eq!(first.state.spans.count(), 2);
        assert_eq!(tab.live("s").await, shot(&messages, &[("plan", "1")]));
        let second = tab.put("s", &messages, &[("plan", "2"), ("todo", "[]")]).await.unwrap();
        assert_eq!((second.seq, second.parent), (1, Some(first.id.clone())));
        assert_eq!(tab.live("s").await, shot(&messages, &[("plan", "2"), ("todo", "[]")]));
        assert_eq!(tab.at("s", &first.id).await, shot(&messages, &[("plan", "1")]));
        tab.clean().await;
    }

    /// P-10, R2
    async fn a_write_announces_the_whole_checkpoint_and_then_the_change(kit) {
        let tab = kit.tab().await;
        let written = tab.put("s", &[user("hello")], &[]).await.unwrap();
        let heard = tab.heard();
        let [Event::Created(checkpoint), Event::Changed { session, reason }] = heard.as_slice() else { panic!("{heard:?}") };
        assert_eq!((&**checkpoint, session, *reason), (&written, &sid("s"), "write"));
    }

    /// P-02, and ggml-org/llama.cpp#18115: an edit in place takes nothing below it away.
    async fn a_put_may_edit_move_repeat_insert_and_drop_messages_anywhere(kit) {
        let tab = kit.tab().await;
        let base = chat("m", 0..12);
        let mut edited = base.clone();
        edited[5] = edited[5].clone().saying("another text");
        let mut moved = base.clone();
        let taken = moved.remove(2);
        moved.insert(9, taken);
        let mut inserted = base.clone();
        inserted.insert(4, user("between"));
        let reversed: Vec<Msg> = base.iter().rev().cloned().collect();
        let repeated: Vec<Msg> = base.iter().chain(&base).chain(&base[3..5]).cloned().collect();
        let states = [base.clone(), edited, moved, inserted, reversed, repeated, base[..3].to_vec(), base[6..].to_vec(), chat("n", 0..2), base];
        let mut written = Vec::new();
        for state in &states {
            written.push(tab.put("s", state, &[]).await.unwrap());
            assert_eq!(tab.live("s").await, shot(state, &[]));
        }
        for (checkpoint, state) in written.iter().zip(&states) {
            assert_eq!(checkpoint.state.spans.count() as usize, state.len());
            assert_eq!(tab.at("s", &checkpoint.id).await, shot(state, &[]));
        }
        tab.clean().await;
    }

    /// A message that is the same object in JavaScript may still have changed: identity is not trusted.
    async fn a_put_notices_a_message_that_kept_its_id_and_changed_its_text(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a"), assistant("b")], &[]).await.unwrap();
        let changed = [user("a"), assistant("b").saying("longer now")];
        tab.put("s", &changed, &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&changed, &[]));
    }

    /// vercel/ai#18457: what was said before is neither written nor shown twice.
    async fn a_put_writes_only_what_is_new(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..40);
        tab.put("s", &messages[..39], &[("plan", "1")]).await.unwrap();
        tab.counted();
        tab.put("s", &messages, &[("plan", "1")]).await.unwrap();
        // The message's row, the header, the head.
        assert_eq!(tab.counted().puts, 3);
        tab.put("s", &messages, &[("plan", "1")]).await.unwrap();
        assert_eq!(tab.counted().puts, 2);
        assert_eq!(tab.live("s").await.messages.len(), 40);
    }

    async fn messages_that_only_moved_are_not_written_again(kit) {
        let tab = kit.tab().await;
        let mut messages = chat("m", 0..10);
        tab.put("s", &messages, &[]).await.unwrap();
        messages.swap(2, 7);
        tab.counted();
        tab.put("s", &messages, &[]).await.unwrap();
        assert_eq!(tab.counted().puts, 2);
    }

    /// P-02
    async fn an_append_adds_to_the_live_state_and_may_change_channels(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[("keep", "1"), ("set", "1"), ("drop", "1")]).await.unwrap();
        let change = Change::Append {
            keep: None,
            messages: vec![assistant("b").incoming(), user("c").incoming()],
            set: named(&[("set", "2"), ("new", "1")]),
            remove: vec!["drop".to_owned(), "never was".to_owned()],
            ui: None,
        };
        let saved = tab.write("s", change, meta()).await.unwrap();
        assert_eq!((saved.checkpoint.operation.action, saved.checkpoint.operation.before), (Action::Append, Some(0)));
        let expected = shot(&[user("a"), assistant("b"), user("c")], &[("keep", "1"), ("new", "1"), ("set", "2")]);
        assert_eq!(tab.live("s").await, expected);
        tab.clean().await;
    }

    async fn an_append_creates_a_session_that_does_not_exist(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[]));
    }

    async fn the_same_message_may_be_appended_twice(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a"), user("a")]).await.unwrap();
        tab.append("s", &[user("a")]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a"), user("a"), user("a")], &[]));
        tab.clean().await;
    }

    async fn an_append_of_nothing_is_a_checkpoint_all_the_same(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[("x", "1")]).await.unwrap();
        let again = tab.append("s", &[]).await.unwrap();
        assert_eq!(again.seq, 1);
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[("x", "1")]));
    }

    /// P-02
    async fn a_state_without_a_message_list_is_not_one_with_an_empty_list(kit) {
        let tab = kit.tab().await;
        tab.write("none", unlisted(&[("step", "1")]), meta()).await.unwrap();
        tab.write("empty", whole(&[], &[("step", "1")]), meta()).await.unwrap();
        assert!(!tab.live("none").await.listed);
        assert!(tab.live("empty").await.listed);
        tab.append("none", &[user("a")]).await.unwrap();
        assert!(tab.live("none").await.listed);
    }

    async fn a_channel_may_have_any_name_a_text_can_be(kit) {
        let tab = kit.tab().await;
        let names = ["", "__proto__", "constructor", "a\u{0}b", "\u{1F600}", "\u{FFFF}", "messages", "é"];
        let channels: Vec<(&str, &str)> = names.iter().map(|name| (*name, "1")).collect();
        tab.put("s", &[], &channels).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[], &channels));
        tab.clean().await;
    }

    async fn equal_values_of_channels_are_stored_once(kit) {
        let tab = kit.tab().await;
        let long = "x".repeat(1000);
        tab.put("s", &[], &[("a", &long), ("b", &long), ("c", &long)]).await.unwrap();
        // The tree's node and the value.
        assert_eq!(kit.rows(turnmark::codec::key::Store::Objects).await.len(), 2);
    }

    /// P-09, P-13
    async fn metadata_comes_back_as_it_was_given(kit) {
        let tab = kit.tab().await;
        let usage = Usage { total: [("input_tokens".to_owned(), 12.5)].into(), delta: [("input_tokens".to_owned(), 2.0)].into() };
        let metadata = Metadata {
            kind: Some(Kind::PromptBefore),
            writes: vec!["agent".to_owned(), "tool".to_owned()],
            name: Some("Prompt 1".to_owned()),
            usage: Some(usage.clone()),
            extra: vec![("step".to_owned(), text("1")), ("__proto__".to_owned(), text("{}"))],
            ..Metadata::of(Source::Subagent)
        };
        let saved = tab.write("s", whole(&[], &[]), metadata).await.unwrap().checkpoint;
        let read = tab.all("s").await.remove(0);
        assert_eq!(saved, read);
        assert_eq!((read.kind, read.source, read.writes.len(), read.name.as_deref()), (Kind::PromptBefore, Source::Subagent, 2, Some("Prompt 1")));
        assert_eq!((read.usage, read.extra.len()), (Some(usage), 2));
    }

    /// Requirements 6.4: the kind that a trigger stands for where the writer names none.
    async fn the_kind_follows_the_source_where_none_is_given(kit) {
        let tab = kit.tab().await;
        for (source, kind) in [
            (Source::Message, Kind::TurnAfter),
            (Source::JobComplete, Kind::TurnAfter),
            (Source::ToolExecution, Kind::Manual),
            (Source::Subagent, Kind::Manual),
            (Source::Sync, Kind::Manual),
            (Source::Manual, Kind::Manual),
            (Source::Fork, Kind::BranchPoint),
        ] {
            let saved = tab.write("s", whole(&[], &[]), Metadata::of(source)).await.unwrap();
            assert_eq!((saved.checkpoint.source, saved.checkpoint.kind), (source, kind));
        }
    }

    async fn metadata_over_a_limit_is_too_large_and_nothing_is_written(kit) {
        let tab = kit.tab().await;
        let before = kit.dump().await;
        let extra = |n: usize, size: usize| (0..n).map(|at| (format!("k{at}"), text(&"x".repeat(size)))).collect();
        let counters = |n: usize| (0..n).map(|at| (format!("counter {at}"), 1.0)).collect();
        let too_large = [
            Metadata { name: Some("x".repeat(201)), ..meta() },
            Metadata { extra: extra(1, 9000), ..meta() },
            Metadata { extra: extra(2000, 1), ..meta() },
            Metadata { writes: vec!["w".repeat(9000)], ..meta() },
            Metadata { writes: vec![String::new(); 100_000], ..meta() },
            Metadata { usage: Some(Usage { total: counters(5000), delta: counters(0) }), ..meta() },
        ];
        for metadata in too_large {
            assert_eq!(code(tab.write("s", whole(&[user("a")], &[]), metadata).await), Code::TooLarge);
        }
        let name = "n".repeat(MAX_NAME + 1);
        assert_eq!(code(tab.put("s", &[], &[(&name, "1")]).await), Code::TooLarge);
        let append = Change::Append { keep: None, messages: Vec::new(), set: vec![(name.clone(), body("1", &[]))], remove: Vec::new(), ui: None };
        assert_eq!(code(tab.write("s", append, meta()).await), Code::TooLarge);
        assert_eq!(kit.dump().await, before);
        assert!(tab.heard().is_empty());
        tab.write("s", whole(&[], &[]), Metadata { name: Some("é".repeat(200)), extra: extra(1, 8000), ..meta() }).await.unwrap();
        kit.rows_are_small().await;
    }

    /// R12
    async fn a_message_id_that_cannot_be_one_is_invalid(kit) {
        let tab = kit.tab().await;
        for id in ["", "a\u{7}b", &"x".repeat(257)] {
            let message = Msg { id: Some(id.to_owned()), ..user("a") };
            assert_eq!(code(tab.put("s", std::slice::from_ref(&message), &[]).await), Code::InvalidId);
            assert_eq!(code(tab.append("s", &[message]).await), Code::InvalidId);
        }
        let anonymous = Msg { id: None, role: None, ..user("a") };
        tab.put("s", std::slice::from_ref(&anonymous), &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[anonymous], &[]));
    }

    /// the lookup of a prompt's checkpoint compares the ordered ids of user and assistant messages, exactly.
    async fn the_history_of_a_state_is_the_order_of_its_user_and_assistant_ids(kit) {
        let tab = kit.tab().await;
        let system = |text: &str| Msg { role: Some("system".to_owned()), ..user(text) };
        let history = async |session: &str, messages: &[Msg]| tab.put(session, messages, &[]).await.unwrap().state.history;
        let plain = history("a", &[user("1"), assistant("2")]).await;
        assert_eq!(history("b", &[system("x"), user("1").saying("other"), assistant("2"), system("y")]).await, plain);
        assert_ne!(history("c", &[assistant("2"), user("1")]).await, plain);
        assert_ne!(history("d", &[user("1")]).await, plain);
        assert_ne!(history("e", &[user("12")]).await, plain);
        tab.append("d", &[assistant("2")]).await.unwrap();
        assert_eq!(tab.all("d").await[0].state.history, plain);
        // The same whether it came about by one put or by edits.
        tab.put("c", &[user("0"), user("1"), assistant("2")], &[]).await.unwrap();
        assert_eq!(history("c", &[user("1"), assistant("2")]).await, plain);
    }

    /// firebase-js-sdk#3852: order is that of the writes, whatever the clock says.
    async fn order_does_not_depend_on_the_clock(kit) {
        let tab = kit.tab().await;
        let mut written = Vec::new();
        for now in [5000, 1000, 9000, 0, 4000] {
            kit.clock.set(now);
            let saved = tab.append("s", &[user(&now.to_string())]).await.unwrap();
            assert_eq!(saved.at, now);
            written.insert(0, saved.id.to_string());
        }
        assert_eq!(tab.ids("s").await, written);
        assert_eq!(tab.live("s").await.messages.len(), 5);
    }

    /// electric-sql/pglite#858: places do not depend on anything cached.
    async fn checkpoints_are_numbered_without_gaps_across_tabs_and_reloads(kit) {
        for at in 0..6 {
            let tab = kit.tab().await;
            tab.load("s").await;
            assert_eq!(tab.append("s", &[user(&at.to_string())]).await.unwrap().seq, at);
        }
    }

    /// P-13: every operation counts in the vector of its device.
    async fn the_version_vector_counts_the_operations_of_a_device(kit) {
        let tab = kit.tab().await;
        let device = tab.engine.device().clone();
        for n in 1..=3 {
            let saved = tab.append("s", &[user(&n.to_string())]).await.unwrap();
            assert_eq!(saved.vector, [(device.clone(), n)].into());
        }
        assert_eq!(kit.tab().await.engine.device(), &device);
    }

    /// open-webui#6172: what has arrived of an answer is kept while it streams, and leaves no trace when it is whole.
    async fn a_provisional_checkpoint_is_replaced_by_the_next_write(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a")], &[]).await.unwrap();
        let stage = |text: &str| whole(&[user("a"), assistant("b").saying(text)], &[]);
        let mut last = None;
        for text in ["t", "to", "to b", "to be"] {
            let saved = tab.write("s", stage(text), Metadata { provisional: true, ..meta() }).await.unwrap().checkpoint;
            assert_eq!((saved.provisional, saved.parent.as_ref()), (true, Some(&first.id)));
            last = Some(saved);
        }
        assert_eq!(tab.all("s").await.len(), 2);
        assert_eq!(tab.engine.status().await.unwrap().unfinished.len(), 1);
        let whole = tab.write("s", stage("to be or not"), meta()).await.unwrap().checkpoint;
        assert_eq!((whole.provisional, whole.parent.as_ref(), whole.operation.before), (false, Some(&first.id), Some(0)));
        assert_eq!(tab.ids("s").await, [whole.id.to_string(), first.id.to_string()]);
        assert!(tab.engine.load(&sid("s"), Some(&last.unwrap().id)).await.unwrap().is_none());
        assert_eq!(tab.engine.status().await.unwrap().unfinished, []);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[]));
        tab.clean().await;
    }

    async fn a_provisional_checkpoint_that_something_holds_on_to_stays(kit) {
        let tab = kit.tab().await;
        let provisional = || Metadata { provisional: true, ..meta() };
        let pinned = tab.write("s", more(&[user("a")]), provisional()).await.unwrap().checkpoint;
        tab.engine.pin(&sid("s"), &pinned.id, true).await.unwrap();
        let forked = tab.write("s", more(&[user("b")]), provisional()).await.unwrap().checkpoint;
        tab.fork("s", &forked.id, "f").await.unwrap();
        let pending = tab.write("s", more(&[user("c")]), provisional()).await.unwrap().checkpoint;
        tab.put_writes("s", "task", &[("x", "1")]).await.unwrap();
        let last = tab.append("s", &[user("d")]).await.unwrap();
        let expected = [last.id, pending.id, forked.id, pinned.id].map(|id| id.to_string());
        assert_eq!(tab.ids("s").await, expected);
        assert_eq!(tab.live("s").await, shot(&[user("a"), user("b"), user("c"), user("d")], &[]));
        tab.sound().await;
    }

    async fn a_title_is_kept_and_makes_a_session_but_no_checkpoint(kit) {
        let tab = kit.tab().await;
        tab.engine.set_title(&sid("s"), Some("My chat".to_owned())).await.unwrap();
        let session = tab.engine.session(&sid("s")).await.unwrap().unwrap();
        assert_eq!((session.title.as_deref(), session.checkpoints, session.head), (Some("My chat"), 0, None));
        assert!(tab.load("s").await.is_none());
        // A session of which there is only a title has nothing that must be read first.
        tab.append("s", &[user("a")]).await.unwrap();
        tab.engine.set_title(&sid("s"), None).await.unwrap();
        assert_eq!(tab.engine.session(&sid("s")).await.unwrap().unwrap().title, None);
        assert_eq!(code(tab.engine.set_title(&sid("s"), Some("x".repeat(501))).await), Code::TooLarge);
        tab.append("s", &[user("b")]).await.unwrap();
        tab.clean().await;
    }

    async fn a_writer_that_saw_no_session_is_first_even_if_it_has_got_a_title_since(kit) {
        let tab = kit.tab().await;
        tab.engine.set_title(&sid("s"), Some("My chat".to_owned())).await.unwrap();
        tab.engine.write(sid("s"), more(&[user("a")]), meta(), Some(0)).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("a")], &[]));
    }
}
