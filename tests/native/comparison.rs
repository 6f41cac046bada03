//! Comparisons of random states: what a comparison says is enough to make the second state out of the first.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use turnmark::model::body::Text;
use turnmark::plan::diff::{How, Place};

use crate::contract::kit::{Kit, Msg, T, sid, user};
use crate::random::cases;

/// Few different messages, so that some are equal, some only have the same id, and some have none.
fn messages() -> impl Strategy<Value = Vec<Msg>> {
    let message = (0..8_u8, 0..3_u8).prop_map(|(id, text)| {
        let message = user(&format!("m{id}")).saying(&text.to_string());
        if id == 0 { Msg { id: None, ..message } } else { message }
    });
    prop::collection::vec(message, 0..14)
}

fn channels() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map((0..12_u8).prop_map(|n| format!("c{n}")), (0..3_u8).prop_map(|n| n.to_string()), 0..10)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_comparison_tells_everything_that_differs_and_nothing_else(
        a in messages(), b in messages(), old in channels(), new in channels(), apart in any::<bool>(), load in any::<bool>(),
    ) {
        pollster::block_on(async {
            let tab = Kit::fresh().await.tab().await;
            let named = |map: &BTreeMap<String, String>| map.clone().into_iter().collect::<Vec<_>>();
            let put = async |session: &str, messages: &[Msg], channels: Vec<(String, String)>| {
                let channels: Vec<(&str, &str)> = channels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let mut change = crate::contract::kit::meta();
                change.allow_empty = true;
                tab.write(session, crate::contract::kit::whole(messages, &channels), change).await.unwrap().checkpoint.id
            };
            // Of one session the second state shares what it can with the first; of two sessions they share nothing.
            let other = if apart { "t" } else { "s" };
            let from = Place { session: sid("s"), checkpoint: put("s", &a, named(&old)).await };
            let to = Place { session: sid(other), checkpoint: put(other, &b, named(&new)).await };
            let diff = tab.engine.diff(&from, &to, load).await.unwrap();

            let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
            for change in &diff.messages {
                let places = (change.from.map(|at| at as usize), change.to.map(|at| at as usize));
                match (change.how, places) {
                    (How::Removed, (Some(at), None)) => assert!(gone.insert(at)),
                    (How::Added, (None, Some(at))) => assert!(come.insert(at)),
                    (How::Changed, (Some(x), Some(y))) => {
                        assert!(load && gone.insert(x) && come.insert(y));
                        assert!(a[x].id == b[y].id && a[x].id.is_some() && a[x] != b[y]);
                    }
                    other => panic!("{other:?}"),
                }
                let text = |value: &Option<turnmark::plan::objects::Value<T>>| value.as_ref().map(|value| value.text.utf8().into_owned());
                let expected = |list: &[Msg], at: Option<usize>| at.filter(|_| load).map(|at| list[at].encoded());
                assert_eq!((text(&change.before), text(&change.after)), (expected(&a, places.0), expected(&b, places.1)));
            }
            let rest = |list: &[Msg], out: &BTreeSet<usize>| {
                list.iter().enumerate().filter(|(at, _)| !out.contains(at)).map(|(_, message)| message.clone()).collect::<Vec<_>>()
            };
            assert_eq!(rest(&a, &gone), rest(&b, &come), "what is left is the same in both");
            let prefix = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
            assert!(diff.common_prefix as usize <= prefix);
            assert!(gone.iter().chain(&come).all(|at| *at >= diff.common_prefix as usize));

            let mut channels = old.clone();
            for change in &diff.channels {
                match change.how {
                    How::Removed => assert!(channels.remove(&change.key).is_some()),
                    how => {
                        let before = channels.insert(change.key.clone(), new[&change.key].clone());
                        assert_eq!(before.is_some(), how == How::Changed);
                        assert_ne!(before.as_ref(), new.get(&change.key));
                    }
                }
            }
            assert_eq!(channels, new);
        });
    }
}
