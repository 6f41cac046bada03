//! Export and import.

use turnmark::codec::key::{Key, Store};
use turnmark::engine::Event;
use turnmark::error::Code;
use turnmark::model::body::Text;
use turnmark::model::checkpoint::Checkpoint;
use turnmark::model::retention::Retention;
use turnmark::model::span::Spans;
use turnmark::plan::bundle::{self, Bundle, OnExisting};
use turnmark::plan::write::Metadata;

use crate::backend;

use super::kit::{Kit, T, Tab, assistant, chat, cid, code, meta, more, shot, sid, text, user};

/// Two sessions, one forked from the other, with everything a session can have.
async fn fill(tab: &Tab) {
    let long = user("long").saying(&"ж".repeat(30_000));
    let picture = assistant("picture").with(vec![9; 100_000]).with(vec![1]);
    let mut messages = chat("m", 0..30);
    let base = tab.put("s", &messages, &[("n", "1"), ("big", &"v".repeat(90_000))]).await.unwrap();
    messages[3] = messages[3].clone().saying("edited");
    messages.extend([long, picture]);
    tab.put("s", &messages, &[("n", "2")]).await.unwrap();
    tab.engine.pin(&sid("s"), &base.id, true).await.unwrap();
    tab.put_writes("s", "task", &[("x", "1"), ("__error__", &"e".repeat(30_000))]).await.unwrap();
    tab.engine.set_title(&sid("s"), Some("The title".to_owned())).await.unwrap();
    tab.rollback("s", &base.id).await.unwrap();
    tab.fork("s", &base.id, "f").await.unwrap();
    tab.append("f", &[user("in the fork")]).await.unwrap();
    tab.undo("f").await.unwrap();
}

async fn exported(tab: &Tab) -> String {
    backend::text(&tab.engine.export(None).await.unwrap())
}

/// A header without its epoch and the names of its logs, which are not the same in two databases.
fn elsewhere(mut checkpoint: Checkpoint<T>) -> Checkpoint<T> {
    checkpoint.state.spans = Spans::default();
    checkpoint.epoch = 0;
    checkpoint
}

async fn import(tab: &Tab, text: &str, on: OnExisting) -> turnmark::error::Result<bundle::Imported> {
    tab.engine.import(&backend::bundle(text)?, on).await
}

/// Everything a session holds, every checkpoint of it included.
async fn everything(tab: &Tab, session: &str) -> Vec<(super::kit::Shot, Vec<(String, i64, String, String)>)> {
    let mut all = vec![(tab.live(session).await, Vec::new())];
    for checkpoint in tab.all(session).await {
        all.push((tab.at(session, &checkpoint.id).await, tab.pending(session, Some(&checkpoint.id)).await));
    }
    all
}

