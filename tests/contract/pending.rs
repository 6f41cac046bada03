//! Pending writes.

use turnmark::error::Code;
use turnmark::ids::TaskId;

use super::kit::{assistant, body, code, sid, user};

contract! {
    /// P-02
    async fn pending_writes_belong_to_the_newest_checkpoint_and_stay_with_it(kit) {
        let tab = kit.tab().await;
        let first = tab.append("s", &[user("a")]).await.unwrap();
        tab.put_writes("s", "task", &[("x", "1"), ("y", "2")]).await.unwrap();
        let write = |index: i64, channel: &str, value: &str| ("task".to_owned(), index, channel.to_owned(), value.to_owned());
        let expected = [write(0, "x", "1"), write(1, "y", "2")];
        assert_eq!(tab.pending("s", None).await, expected);
        tab.append("s", &[assistant("b")]).await.unwrap();
        assert_eq!(tab.pending("s", None).await, []);
        assert_eq!(kit.tab().await.pending("s", Some(&first.id)).await, expected);
        tab.clean().await;
    }

    /// P-02: a task that is run again adds nothing.
    async fn a_write_is_made_once_by_task_and_place(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "first"), ("x", "second")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "again"), ("y", "again"), ("z", "third")]).await.unwrap();
        tab.put_writes("s", "u", &[("x", "of another")]).await.unwrap();
        let values: Vec<String> = tab.pending("s", None).await.into_iter().map(|write| format!("{} {} {}", write.0, write.2, write.3)).collect();
        assert_eq!(values, ["t x first", "t x second", "t z third", "u x of another"]);
        assert_eq!(tab.all("s").await[0].pending, 4);
        tab.clean().await;
    }

    /// P-02
    async fn special_channels_overwrite_each_at_a_place_of_its_own(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        for round in ["old", "new"] {
            let special = ["__error__", "__scheduled__", "__interrupt__", "__resume__"].map(|channel| (channel, round));
            tab.put_writes("s", "t", &[("x", round)]).await.unwrap();
            for write in special {
                tab.put_writes("s", "t", &[write]).await.unwrap();
            }
        }
        let places: Vec<(i64, String)> = tab.pending("s", None).await.into_iter().map(|write| (write.1, write.3)).collect();
        let new = |place| (place, "new".to_owned());
        assert_eq!(places, [new(-4), new(-3), new(-2), new(-1), (0, "old".to_owned())]);
        tab.put_writes("s", "t", &[("__error__", "1"), ("y", "ordinary"), ("__error__", "2")]).await.unwrap();
        let writes = tab.pending("s", None).await;
        assert_eq!((writes.len(), writes[3].3.as_str(), writes[5].2.as_str()), (6, "2", "y"));
        assert_eq!(tab.all("s").await[0].pending, 6);
        tab.clean().await;
    }

    /// P-02: strings are ordered by code point, whatever order the database has.
    async fn pending_writes_are_ordered_by_task_then_place(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        for task in ["b", "\u{10000}", "a", "\u{FFFF}", "B", "a1", "é"] {
            let many: Vec<(&str, &str)> = (0..12).map(|_| ("x", "1")).collect();
            tab.put_writes("s", task, &many).await.unwrap();
        }
        let order: Vec<(String, i64)> = tab.pending("s", None).await.into_iter().map(|write| (write.0, write.1)).collect();
        let tasks = ["B", "a", "a1", "b", "é", "\u{FFFF}", "\u{10000}"];
        let expected: Vec<(String, i64)> = tasks.iter().flat_map(|task| (0..12).map(|at| ((*task).to_owned(), at))).collect();
        assert_eq!(order, expected);
    }

    async fn pending_writes_may_be_long_and_hold_binaries(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        let long = "ж".repeat(60_000);
        let values = vec![("x".to_owned(), body(&long, &[])), ("y".to_owned(), body("two", &[vec![1; 100_000], vec![2]]))];
        tab.engine.put_writes(&sid("s"), &TaskId::parse("t").unwrap(), &values).await.unwrap();
        let check = async || {
            let loaded = tab.engine.load(&sid("s"), None).await.unwrap().unwrap();
            let bytes: Vec<usize> = loaded.pending[1].value.refs.iter().map(|hash| loaded.contents.binaries.get(hash).unwrap().len()).collect();
            assert_eq!(bytes, [100_000, 1]);
            assert_eq!(tab.pending("s", None).await[0].3, long);
        };
        check().await;
        tab.clean().await;
        check().await;
        kit.rows_are_small().await;
    }

    /// P-02
    async fn pending_writes_need_a_checkpoint(kit) {
        let tab = kit.tab().await;
        assert_eq!(code(tab.put_writes("nobody", "t", &[("x", "1")]).await), Code::UnknownSession);
        tab.engine.set_title(&sid("blank"), Some("x".to_owned())).await.unwrap();
        assert_eq!(code(tab.put_writes("blank", "t", &[("x", "1")]).await), Code::UnknownCheckpoint);
        tab.append("s", &[user("a")]).await.unwrap();
        let name = "x".repeat(1025);
        assert_eq!(code(tab.put_writes("s", "t", &[("ok", "1"), (&name, "1")]).await), Code::TooLarge);
        assert_eq!(code(TaskId::parse("")), Code::InvalidId);
        assert_eq!(tab.pending("s", None).await, []);
        tab.put_writes("s", "t", &[]).await.unwrap();
    }

    async fn deleting_a_checkpoint_deletes_its_pending_writes(kit) {
        let tab = kit.tab().await;
        let first = tab.append("s", &[user("a")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "1")]).await.unwrap();
        tab.append("s", &[user("b")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "2")]).await.unwrap();
        tab.engine.delete_checkpoint(&sid("s"), &first.id).await.unwrap();
        assert_eq!(kit.rows(turnmark::codec::key::Store::Writes).await.len(), 1);
        tab.engine.delete_session(&sid("s")).await.unwrap();
        assert!(kit.rows(turnmark::codec::key::Store::Writes).await.is_empty());
    }

    /// A checkpoint with pending writes is not pruned (requirements 6.2, ruling 1).
    async fn a_checkpoint_with_pending_writes_is_not_pruned(kit) {
        let tab = kit.tab_keeping(1, 0).await;
        let first = tab.append("s", &[user("a")]).await.unwrap();
        tab.put_writes("s", "t", &[("x", "1")]).await.unwrap();
        for n in 0..4 {
            tab.append("s", &[user(&n.to_string())]).await.unwrap();
        }
        assert_eq!(tab.ids("s").await.last(), Some(&first.id.to_string()));
        assert_eq!(tab.ids("s").await.len(), 2);
    }
}
