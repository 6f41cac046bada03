//! Forks: siblings share bodies and nothing else.

use turnmark::error::Code;
use turnmark::model::checkpoint::{Action, Kind, Origin, Source};

use super::kit::{assistant, chat, cid, code, shot, sid, user};

contract! {
    /// P-15
    async fn a_fork_starts_at_its_checkpoint_and_says_where_it_comes_from(kit) {
        let tab = kit.tab().await;
        tab.put("s", &chat("m", 0..4), &[("n", "1")]).await.unwrap();
        let base = tab.all("s").await.remove(0);
        tab.put("s", &chat("m", 0..8), &[("n", "2")]).await.unwrap();
        tab.engine.set_title(&sid("s"), Some("Title".to_owned())).await.unwrap();
        let forked = tab.fork("s", &base.id, "f").await.unwrap();
        let origin = Some(Origin { session_id: sid("s"), checkpoint_id: base.id.clone() });
        assert_eq!((forked.source, forked.kind, forked.operation.action), (Source::Fork, Kind::BranchPoint, Action::Fork));
        assert_eq!((&forked.forked_from, forked.parent.as_ref(), forked.seq), (&origin, Some(&base.id), 0));
        assert_eq!(tab.live("f").await, shot(&chat("m", 0..4), &[("n", "1")]));
        let session = tab.engine.session(&sid("f")).await.unwrap().unwrap();
        assert_eq!((session.forked_from, session.title.as_deref(), session.checkpoints), (origin, Some("Title"), 1));
        assert_eq!(code(tab.undo("f").await), Code::NothingToUndo);
        tab.clean().await;
    }

    /// P-15, R6: the source keeps every row as it was; only the header counts one fork more.
    async fn a_fork_leaves_its_source_as_it_was(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &chat("m", 0..4), &[("n", "1")]).await.unwrap();
        let before = kit.rows_of(&sid("s")).await;
        tab.fork("s", &base.id, "f").await.unwrap();
        let mut after = kit.rows_of(&sid("s")).await;
        for (_, row) in &mut after {
            let mut plain = (**row).clone();
            if let turnmark::codec::row::Row::Checkpoint(checkpoint) = &mut plain {
                assert_eq!(checkpoint.forks, 1);
                checkpoint.forks = 0;
            }
            *row = std::rc::Rc::new(plain);
        }
        assert_eq!(after, before);
    }

    /// langchain-ai/langgraphjs#2737, #1812, langgraph#8551: two forks of one parent that use the same message ids and
    /// channel names never see each other, in either direction.
    async fn siblings_that_reuse_ids_and_channel_names_do_not_see_each_other(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &[user("q")], &[("answer", "none"), ("shared", "1")]).await.unwrap();
        tab.fork("s", &base.id, "left").await.unwrap();
        tab.fork("s", &base.id, "right").await.unwrap();
        let said = |text: &str| [user("q"), assistant("a1").saying(text)];
        tab.put("left", &said("left says"), &[("answer", "left"), ("shared", "1")]).await.unwrap();
        tab.put_writes("left", "task", &[("x", "left")]).await.unwrap();
        tab.put("right", &said("right says"), &[("answer", "right"), ("shared", "1")]).await.unwrap();
        tab.put("left", &said("left again"), &[("answer", "left")]).await.unwrap();
        tab.append("s", &[assistant("a1").saying("source says")]).await.unwrap();
        let check = async || {
            assert_eq!(tab.live("left").await, shot(&said("left again"), &[("answer", "left")]));
            assert_eq!(tab.live("right").await, shot(&said("right says"), &[("answer", "right"), ("shared", "1")]));
            assert_eq!(tab.live("s").await, shot(&said("source says"), &[("answer", "none"), ("shared", "1")]));
            assert_eq!(tab.pending("right", None).await, []);
        };
        check().await;
        tab.clean().await;
        check().await;
        tab.engine.delete_session(&sid("left")).await.unwrap();
        assert_eq!(tab.live("right").await, shot(&said("right says"), &[("answer", "right"), ("shared", "1")]));
        assert_eq!(tab.live("s").await, shot(&said("source says"), &[("answer", "none"), ("shared", "1")]));
        tab.clean().await;
    }

    /// P-15: pending writes are copied, and later ones belong to one side only.
    async fn a_fork_takes_the_pending_writes_along(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &[user("q")], &[]).await.unwrap();
        let long = "w".repeat(50_000);
        tab.put_writes("s", "task", &[("a", "1"), ("__error__", "bad"), ("b", &long)]).await.unwrap();
        let forked = tab.fork("s", &base.id, "f").await.unwrap();
        assert_eq!(forked.pending, 3);
        let before = tab.pending("s", None).await;
        assert_eq!(tab.pending("f", None).await, before);
        tab.put_writes("f", "task", &[("a", "other"), ("__error__", "worse")]).await.unwrap();
        tab.put_writes("s", "task2", &[("a", "2")]).await.unwrap();
        assert_eq!(tab.pending("s", None).await.len(), 4);
        let copied = tab.pending("f", None).await;
        assert_eq!((copied.len(), copied[0].3.as_str()), (3, "worse"));
        assert_eq!(copied.iter().find(|write| write.2 == "a").map(|write| write.3.as_str()), Some("1"));
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert_eq!(tab.pending("f", None).await, copied);
        tab.clean().await;
    }

    /// P-15
    async fn a_fork_into_a_session_that_exists_or_from_nothing_is_refused(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &[user("q")], &[]).await.unwrap();
        tab.append("taken", &[user("x")]).await.unwrap();
        let before = kit.dump().await;
        assert_eq!(code(tab.fork("s", &base.id, "taken").await), Code::AlreadyExists);
        assert_eq!(code(tab.fork("s", &base.id, "s").await), Code::AlreadyExists);
        assert_eq!(code(tab.fork("s", &cid("cp_no"), "f").await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.fork("taken", &base.id, "f").await), Code::UnknownCheckpoint);
        assert_eq!(code(tab.fork("nobody", &base.id, "f").await), Code::UnknownSession);
        assert_eq!(kit.dump().await, before);
    }

    async fn a_fork_of_a_fork_outlives_all_its_ancestors(kit) {
        let tab = kit.tab().await;
        let base = tab.put("a", &chat("m", 0..20), &[("n", "1")]).await.unwrap();
        let middle = tab.fork("a", &base.id, "b").await.unwrap();
        tab.append("b", &[user("in b")]).await.unwrap();
        let newest = tab.all("b").await.remove(0);
        tab.fork("b", &newest.id, "c").await.unwrap();
        tab.append("c", &[user("in c")]).await.unwrap();
        let expected = tab.live("c").await;
        assert_eq!(expected.messages.len(), 22);
        tab.engine.delete_session(&sid("a")).await.unwrap();
        tab.engine.delete_session(&sid("b")).await.unwrap();
        assert_eq!(tab.live("c").await, expected);
        assert!(tab.load("a").await.is_none() && tab.load("b").await.is_none());
        tab.clean().await;
        assert_eq!(middle.seq, 0);
    }

    async fn the_base_of_a_fork_is_protected_until_the_last_fork_of_it_is_deleted(kit) {
        let tab = kit.tab().await;
        let base = tab.append("s", &[user("q")]).await.unwrap();
        tab.append("s", &[user("r")]).await.unwrap();
        tab.fork("s", &base.id, "f").await.unwrap();
        tab.fork("s", &base.id, "g").await.unwrap();
        for fork in ["f", "g"] {
            assert_eq!(code(tab.delete("s", &base.id).await), Code::Protected);
            assert_eq!(tab.engine.prune(sid("s"), 0).await.unwrap().deleted, []);
            tab.engine.delete_session(&sid(fork)).await.unwrap();
        }
        tab.delete("s", &base.id).await.unwrap();
        tab.clean().await;
    }

    async fn a_fork_costs_no_copy_of_the_messages(kit) {
        let tab = kit.tab().await;
        let base = tab.put("s", &chat("m", 0..500), &[("n", "1")]).await.unwrap();
        tab.counted();
        tab.fork("s", &base.id, "f").await.unwrap();
        let counts = tab.counted();
        assert!(counts.puts == 3 && counts.bytes < 4000, "{counts:?}");
    }
}