contract! {
    /// ggml-org/llama.cpp#13552 and #19372, assistant-ui#4774: everything comes back, and the newest is the newest.
    async fn what_was_exported_is_imported_exactly(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let text = exported(&tab).await;
        let other = Kit::fresh().await;
        let there = other.tab().await;
        let done = import(&there, &text, OnExisting::Error).await.unwrap();
        assert_eq!(done.sessions.len(), 2);
        assert_eq!(done.skipped, []);
        let heard = there.heard();
        assert!(heard.iter().all(|event| matches!(event, Event::Changed { reason: "import", .. })) && heard.len() == 2);
        for session in ["s", "f"] {
            assert_eq!(everything(&there, session).await, everything(&tab, session).await);
            let headers = async |tab: &Tab| tab.all(session).await.into_iter().map(elsewhere).collect::<Vec<_>>();
            assert_eq!(headers(&there).await, headers(&tab).await);
        }
        let titles = there.engine.sessions().await.unwrap();
        assert!(titles.iter().all(|session| session.title.as_deref() == Some("The title")));
        there.clean().await;
        other.rows_are_small().await;
    }

    /// What was imported is a session like any other: it can be continued, undone, forked, deleted.
    async fn an_imported_session_goes_on_where_it_was(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let text = exported(&tab).await;
        let there = Kit::fresh().await;
        let there = (there.tab().await, there);
        import(&there.0, &text, OnExisting::Error).await.unwrap();
        let tab = &there.0;
        let before = tab.live("s").await;
        assert_eq!(code(tab.engine.write(sid("s"), more(&[user("x")]), meta(), None).await), Code::NotLoaded);
        tab.append("s", &[user("on")]).await.unwrap();
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await, before);
        tab.undo("s").await.unwrap();
        assert_eq!(tab.live("s").await.messages.len(), 32);
        tab.live("f").await;
        tab.redo("f").await.unwrap();
        let base = tab.all("f").await.pop().unwrap().forked_from.unwrap();
        assert_eq!(code(tab.engine.delete_checkpoint(&sid("s"), &base.checkpoint_id).await), Code::Protected);
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert_eq!(tab.live("f").await.messages.len(), 31);
        tab.clean().await;
    }

    async fn a_second_export_of_what_was_imported_says_the_same(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let first = tab.engine.export(None).await.unwrap();
        let other = Kit::fresh().await;
        let there = other.tab().await;
        there.engine.import(&first, OnExisting::Error).await.unwrap();
        let second = there.engine.export(None).await.unwrap();
        assert_eq!((&first.objects, first.writes.len()), (&second.objects, second.writes.len()));
        let messages = |bundle: &Bundle<T>| bundle.messages.iter().map(|(_, run)| run.hashes.len()).sum::<usize>();
        let count = messages(&second);
        assert_eq!(tab.engine.export(None).await.map(|bundle| messages(&bundle)), Ok(count));
    }

    async fn an_import_over_a_session_of_that_id_fails_skips_or_renames(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let text = exported(&tab).await;
        let before = kit.dump().await;
        assert_eq!(code(import(&tab, &text, OnExisting::Error).await), Code::AlreadyExists);
        assert_eq!(kit.dump().await, before);
        let skipped = import(&tab, &text, OnExisting::Skip).await.unwrap();
        assert_eq!((skipped.sessions.len(), skipped.skipped.len()), (0, 2));
        assert_eq!(kit.dump().await, before);
        let renamed = import(&tab, &text, OnExisting::Rename).await.unwrap();
        assert_eq!(renamed.sessions.len(), 2);
        for (old, new, ..) in &renamed.sessions {
            assert_ne!(old, new);
            assert_eq!(everything(&tab, new.as_str()).await, everything(&tab, old.as_str()).await);
            tab.load(new.as_str()).await;
            tab.append(new.as_str(), &[user("only there")]).await.unwrap();
        }
        // The renamed fork comes from the renamed source.
        let fork = renamed.sessions.iter().find(|(old, ..)| *old == sid("f")).unwrap();
        let source = renamed.sessions.iter().find(|(old, ..)| *old == sid("s")).unwrap();
        let session = tab.engine.session(&fork.1).await.unwrap().unwrap();
        assert_eq!(session.forked_from.unwrap().session_id, source.1);
        tab.clean().await;
    }

    async fn only_what_is_missing_is_imported_and_its_base_counts_it(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let text = exported(&tab).await;
        tab.engine.delete_session(&sid("f")).await.unwrap();
        let done = import(&tab, &text, OnExisting::Skip).await.unwrap();
        assert_eq!((done.sessions.len(), done.skipped.len()), (1, 1));
        let origin = tab.engine.session(&sid("f")).await.unwrap().unwrap().forked_from.unwrap();
        tab.engine.pin(&sid("s"), &origin.checkpoint_id, false).await.unwrap();
        assert_eq!(code(tab.engine.delete_checkpoint(&sid("s"), &origin.checkpoint_id).await), Code::Protected);
        tab.clean().await;
        // The other way round: the source comes back while its fork is there.
        tab.engine.delete_session(&sid("s")).await.unwrap();
        import(&tab, &text, OnExisting::Skip).await.unwrap();
        tab.engine.pin(&sid("s"), &origin.checkpoint_id, false).await.unwrap();
        assert_eq!(code(tab.engine.delete_checkpoint(&sid("s"), &origin.checkpoint_id).await), Code::Protected);
        tab.engine.delete_session(&sid("f")).await.unwrap();
        tab.engine.delete_checkpoint(&sid("s"), &origin.checkpoint_id).await.unwrap();
        tab.clean().await;
    }

    async fn chosen_sessions_are_exported_with_all_they_share_and_nothing_else(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        tab.put("z", &[user("secret")], &[("secret", "\"password\"")]).await.unwrap();
        let bundle = tab.engine.export(Some(&[sid("f"), sid("f")])).await.unwrap();
        assert_eq!(bundle.sessions.len(), 1);
        let text = backend::text(&bundle);
        assert!(!text.contains("secret") && !text.contains("password") && !text.contains("picture"));
        let other = Kit::fresh().await;
        let there = other.tab().await;
        import(&there, &text, OnExisting::Error).await.unwrap();
        assert_eq!(everything(&there, "f").await, everything(&tab, "f").await);
        there.clean().await;
        assert_eq!(code(tab.engine.export(Some(&[sid("nobody")])).await), Code::UnknownSession);
    }

    async fn an_export_of_nothing_is_a_bundle_of_nothing(kit) {
        let tab = kit.tab().await;
        let text = exported(&tab).await;
        let done = import(&tab, &text, OnExisting::Error).await.unwrap();
        assert_eq!((done.sessions.len(), done.skipped.len()), (0, 0));
    }

    async fn an_import_into_another_scope_belongs_to_it(kit) {
        let tab = kit.tab().await;
        fill(&tab).await;
        let text = exported(&tab).await;
        let other = kit.tab_of("other", Retention::default()).await;
        import(&other, &text, OnExisting::Error).await.unwrap();
        assert_eq!(everything(&other, "s").await, everything(&tab, "s").await);
        other.engine.delete_session(&sid("s")).await.unwrap();
        other.clean().await;
        assert_eq!(tab.live("s").await.messages.len(), 30);
        assert_eq!(other.live("f").await.messages.len(), 30);
    }

    /// What is stored is cut into rows by this library, however the bundle cuts it; so nothing stored is overwritten by pieces
    /// of another shape.
    async fn an_import_of_a_value_that_is_stored_already_leaves_it_whole(kit) {
        let tab = kit.tab().await;
        let value = "v".repeat(100_000);
        tab.put("s", &[user("a").with(vec![3; 100_000])], &[("x", &value)]).await.unwrap();
        let bundle = tab.engine.export(None).await.unwrap();
        let mut recut = bundle.clone();
        recut.objects.clear();
        let mut at = 0;
        while let Some((hash, ..)) = bundle.objects.get(at) {
            let pieces: Vec<_> = bundle.objects.iter().filter(|(other, ..)| other == hash).collect();
            at += pieces.len();
            recut.objects.extend(halved(*hash, &pieces));
        }
                tab.engine.import(&recut, OnExisting::Rename).await.unwrap();
        tab.clean().await;
        assert_eq!(tab.live("s").await.channels["x"].0, value);
    }

    /// CherryHQ/cherry-studio#11516: one record that cannot be read does not keep everything else from being saved.
    async fn an_export_leaves_out_a_session_that_cannot_be_read_and_says_so(kit) {
        let tab = kit.tab().await;
        tab.put("bad", &[user("a")], &[("x", "1")]).await.unwrap();
        tab.put("good", &[user("b")], &[("x", "2")]).await.unwrap();
        let run = kit.rows(Store::Messages).await.into_iter().find(|(_, row)| format!("{row:?}").contains(r#"\"a\""#)).unwrap();
        kit.tamper(&run.0, None).await;
        let bundle = tab.engine.export(None).await.unwrap();
        assert_eq!((bundle.sessions.len(), bundle.omitted.len()), (1, 1));
        assert_eq!(bundle.omitted[0].0, sid("bad"));
        let other = Kit::fresh().await;
        let there = other.tab().await;
        let done = import(&there, &backend::text(&bundle), OnExisting::Error).await.unwrap();
        assert_eq!(done.skipped.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [sid("bad")]);
        there.clean().await;
        // Asked for by name, it is an error that says which record.
        assert_eq!(code(tab.engine.export(Some(&[sid("bad")])).await), Code::RecordUnreadable);
    }

    async fn a_bundle_never_carries_damage(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[("x", &"v".repeat(100_000))]).await.unwrap();
        let piece = kit.rows(Store::Objects).await.into_iter().find(|(key, _)| key.number(1) == Some(1)).unwrap().0;
        kit.tamper(&piece, None).await;
        assert_eq!(code(tab.engine.export(Some(&[sid("s")])).await), Code::RecordUnreadable);
        assert_eq!(tab.engine.export(None).await.unwrap().omitted.len(), 1);
    }

    async fn an_interrupted_session_is_still_interrupted_after_its_import(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        tab.write("s", more(&[assistant("ha")]), Metadata { provisional: true, ..meta() }).await.unwrap();
        let text = exported(&tab).await;
        let other = Kit::fresh().await;
        let there = other.tab().await;
        import(&there, &text, OnExisting::Error).await.unwrap();
        let unfinished = there.engine.status().await.unwrap().unfinished;
        // The store that was writing it is no writer of this one.
        assert_eq!(unfinished.iter().map(|one| one.writer.as_ref()).collect::<Vec<_>>(), [None]);
        there.engine.recover(sid("s"), true).await.unwrap().unwrap();
        assert_eq!(there.live("s").await, shot(&[user("a")], &[]));
        there.clean().await;
    }

    async fn what_is_not_a_bundle_is_refused(kit) {
        let tab = kit.tab().await;
        tab.put("s", &[user("a")], &[]).await.unwrap();
        let text = exported(&tab).await;
        let before = kit.dump().await;
        let deep = "[".repeat(100_000);
        let broken = [
            String::new(),
            "null".to_owned(),
            "{}".to_owned(),
            "[]".to_owned(),
            deep,
            text.replace("turnmark-bundle", "other"),
            text.replace("\"version\":1", "\"version\":2"),
            text[..text.len() - 1].to_owned(),
        ];
        for text in broken {
            assert_eq!(code(import(&tab, &text, OnExisting::Rename).await), Code::BadBundle, "{:.80}", text);
        }
        assert_eq!(kit.dump().await, before);
        assert!(tab.engine.load(&sid("s"), Some(&cid("cp_no"))).await.unwrap().is_none());
    }

    /// Imported logs are never those of a session that is here: a bundle cannot write into another session's log.
    async fn an_import_never_touches_a_log_that_belongs_to_a_session_here(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a"), user("b"), user("c")], &[]).await.unwrap();
        let bundle = tab.engine.export(None).await.unwrap();
        // Every row of the log goes; the session still owns it.
        tab.delete("s", &first.id).await.unwrap();
        assert!(kit.rows(Store::Messages).await.is_empty());
        tab.engine.import(&bundle, OnExisting::Rename).await.unwrap();
        for n in 0..5 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        assert_eq!(tab.live("s").await.messages.len(), 5);
        let logs: std::collections::BTreeSet<Option<String>> =
            kit.rows(Store::Messages).await.iter().map(|(key, _): &(Key, _)| key.text(0).map(str::to_owned)).collect();
        assert_eq!(logs.len(), 2);
        tab.clean().await;
    }
}

