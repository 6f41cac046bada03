//! Comparison of states, and previews.

use turnmark::error::{Code, Result};
use turnmark::ids::CheckpointId;
use turnmark::model::body::Text;
use turnmark::model::part::Part;
use turnmark::plan::diff::{Diff, How, Place};
use turnmark::plan::restore::Target;
use turnmark::plan::status::Question;

use super::kit::{T, Tab, assistant, chat, cid, code, meta, sid, user};

fn place(session: &str, id: &CheckpointId) -> Place {
    Place { session: sid(session), checkpoint: id.clone() }
}

async fn diff(tab: &Tab, a: &CheckpointId, b: &CheckpointId, load: bool) -> Result<Diff<T>> {
    tab.engine.diff(&place("s", a), &place("s", b), load).await
}

/// Each message that differs, as `how id from to`.
fn lines(diff: &Diff<T>) -> Vec<String> {
    let at = |place: Option<u32>| place.map_or("-".to_owned(), |at| at.to_string());
    let id = |id: &Option<T>| id.as_ref().map_or("-".to_owned(), |id| id.utf8().into_owned());
    diff.messages
        .iter()
        .map(|change| format!("{} {} {} {}", change.how.word(), id(&change.id), at(change.from), at(change.to)))
        .collect()
}

contract! {
    async fn two_states_differ_by_what_was_added_removed_and_changed(kit) {
        let tab = kit.tab().await;
        let base = chat("m", 0..6);
        let a = tab.put("s", &base, &[("same", "1"), ("changed", "1"), ("removed", "1")]).await.unwrap();
        let mut after = base.clone();
        after[2] = after[2].clone().saying("other words");
        after.remove(4);
        after.push(assistant("new"));
        let b = tab.put("s", &after, &[("added", "1"), ("changed", "2"), ("same", "1")]).await.unwrap();
        let found = diff(&tab, &a.id, &b.id, true).await.unwrap();
        assert_eq!(found.common_prefix, 2);
        assert_eq!(lines(&found), ["changed m2 2 2", "removed m4 4 -", "added new - 5"]);
        let text = |value: &Option<turnmark::plan::objects::Value<T>>| value.as_ref().map(|value| value.text.utf8().into_owned());
        assert_eq!(text(&found.messages[0].before), Some(base[2].encoded()));
        assert_eq!(text(&found.messages[0].after), Some(after[2].encoded()));
        assert_eq!((text(&found.messages[1].before), text(&found.messages[1].after)), (Some(base[4].encoded()), None));
        let channels: Vec<(String, How, Option<String>, Option<String>)> =
            found.channels.iter().map(|change| (change.key.clone(), change.how, text(&change.before), text(&change.after))).collect();
        let some = |value: &str| Some(value.to_owned());
        assert_eq!(channels, [
            ("added".to_owned(), How::Added, None, some("1")),
            ("changed".to_owned(), How::Changed, some("1"), some("2")),
            ("removed".to_owned(), How::Removed, some("1"), None),
        ]);
        // What is beside a prompt is compared likewise, and apart from the channels.
        for (run, ui) in [("r", [("shot", "\"a\""), ("same", "1")]), ("q", [("shot", "\"b\""), ("same", "1")])] {
            let begun = tab.begin_as("s", super::chat::asking(run, "p"), super::chat::showing(&[], &ui), meta()).await.unwrap();
            tab.end("s", run, &[]).await.unwrap();
            assert_eq!(begun.saved.checkpoint.kind, turnmark::model::checkpoint::Kind::PromptBefore);
        }
        let all = tab.all("s").await;
        let (first, last) = (&all[3], &all[0]);
        let shown = diff(&tab, &first.id, &last.id, true).await.unwrap();
        let ui: Vec<_> = shown.ui.iter().map(|change| (change.key.as_str(), change.how, text(&change.before), text(&change.after))).collect();
        assert_eq!(ui, [("shot", How::Changed, some("\"a\""), some("\"b\""))]);
        assert_eq!((shown.messages.len(), shown.channels.len()), (0, 0));
        // Backwards, everything is the other way round.
        let back = diff(&tab, &b.id, &a.id, true).await.unwrap();
        assert_eq!(lines(&back), ["changed m2 2 2", "added m4 - 4", "removed new 5 -"]);
        let itself = diff(&tab, &a.id, &a.id, true).await.unwrap();
        assert_eq!((itself.common_prefix, itself.messages.len(), itself.channels.len()), (6, 0, 0));
    }

    async fn states_of_different_sessions_are_compared_by_content(kit) {
        let tab = kit.tab().await;
        let a = tab.put("s", &chat("m", 0..5), &[("x", "1")]).await.unwrap();
        let b = tab.put("t", &chat("m", 0..6), &[("x", "1")]).await.unwrap();
        let found = tab.engine.diff(&place("s", &a.id), &place("t", &b.id), true).await.unwrap();
        assert_eq!((lines(&found), found.channels.len()), (vec!["added m5 - 5".to_owned()], 0));
        assert_eq!(code(tab.engine.diff(&place("s", &a.id), &place("s", &b.id), true).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.engine.diff(&place("nobody", &a.id), &place("s", &a.id), true).await), Code::UnknownCheckpoint);
    }

    async fn without_loading_only_places_are_compared_and_no_message_is_read(kit) {
        let tab = kit.tab().await;
        let a = tab.put("s", &chat("m", 0..1000), &[("x", "1")]).await.unwrap();
        let b = tab.put("s", &chat("m", 0..1002), &[("x", "2")]).await.unwrap();
        tab.counted();
        let found = diff(&tab, &a.id, &b.id, false).await.unwrap();
        assert_eq!(lines(&found), ["added - - 1000", "added - - 1001"]);
        assert!(found.messages.iter().all(|change| change.after.is_none()) && found.channels[0].after.is_none());
        assert!(tab.counted().requests < 10);
    }

    async fn moved_and_repeated_messages_are_told_apart(kit) {
        let tab = kit.tab().await;
        let (a, b, c) = (user("a"), user("b"), user("c"));
        let first = tab.put("s", &[a.clone(), b.clone(), c.clone(), a.clone()], &[]).await.unwrap();
        let second = tab.put("s", &[c.clone(), a.clone(), b.clone(), a.clone(), a.clone()], &[]).await.unwrap();
        let found = diff(&tab, &first.id, &second.id, true).await.unwrap();
        let changes: i64 = found.messages.iter().map(|change| match change.how { How::Added => 1, How::Removed => -1, How::Changed => 0 }).sum();
        assert_eq!(changes, 1);
        assert!(found.messages.len() <= 4, "{:?}", lines(&found));
        // What only moved is not said to have another content.
        assert!(found.messages.iter().all(|change| change.how != How::Changed), "{:?}", lines(&found));
    }

    /// Long messages and binaries are asked for together, not one after the other.
    async fn a_comparison_of_many_long_values_takes_few_rounds(kit) {
        let tab = kit.tab().await;
        let long = |n: usize| user(&n.to_string()).saying(&format!("{n}{}", "x".repeat(50_000))).with(vec![u8::try_from(n).unwrap(); 50_000]);
        let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
        let value = "v".repeat(50_000);
        let values: Vec<String> = (0..20).map(|n| format!("{n}{value}")).collect();
        let channels: Vec<(&str, &str)> = names.iter().zip(&values).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let a = tab.put("s", &[user("a")], &[]).await.unwrap();
        let messages: Vec<_> = std::iter::once(user("a")).chain((0..20).map(long)).collect();
        tab.counted();
        let b = tab.put("s", &messages, &channels).await.unwrap();
        let counts = tab.counted();
        assert!(counts.rounds < 8, "{counts:?}");
        let found = diff(&tab, &a.id, &b.id, true).await.unwrap();
        assert_eq!((found.messages.len(), found.channels.len(), found.binaries.len()), (20, 20, 20));
        let counts = tab.counted();
        assert!(counts.rounds < 14, "{counts:?}");
        let read = tab.live("s").await;
        assert_eq!((read.messages.len(), read.channels.len()), (21, 20));
        let counts = tab.counted();
        assert!(counts.rounds < 10, "{counts:?}");
    }

    async fn a_preview_shows_what_a_restore_would_change_and_changes_nothing(kit) {
        let tab = kit.tab().await;
        let first = tab.put("s", &[user("a")], &[("x", "1")]).await.unwrap();
        let second = tab.put("s", &[user("a"), assistant("b")], &[("x", "2")]).await.unwrap();
        let before = kit.dump().await;
        let ask = async |question: Question| tab.engine.preview(&sid("s"), &question).await;
        let parts = vec![Part::Messages];
        let rollback = ask(Question::Restore(Target::Rollback { id: first.id.clone(), parts })).await.unwrap();
        let found = rollback.diff.unwrap();
        assert_eq!((rollback.target.as_ref(), lines(&found), found.channels.len()), (Some(&first.id), vec!["removed b 1 -".to_owned()], 0));
        let undo = ask(Question::Restore(Target::Undo)).await.unwrap();
        assert_eq!((undo.target.as_ref(), undo.diff.unwrap().channels.len()), (Some(&first.id), 1));
        assert_eq!(code(ask(Question::Restore(Target::Redo)).await), Code::NothingToRedo);
        let delete = ask(Question::Delete(second.id.clone())).await.unwrap();
        assert_eq!((delete.target.as_ref(), delete.deletes), (Some(&first.id), vec![second.id.clone()]));
        assert_eq!(lines(&delete.diff.unwrap()), ["removed b 1 -"]);
        assert_eq!(ask(Question::Delete(first.id.clone())).await.unwrap().target, None);
        assert_eq!(code(ask(Question::Delete(cid("cp_no"))).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.engine.preview(&sid("nobody"), &Question::Prune(1)).await), Code::UnknownSession);
        assert_eq!(kit.dump().await, before);
    }

    async fn a_preview_of_pruning_names_exactly_what_pruning_deletes_and_keeps(kit) {
        let tab = kit.tab().await;
        let mut ids = Vec::new();
        for n in 0..8 {
            ids.push(tab.append("s", &[user(&n.to_string())]).await.unwrap().id);
        }
        tab.engine.pin(&sid("s"), &ids[2], true).await.unwrap();
        tab.fork("s", &ids[4], "f").await.unwrap();
        assert_eq!(code(tab.engine.preview(&sid("s"), &Question::Delete(ids[2].clone())).await), Code::Protected);
        let preview = tab.engine.preview(&sid("s"), &Question::Prune(2)).await.unwrap();
        let pruned = tab.engine.prune(sid("s"), 2).await.unwrap();
        assert_eq!(preview.deletes, pruned.deleted);
        let kept: Vec<(CheckpointId, String)> = pruned.kept.into_iter().map(|(id, reason)| (id, reason.to_owned())).collect();
        assert_eq!(preview.keeps, kept);
        assert_eq!(preview.deletes, [&ids[0], &ids[1], &ids[3], &ids[5]].map(Clone::clone));
    }
}
