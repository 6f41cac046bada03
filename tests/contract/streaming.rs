//! A message that is still being written: after a crash exactly what was saved of it is there, and nothing of another.

use turnmark::codec::key::{Key, Store};
use turnmark::codec::row::{MAX_TEXT, Row};
use turnmark::error::Code;
use turnmark::model::body::{Text, cut};
use turnmark::model::checkpoint::{Action, Kind};
use turnmark::plan::bundle::OnExisting;

use super::chat::{addition, difference, run};
use super::kit::{Kit, Msg, T, Tab, assistant, code, more, shot, sid, text, user};
use crate::backend;

/// A turn whose answer is being written.
async fn started(kit: &Kit) -> Tab {
    let tab = kit.tab().await;
    tab.begin("s", "r", "p").await.unwrap();
    tab.go("s", "r", &[user("u1")]).await.unwrap();
    tab
}

/// The growing message as its last row says it is.
fn growing(content: &str) -> Msg {
    assistant("growing").saying(content)
}

/// Saves the first text anew, and each further one by what it adds.
async fn grow(tab: &Tab, texts: &[&str]) {
    let mut before = "";
    for (n, new) in (0..).zip(texts) {
        let (kept, between) = difference(before, new);
        tab.grow("s", n, &addition("r", kept, &between)).await.unwrap();
        assert_eq!(tab.grown("s").await.as_deref(), Some(*new));
        before = new;
    }
}

