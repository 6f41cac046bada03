//! Whether the database is what it was left as: marks of open stores, and what a witness remembers.

use turnmark::codec::key::Key;
use turnmark::codec::row::{Meta, Row};
use turnmark::ids::ScopeId;
use turnmark::plan::witness::Missing;

use super::kit::{sid, user};

contract! {
    async fn what_a_witness_remembers_and_is_not_there_is_told(kit) {
        let tab = kit.tab().await;
        for n in 0..5 {
            tab.append("s", &[user(&format!("m{n}"))]).await.unwrap();
        }
        tab.append("t", &[user("a")]).await.unwrap();
        let known = [("s", 4), ("t", 0), ("u", 3), ("s", 5)].map(|(session, last)| (sid(session), last));
        let missing = |session: &str, last, found| Missing { session: sid(session), last, found };
        let found = tab.engine.missing(&known).await.unwrap();
        assert_eq!(found, [missing("u", 3, None), missing("s", 5, Some(4))]);
        // Numbers are given once: what is pruned or deleted was there.
        tab.engine.prune(sid("s"), 1).await.unwrap();
        let newest = tab.all("s").await.remove(0);
        tab.engine.delete_checkpoint(&sid("s"), &newest.id).await.unwrap();
        assert_eq!(tab.engine.missing(&known[..2]).await.unwrap(), []);
        // One that is damaged is there. It is tried where the twin can hold such a row.
        let garbage = Row::Meta(Meta { device: tab.engine.device().clone(), created: 0 });
        let key = Key::session(&ScopeId::parse("scope").unwrap(), &sid("s"));
        if kit.can_hold(&key, &garbage) {
            kit.tamper(&key, Some(garbage)).await;
            assert_eq!(tab.engine.missing(&known[..2]).await.unwrap(), []);
        }
        assert_eq!(kit.tab_of("other", Default::default()).await.engine.missing(&known[1..2]).await.unwrap(), [missing("t", 0, None)]);
    }

    async fn a_store_that_was_not_closed_well_is_known_by_its_mark(kit) {
        let first = kit.tab().await;
        assert_eq!(first.engine.before(), []);
        first.engine.arrive(&[]).await.unwrap();
        first.append("s", &[user("a")]).await.unwrap();
        // A second store, of another scope: it sees the mark of the first, not its own.
        let second = kit.tab_of("other", Default::default()).await;
        second.engine.arrive(&[]).await.unwrap();
        assert_eq!(second.engine.before(), [first.engine.writer().clone()]);
        let mut both = [first.engine.writer().clone(), second.engine.writer().clone()];
        both.sort();
        assert_eq!(first.engine.marks().await.unwrap(), both);
        // The first is closed well, the second is not.
        first.engine.depart().await.unwrap();
        let third = kit.tab().await;
        assert_eq!(third.engine.before(), [second.engine.writer().clone()]);
        third.engine.arrive(third.engine.before()).await.unwrap();
        assert_eq!(kit.tab().await.engine.before(), [third.engine.writer().clone()]);
        third.engine.depart().await.unwrap();
        assert_eq!(first.engine.marks().await.unwrap(), []);
    }

    async fn a_mark_is_nothing_that_a_check_stumbles_over_or_that_leaves_the_database(kit) {
        let tab = kit.tab().await;
        tab.append("s", &[user("a")]).await.unwrap();
        let before = tab.engine.export(None).await.unwrap();
        tab.engine.arrive(&[]).await.unwrap();
        tab.clean().await;
        assert_eq!(crate::backend::text(&tab.engine.export(None).await.unwrap()), crate::backend::text(&before));
        // To come twice is to come once.
        tab.engine.arrive(&[]).await.unwrap();
        assert_eq!(tab.engine.marks().await.unwrap(), [tab.engine.writer().clone()]);
    }
}