/// The same object, in pieces of half the size.
fn halved(
    hash: turnmark::model::hash::Hash,
    pieces: &[&(turnmark::model::hash::Hash, u32, turnmark::codec::row::Object<T>)],
) -> Vec<(turnmark::model::hash::Hash, u32, turnmark::codec::row::Object<T>)> {
    use turnmark::codec::row::{Content, Object};
    let mut contents = Vec::new();
    for (_, _, object) in pieces {
        match &object.content {
            Content::Text(value) => {
                let value = value.utf8();
                let (a, b) = value.split_at(value.len() / 2);
                contents.extend([a, b].map(|half| Content::Text(text(half))));
            }
            Content::Bytes(bytes) => {
                let (a, b) = bytes.split_at(bytes.len() / 2);
                contents.extend([a, b].map(|half| Content::Bytes(serde_bytes::ByteBuf::from(half.to_vec()))));
            }
            Content::Node(node) => contents.push(Content::Node(node.clone())),
        }
    }
    let of = u32::try_from(contents.len()).unwrap();
    let piece = |(content, at)| {
        let refs = if at == 0 { pieces[0].2.refs.clone() } else { Vec::new() };
        (hash, at, Object { of, refs, content })
    };
    contents.into_iter().zip(0..).map(piece).collect()
}
