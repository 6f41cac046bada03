//! Marks of open stores.

use super::kit::user;

contract! {
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