contract! {
    /// E-34: at every moment what was saved is what there is, in any script and also where the middle changes.
    async fn a_growing_message_is_read_back_exactly_at_every_moment(kit) {
        let tab = started(&kit).await;
        assert_eq!(tab.grown("s").await, None);
        let encoded = |content: &str| growing(content).encoded();
        let grown: Vec<String> = ["", "H", "He", "Hell\u{f6}", "Hell\u{f6} \u{1F600}", "Hell\u{f6} \u{1F601}", "Hell\u{f6} \u{1F601}\u{1F600}\u{1D11E}", "\u{416}", "\u{416}!\u{1F600}!", "!", ""]
            .iter()
            .map(|content| encoded(content))
            .collect();
        grow(&tab, &grown.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // Another tab, or this one after a crash, reads the same.
        let late = kit.tab().await;
        assert_eq!(late.grown("s").await.as_deref(), Some(grown[10].as_str()));
        let loaded = late.engine.load(&sid("s"), None).await.unwrap().unwrap();
        let (of, message) = loaded.run.unwrap();
        let message = message.unwrap();
        assert_eq!((of.id, message.id, message.role), (run("r"), Some(text("growing")), Some(text("assistant"))));
        assert_eq!(late.now("s").await, ["u1"]);
        late.clean().await;
    }

    async fn a_growing_message_can_begin_anew(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["one", "one two", "one two three"]).await;
        grow(&tab, &["four"]).await;
        assert_eq!(kit.rows(Store::Streams).await.len(), 1);
        grow(&tab, &["", "five"]).await;
        tab.clean().await;
    }

    /// R1: however long an addition is, its rows stay small and a save costs what is new.
    async fn long_additions_are_cut_and_a_save_costs_what_is_new(kit) {
        let tab = started(&kit).await;
        let pieces: Vec<String> = ["x", "\u{416}", "\u{1F600}", "x\u{1F600}"].iter().map(|letter| letter.repeat(30_000)).collect();
        let mut texts = vec!["[]".to_owned()];
        for n in 0..pieces.len() {
            texts.push(format!("[{}]", pieces[..=n].concat()));
        }
        grow(&tab, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
        kit.rows_are_small().await;
        let rows = kit.rows(Store::Streams).await;
        assert!(rows.len() > pieces.len() + 4, "{}", rows.len());
        // Saved at the length of 270 KB as at any other: no row but its own.
        let whole = texts.last().unwrap();
        let units = whole.encode_utf16().count();
        tab.counted();
        tab.grow("s", 5, &addition("r", (units - 1, 1), "more")).await.unwrap();
        let counts = tab.counted();
        assert_eq!((counts.puts, counts.deletes), (1, 0));
        assert!(counts.bytes < 300 && counts.requests <= 1, "{counts:?}");
        assert_eq!(tab.grown("s").await, Some(format!("{}more]", &whole[..whole.len() - 1])));
        tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
        let loaded = tab.engine.load(&sid("s"), None).await.unwrap().unwrap();
        assert_eq!(loaded.contents.messages[1].text.utf8(), format!("{}more]", &whole[..whole.len() - 1]));
        tab.clean().await;
    }

    async fn only_the_run_of_the_session_can_add(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["mine"]).await;
        tab.put("idle", &[user("a")], &[]).await.unwrap();
        let before = kit.dump().await;
        for n in [0, 1] {
            assert_eq!(code(tab.grow("s", n, &addition("other", (0, 0), "not mine")).await), Code::Conflict);
            assert_eq!(code(tab.grow("idle", n, &addition("r", (0, 0), "not mine")).await), Code::Conflict);
            assert_eq!(code(tab.grow("nobody", n, &addition("r", (0, 0), "not mine")).await), Code::UnknownSession);
        }
        let nameless = turnmark::codec::row::Stream { id: Some(text("")), ..addition("r", (0, 0), "x") };
        assert_eq!(code(tab.grow("s", 1, &nameless).await), Code::InvalidId);
        assert_eq!(kit.dump().await, before);
        tab.heard();
        tab.grow("s", 1, &addition("r", (4, 0), "!")).await.unwrap();
        assert!(matches!(&tab.heard()[..], [turnmark::engine::Event::Streamed(session, id)] if *session == sid("s") && *id == run("r")));
    }

    /// What another writer left behind is never read as part of this one's.
    async fn rows_of_an_older_run_never_mix_in(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["old", "old and long", "old and longer"]).await;
        let old: Vec<_> = kit.rows(Store::Streams).await;
        tab.end("s", "r", &[assistant("a1")]).await.unwrap();
        tab.begin("s", "q", "p").await.unwrap();
        // As if a deletion had not reached them.
        for (key, row) in &old {
            kit.tamper(key, Some((**row).clone())).await;
        }
        assert_eq!(tab.grown("s").await, None);
        tab.grow("s", 0, &addition("q", (0, 0), "new")).await.unwrap();
        for (key, row) in &old[1..] {
            kit.tamper(key, Some((**row).clone())).await;
        }
        assert_eq!(tab.grown("s").await.as_deref(), Some("new"));
        tab.sound().await;
        tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
        assert_eq!(kit.rows(Store::Streams).await.len(), 0);
        tab.clean().await;
    }

    /// A row that is missing, is of another message or fits nowhere ends what can be told: what was before it counts.
    async fn damage_leaves_what_was_whole_before_it(kit) {
        drop(kit);
        let texts = ["(a)", "(a]", "(ab]", "(ab}", "(abc}"];
        for hole in 0..texts.len() {
            for spoilt in [false, true] {
                let kit = Kit::fresh().await;
                let tab = started(&kit).await;
                grow(&tab, &texts).await;
                let key = kit.rows(Store::Streams).await[hole].0.clone();
                if spoilt {
                    kit.spoil(&key, |row| {
                        let Row::Stream(row) = row else { panic!("it is an addition") };
                        row.head = 99;
                    })
                    .await;
                } else {
                    kit.tamper(&key, None).await;
                }
                let left = hole.checked_sub(1).map(|last| texts[last].to_owned());
                assert_eq!(tab.grown("s").await, left);
                tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
                assert_eq!(tab.live("s").await.messages.len(), 1 + usize::from(left.is_some()));
                tab.clean().await;
            }
        }
    }

    /// Half of a long addition is no whole one, and what was added to it later fits nothing.
    async fn a_missing_piece_of_a_long_addition_ends_the_text(kit) {
        let tab = started(&kit).await;
        let whole = format!("({})", "y".repeat(50_000));
        let pieces = u32::try_from(cut(&whole[1..], MAX_TEXT).len()).unwrap();
        grow(&tab, &["(", &whole, "(Z)"]).await;
        let (scope, session) = (tab.engine.scope().clone(), sid("s"));
        for piece in (0..pieces).rev() {
            kit.tamper(&Key::stream(&scope, &session, 1, piece), None).await;
            let found = tab.grown("s").await.unwrap();
            assert!(whole.starts_with(&found), "{:?}... was never what the message said", &found[..3]);
        }
        assert_eq!(tab.grown("s").await.as_deref(), Some("("));
        tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
        tab.clean().await;
    }

    /// A stream belongs to the session and the state it began on: no older checkpoint and no other session shows it.
    async fn a_growing_message_is_shown_with_the_newest_state_only(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["half"]).await;
        tab.put("t", &[user("other")], &[]).await.unwrap();
        for cp in tab.all("s").await {
            assert!(tab.engine.load(&sid("s"), Some(&cp.id)).await.unwrap().unwrap().run.is_none());
        }
        assert!(tab.engine.load(&sid("t"), None).await.unwrap().unwrap().run.is_none());
        tab.engine.recover(sid("t"), false).await.unwrap();
        assert_eq!(tab.now("t").await, ["other"]);
        let base = tab.all("s").await.remove(0);
        tab.fork("s", &base.id, "f").await.unwrap();
        assert_eq!((tab.now("f").await, tab.running("f").await), (vec!["u1".to_owned()], None));
        assert_eq!(tab.grown("s").await.as_deref(), Some("half"));
        tab.clean().await;
    }

    async fn a_step_leaves_nothing_of_what_was_growing(kit) {
        let tab = started(&kit).await;
        for ends in [false, true] {
            grow(&tab, &["half", "half and"]).await;
            tab.step("s", "r", ends, more(&[assistant(if ends { "b" } else { "a" })])).await.unwrap();
            assert_eq!(kit.rows(Store::Streams).await.len(), 0);
        }
        assert_eq!(tab.now("s").await, ["u1", "a", "b"]);
        tab.clean().await;
    }

    /// E-34; the message is exactly what had arrived, and says that it was interrupted.
    async fn recovery_makes_a_message_of_what_had_arrived(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["", &growing("half an ans\u{1F600}").encoded()]).await;
        let late = kit.tab().await;
        let before = late.live("s").await;
        late.heard();
        let epoch = late.expects("s").unwrap();
        let done = late.engine.recover(sid("s"), false).await.unwrap().unwrap();
        assert_eq!((done.from, done.epoch), (epoch, epoch + 1));
        assert_eq!(late.runs_heard(), ["r ended in s"]);
        let newest = late.all("s").await.remove(0);
        assert_eq!((&newest.id, newest.kind, newest.operation.action), (&done.checkpoint, Kind::TurnAfter, Action::Recover));
        assert_eq!(newest.turn.as_ref().map(|turn| turn.seq), Some(1));
        assert_eq!(newest.extra, [("interrupted".to_owned(), <T as Text>::from_utf8("true"))]);
        assert_eq!(late.live("s").await, shot(&[user("u1"), growing("half an ans\u{1F600}")], &[]));
        assert_eq!((late.running("s").await, late.engine.status().await.unwrap().unfinished), (None, vec![]));
        assert_eq!(late.engine.recover(sid("s"), false).await.unwrap(), None);
        // Its writer is told, should it live after all.
        assert_eq!(code(tab.end("s", "r", &[assistant("whole")]).await), Code::Conflict);
        assert_eq!(code(tab.grow("s", 2, &addition("r", (0, 0), "more")).await), Code::Conflict);
        // The turn is still one, and is one version of it.
        assert_eq!(late.versions("s", "u1").await, [(vec!["u1".to_owned(), "growing".to_owned()], true)]);
        late.undo("s").await.unwrap();
        assert!(late.now("s").await.is_empty());
        late.redo("s").await.unwrap();
        assert_eq!(late.now("s").await, ["u1", "growing"]);
        assert_eq!(before, shot(&[user("u1")], &[]));
        late.clean().await;
    }

    async fn recovery_may_drop_what_had_arrived(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["half"]).await;
        let late = kit.tab().await;
        late.engine.recover(sid("s"), true).await.unwrap().unwrap();
        assert_eq!(late.live("s").await, shot(&[user("u1")], &[]));
        assert_eq!((late.running("s").await, kit.rows(Store::Streams).await.len()), (None, 0));
        late.ask("s", "u2", "a2").await;
        late.clean().await;
        // With nothing saved there is nothing to drop, and the turn ends all the same.
        late.begin("s", "q", "p").await.unwrap();
        late.engine.recover(sid("s"), false).await.unwrap().unwrap();
        assert_eq!((late.now("s").await, late.running("s").await), (vec!["u1".to_owned(), "u2".to_owned(), "a2".to_owned()], None));
        late.clean().await;
    }

    /// The same message under a stream that goes on stays one message.
    async fn recovery_of_a_message_that_is_there_already_replaces_it(kit) {
        let tab = started(&kit).await;
        tab.go("s", "r", &[growing("half")]).await.unwrap();
        grow(&tab, &[&growing("half and half").encoded()]).await;
        tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
        assert_eq!(tab.live("s").await, shot(&[user("u1"), growing("half and half")], &[]));
        assert_eq!(kit.tab().await.live("s").await.messages.len(), 2);
        tab.clean().await;
    }

    /// In its place, whatever the turn wrote after it.
    async fn recovery_of_a_message_keeps_what_was_written_after_it(kit) {
        let tab = started(&kit).await;
        tab.go("s", "r", &[growing("half"), assistant("tool"), assistant("note")]).await.unwrap();
        grow(&tab, &[&growing("half and half").encoded()]).await;
        tab.engine.recover(sid("s"), false).await.unwrap().unwrap();
        let expected = [user("u1"), growing("half and half"), assistant("tool"), assistant("note")];
        assert_eq!(tab.live("s").await, shot(&expected, &[]));
        tab.clean().await;
    }

    /// R11
    async fn deleting_a_session_deletes_what_was_growing_in_it(kit) {
        let tab = started(&kit).await;
        tab.begin("t", "q", "p").await.unwrap();
        tab.grow("t", 0, &addition("q", (0, 0), "stays")).await.unwrap();
        grow(&tab, &["half"]).await;
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert_eq!(kit.rows_of(&sid("s")).await.len(), 0);
        assert_eq!(tab.grown("t").await.as_deref(), Some("stays"));
        assert_eq!(code(tab.grow("s", 1, &addition("r", (0, 0), "back")).await), Code::UnknownSession);
        tab.clean().await;
    }

    /// A run belongs to a page: a bundle of a session that is being written has none.
    async fn an_interrupted_session_travels_without_its_run(kit) {
        let tab = started(&kit).await;
        grow(&tab, &["half"]).await;
        let bundle = tab.engine.export(None).await.unwrap();
        assert!(bundle.sessions.iter().all(|session| session.run.is_none() && session.head.is_some()));
        let text = backend::text(&bundle);
        let there = Kit::fresh().await;
        let late = there.tab().await;
        late.engine.import(&backend::bundle(&text).unwrap(), OnExisting::Error).await.unwrap();
        assert_eq!((late.now("s").await, late.running("s").await), (vec!["u1".to_owned()], None));
        assert_eq!(late.engine.recover(sid("s"), false).await.unwrap(), None);
        assert_eq!(there.rows(Store::Streams).await.len(), 0);
        late.ask("s", "u2", "a2").await;
        late.clean().await;
        // And an import beside it disturbs neither.
        tab.engine.import(&backend::bundle(&text).unwrap(), OnExisting::Rename).await.unwrap();
        assert_eq!(tab.grown("s").await.as_deref(), Some("half"));
        tab.clean().await;
    }
}
