//! Loading and listing.

use turnmark::error::Code;
use turnmark::ids::{CheckpointId, SessionId};
use turnmark::model::body::Text;
use turnmark::model::checkpoint::{Kind, Source};
use turnmark::model::retention::Retention;
use turnmark::plan::read::{Before, Filter};
use turnmark::plan::write::Metadata;

use super::kit::{NOON, T, assistant, chat, cid, code, meta, more, shot, sid, text, user};

/// Ids, as a table: what may not be one, and what may (R12).
const BAD: &[&str] = &["", "__proto__", "constructor", "prototype", "a\u{0}", "\n", "a\u{7f}", "\u{85}"];
const GOOD: &[&str] =
    &["a", "__proto", "proto__", "hasOwnProperty", " ", "é", "\u{1F600}", "../../etc", "<b>", "cp-1721000000-1", "0"];

contract! {
    async fn what_does_not_exist_is_none_and_no_error(kit) {
        let tab = kit.tab().await;
        assert!(tab.load("nobody").await.is_none());
        tab.append("s", &[user("a")]).await.unwrap();
        assert!(tab.engine.load(&sid("s"), Some(&cid("cp_no"))).await.unwrap().is_none());
        assert!(tab.engine.load(&sid("nobody"), Some(&cid("cp_no"))).await.unwrap().is_none());
        assert!(tab.engine.session(&sid("nobody")).await.unwrap().is_none());
        assert_eq!(tab.ids("nobody").await, [] as [String; 0]);
        assert_eq!(code(tab.engine.message_ids(&sid("s"), &cid("cp_no")).await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.engine.operations(&sid("nobody"), 1).await), Code::UnknownSession);
    }

    /// P-08, automerge-repo#367: everything that was written by one engine is read by another, whole.
    async fn another_tab_and_a_reload_read_what_was_written(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..30);
        let first = tab.put("s", &messages[..10], &[("x", "1")]).await.unwrap();
        tab.append("s", &messages[10..]).await.unwrap();
        drop(tab);
        let other = kit.tab().await;
        assert_eq!(other.live("s").await, shot(&messages, &[("x", "1")]));
        assert_eq!(other.at("s", &first.id).await, shot(&messages[..10], &[("x", "1")]));
    }

    async fn message_ids_are_those_of_the_state_in_order_without_the_nameless(kit) {
        let tab = kit.tab().await;
        let nameless = super::kit::Msg { id: None, ..user("x") };
        let saved = tab.put("s", &[user("a"), nameless, assistant("b"), user("a")], &[]).await.unwrap();
        let ids: Vec<String> = tab.engine.message_ids(&sid("s"), &saved.id).await.unwrap().iter().map(|id| id.utf8().into_owned()).collect();
        assert_eq!(ids, ["a", "b", "a"]);
    }

    /// P-12
    async fn a_listing_is_newest_first_and_its_pages_join(kit) {
        let tab = kit.tab().await;
        let mut all = Vec::new();
        for n in 0..23 {
            all.insert(0, tab.append("s", &[user(&n.to_string())]).await.unwrap().id.to_string());
        }
        assert_eq!(tab.ids("s").await, all);
        for size in [1, 2, 7, 22, 23, 24] {
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let page = tab.page("s", size, before, Filter::default()).await.unwrap();
                assert_eq!(page.head, Some(22));
                assert!(page.items.len() <= size as usize);
                seen.extend(page.items.iter().map(|item| item.id.to_string()));
                match page.next {
                    Some(next) => before = Some(Before::Seq(next)),
                    None => break,
                }
            }
            assert_eq!(seen, all, "pages of {size}");
        }
        assert!(tab.page("s", 0, None, Filter::default()).await.unwrap().items.is_empty());
    }

    /// P-12: a page holds even when the checkpoint it began at is gone.
    async fn a_listing_goes_on_after_deletions(kit) {
        let tab = kit.tab().await;
        let mut all = Vec::new();
        for n in 0..9 {
            all.push(tab.append("s", &[user(&n.to_string())]).await.unwrap().id);
        }
        let page = tab.page("s", 3, None, Filter::default()).await.unwrap();
        tab.engine.delete_checkpoint(&sid("s"), &all[6]).await.unwrap();
        tab.engine.delete_checkpoint(&sid("s"), &all[5]).await.unwrap();
        let rest = tab.page("s", 99, page.next.map(Before::Seq), Filter::default()).await.unwrap();
        let ids: Vec<&CheckpointId> = rest.items.iter().map(|item| &item.id).collect();
        assert_eq!(ids, [&all[4], &all[3], &all[2], &all[1], &all[0]]);
    }

    async fn before_gives_only_what_is_older_than_the_checkpoint_named(kit) {
        let tab = kit.tab().await;
        let first = tab.append("s", &[user("a")]).await.unwrap();
        let second = tab.append("s", &[user("b")]).await.unwrap();
        tab.append("s", &[user("c")]).await.unwrap();
        let before = |id: &CheckpointId| Some(Before::Id(id.clone()));
        let page = tab.page("s", 9, before(&second.id), Filter::default()).await.unwrap();
        assert_eq!(page.items, std::slice::from_ref(&first));
        assert!(tab.page("s", 9, before(&first.id), Filter::default()).await.unwrap().items.is_empty());
        assert_eq!(code(tab.page("s", 9, before(&cid("cp_no")), Filter::default()).await), Code::UnknownCheckpoint);
        assert!(tab.page("s", 9, Some(Before::Seq(u32::MAX)), Filter::default()).await.unwrap().items.len() == 3);
    }

    async fn a_filter_gives_only_what_equals_every_key(kit) {
        let tab = kit.tab().await;
        let step = |n: usize| vec![("step".to_owned(), text(&n.to_string()))];
        for n in 0..20 {
            let source = if n % 2 == 0 { Source::Message } else { Source::ToolExecution };
            let metadata = Metadata { extra: step(n % 5), name: Some(format!("n{n}")), writes: vec![format!("w{}", n % 3)], ..Metadata::of(source) };
            tab.write("s", more(&[user(&n.to_string())]), metadata).await.unwrap();
        }
        let word = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        let seqs = async |filter: Filter<T>, limit: u32| {
            let page = tab.page("s", limit, None, filter).await.unwrap();
            page.items.into_iter().map(|item| item.seq).collect::<Vec<_>>()
        };
        assert_eq!(seqs(Filter { words: word("source", "tool_execution"), extra: step(3), ..Filter::default() }, 99).await, [13, 3]);
        assert_eq!(seqs(Filter { words: word("kind", "turn-after"), ..Filter::default() }, 3).await, [18, 16, 14]);
        assert_eq!(seqs(Filter { words: word("name", "n7"), ..Filter::default() }, 1).await, [7]);
        assert_eq!(seqs(Filter { writes: Some(vec!["w2".to_owned()]), extra: step(0), ..Filter::default() }, 9).await, [5]);
        assert_eq!(seqs(Filter { extra: step(9), ..Filter::default() }, 9).await, [] as [u32; 0]);
        assert_eq!(seqs(Filter { words: word("anything", "else"), ..Filter::default() }, 9).await, [] as [u32; 0]);
    }

    /// A rare match far down costs a few reads, not one for each checkpoint before it.
    async fn a_filtered_listing_reads_in_growing_steps(kit) {
        let tab = kit.tab().await;
        for n in 0..600 {
            let metadata = Metadata { kind: (n == 3).then_some(Kind::Committed), ..meta() };
            tab.write("s", more(&[]), metadata).await.unwrap();
        }
        tab.counted();
        let filter = Filter { words: vec![("kind".to_owned(), "committed".to_owned())], ..Filter::default() };
        let page = tab.page("s", 1, None, filter).await.unwrap();
        assert_eq!(page.items[0].seq, 3);
        assert!(tab.counted().rounds < 20);
    }

    /// SillyTavern#2832: no write of one chat reaches another.
    async fn sessions_are_listed_newest_first_and_scopes_do_not_see_each_other(kit) {
        let (tab, other) = (kit.tab().await, kit.tab_of("other", Retention::default()).await);
        for (n, session) in (0..).zip(["a", "b", "c"]) {
            kit.clock.set(NOON + n);
            tab.append(session, &[user("x")]).await.unwrap();
        }
        kit.clock.set(NOON + 9);
        tab.append("b", &[user("y")]).await.unwrap();
        other.append("a", &[user("of the other scope")]).await.unwrap();
        let ids: Vec<String> = tab.engine.sessions().await.unwrap().iter().map(|session| session.id.to_string()).collect();
        assert_eq!(ids, ["b", "c", "a"]);
        assert_eq!(other.engine.sessions().await.unwrap().len(), 1);
        assert_eq!(tab.live("a").await, shot(&[user("x")], &[]));
        assert_eq!(other.live("a").await, shot(&[user("of the other scope")], &[]));
        other.engine.delete_session(&sid("a")).await.unwrap();
        assert_eq!(tab.live("a").await, shot(&[user("x")], &[]));
        tab.clean().await;
    }

    async fn sessions_with_ids_that_look_alike_do_not_mix(kit) {
        let tab = kit.tab().await;
        let ids = ["a", "a ", "A", "a\",\"a", "aa", "a/", "\u{e9}", "e\u{301}", "\u{FFFF}", "\u{10000}"];
        for id in ids {
            tab.append(id, &[user(id)]).await.unwrap();
        }
        for id in ids {
            assert_eq!(tab.live(id).await, shot(&[user(id)], &[]));
            assert_eq!(tab.ids(id).await.len(), 1);
        }
        tab.engine.delete_session(&sid("a")).await.unwrap();
        assert_eq!(tab.engine.sessions().await.unwrap().len(), ids.len() - 1);
        tab.clean().await;
    }

    /// R12
    async fn an_id_that_could_hurt_is_refused_and_every_other_is_kept(kit) {
        let tab = kit.tab().await;
        let long = "\u{1F600}".repeat(129);
        for id in BAD.iter().copied().chain([long.as_str()]) {
            assert_eq!(code(SessionId::parse(id)), Code::InvalidId, "{id:?}");
            assert_eq!(code(CheckpointId::parse(id)), Code::InvalidId, "{id:?}");
        }
        let longest = "\u{1F600}".repeat(128);
        for id in GOOD.iter().copied().chain([longest.as_str()]) {
            tab.append(id, &[user("a")]).await.unwrap();
            assert_eq!(tab.live(id).await, shot(&[user("a")], &[]), "{id:?}");
        }
        kit.rows_are_small().await;
        tab.clean().await;
    }

    async fn status_counts_what_there_is(kit) {
        let tab = kit.tab().await;
        tab.put("a", &[user("1")], &[("x", "1")]).await.unwrap();
        tab.write("b", more(&[user("2")]), Metadata { provisional: true, ..meta() }).await.unwrap();
        tab.put_writes("b", "task", &[("x", "1"), ("y", "2")]).await.unwrap();
        let status = tab.engine.status().await.unwrap();
        assert_eq!((status.sessions, status.checkpoints, status.message_rows, status.object_rows, status.pending_writes), (2, 2, 2, 2, 2));
        let [found] = status.unfinished.as_slice() else { panic!("{status:?}") };
        assert_eq!((&found.session, found.since, &found.run), (&sid("b"), NOON, &None));
        assert_eq!(found.writer.as_ref(), Some(tab.engine.writer()));
    }
}
