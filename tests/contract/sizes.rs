//! Long values, binaries, many channels, and what they cost.

use turnmark::codec::key::Store;
use turnmark::plan::change::Change;
use turnmark::plan::write::MAX_SPANS;

use super::kit::{Msg, assistant, body, chat, meta, named, shot, sid, user, whole};

contract! {
    /// CherryHQ/cherry-studio#6183: no row is as large as what browsers keep outside their database files.
    async fn messages_of_any_length_come_back_and_rows_stay_small(kit) {
        let tab = kit.tab().await;
        let mut messages = Vec::new();
        for size in [0, 1, 10_000, 20_400, 20_480, 20_481, 30_000, 40_960, 50_000, 200_000] {
            for letter in ["x", "é", "ж", "\u{1F600}", "xж"] {
                let text = letter.repeat(size / letter.chars().count());
                messages.push(user(&format!("{letter}{size}")).saying(&text));
            }
        }
        tab.put("put", &messages, &[]).await.unwrap();
        assert_eq!(tab.live("put").await, shot(&messages, &[]));
        for message in &messages {
            tab.append("append", std::slice::from_ref(message)).await.unwrap();
        }
        assert_eq!(tab.live("append").await, shot(&messages, &[]));
        kit.rows_are_small().await;
        tab.clean().await;
        assert_eq!(tab.live("append").await, shot(&messages, &[]));
    }

    async fn rows_of_many_small_messages_stay_small(kit) {
        let tab = kit.tab().await;
        let named = |n: usize| {
            let id = format!("{n}{}", "ж".repeat(200));
            Msg { id: Some(id), role: Some("assistant".to_owned()), text: "x".repeat(120), binaries: Vec::new() }
        };
        let messages: Vec<Msg> = (0..600).map(named).collect();
        tab.put("put", &messages, &[]).await.unwrap();
        for turn in messages.chunks(7) {
            tab.append("append", turn).await.unwrap();
        }
        kit.rows_are_small().await;
        assert_eq!(tab.live("append").await, shot(&messages, &[]));
        // A role is looked at and no more: a long one is kept in the message, not beside it.
        let odd = Msg { role: Some("r".repeat(60_000)), ..user("odd") };
        tab.put("odd", std::slice::from_ref(&odd), &[]).await.unwrap();
        assert_eq!(tab.live("odd").await, shot(&[odd], &[]));
        kit.rows_are_small().await;
    }

    async fn binaries_come_back_are_stored_once_and_go_with_the_last_message_that_has_them(kit) {
        let tab = kit.tab().await;
        let picture: Vec<u8> = (0..200_000_u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let messages = [
            user("a").with(picture.clone()).with(Vec::new()).with(vec![0]),
            assistant("b").with(picture.clone()),
            user("c").saying(&"x".repeat(50_000)).with(picture.clone()),
        ];
        let first = tab.put("s", &messages, &[]).await.unwrap();
        let channel = vec![("screenshots".to_owned(), body("[0]", std::slice::from_ref(&picture)))];
        let change = Change::Append { keep: None, messages: Vec::new(), set: channel, remove: Vec::new(), ui: None };
        tab.write("s", change, meta()).await.unwrap();
        let live = tab.live("s").await;
        assert_eq!(live.messages, shot(&messages, &[]).messages);
        assert_eq!(live.channels["screenshots"].1, std::slice::from_ref(&picture));
        let pieces = async || kit.rows(Store::Objects).await.len();
        // The picture, the two small ones, the long message, the node and the channel's value.
        let long = pieces().await;
        assert!(long < 5 + 2 + 3 + 2 + 1, "{long}");
        kit.rows_are_small().await;
        tab.clean().await;
        tab.put("s", &[user("d")], &[]).await.unwrap();
        for checkpoint in tab.all("s").await.into_iter().skip(1) {
            tab.delete("s", &checkpoint.id).await.unwrap();
        }
        assert_eq!(pieces().await, 0);
        tab.clean().await;
        assert_eq!(first.seq, 0);
    }

    async fn a_value_may_refer_to_thousands_of_binaries(kit) {
        let tab = kit.tab().await;
        let many: Vec<Vec<u8>> = (0..3000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
        let message = Msg { binaries: many.clone(), ..user("a") };
        let channels = vec![("x".to_owned(), body(&"v".repeat(50_000), &many))];
        let change = Change::Append { keep: None, messages: vec![message.incoming()], set: channels, remove: Vec::new(), ui: None };
        tab.write("s", change, meta()).await.unwrap();
        let check = async || {
            let live = tab.live("s").await;
            assert_eq!(live.messages[0].1, many);
            assert_eq!(live.channels["x"].1, many);
        };
        check().await;
        kit.rows_are_small().await;
        tab.clean().await;
        check().await;
    }

    /// One channel of ten thousand costs a value and the path to the root.
    async fn one_changed_channel_among_ten_thousand_writes_few_rows(kit) {
        let tab = kit.tab().await;
        let names: Vec<String> = (0..10_000).map(|n| format!("entity/{n:05}")).collect();
        let channels: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        tab.put("s", &[user("a")], &channels).await.unwrap();
        tab.counted();
        let change = Change::Append { keep: None, messages: Vec::new(), set: named(&[("entity/05000", "changed")]), remove: Vec::new(), ui: None };
        tab.write("s", change, meta()).await.unwrap();
        let counts = tab.counted();
        // The value, a leaf and two branches (or two of either, where a boundary moved), the header and the head.
        assert!(counts.puts <= 9, "{counts:?}");
        assert!(counts.requests < 30, "{counts:?}");
        let live = tab.live("s").await;
        assert_eq!((live.channels.len(), live.channels["entity/05000"].0.as_str()), (10_000, "changed"));
        // As part of a whole state as well.
        let mut channels = channels;
        channels[7].1 = "changed too";
        channels[5000].1 = "changed";
        tab.counted();
        tab.put("s", &[user("a")], &channels).await.unwrap();
        let counts = tab.counted();
        assert!(counts.puts <= 9, "{counts:?}");
        kit.rows_are_small().await;
        tab.clean().await;
    }

    async fn channel_names_as_long_as_may_be_make_rows_that_stay_small(kit) {
        let tab = kit.tab().await;
        for letter in ["x", "ж", "\u{1F600}", "é"] {
            let names: Vec<String> = (0..300).map(|n| format!("{n:04}{}", letter.repeat(1020 / letter.len()))).collect();
            let mixed: Vec<String> = (0..300).map(|n| format!("ж{n:04}{}", "x".repeat(1000))).collect();
            let channels: Vec<(&str, &str)> = names.iter().chain(&mixed).map(|name| (name.as_str(), "1")).collect();
            tab.put(letter, &[], &channels).await.unwrap();
            assert_eq!(tab.live(letter).await.channels.len(), 600);
        }
        kit.rows_are_small().await;
        tab.clean().await;
    }

    /// No header grows with the history: after many edits the list is written again as one run.
    async fn a_list_of_too_many_spans_is_compacted(kit) {
        let tab = kit.tab().await;
        let mut messages = chat("m", 0..400);
        tab.put("s", &messages, &[]).await.unwrap();
        let mut due = None;
        let mut written = Vec::new();
        for n in 0..80 {
            let at = n * 4 + 1;
            messages[at] = messages[at].clone().saying(&format!("edit {n}"));
            let saved = tab.write("s", whole(&messages, &[]), meta()).await.unwrap();
            written.push((saved.checkpoint.clone(), messages.clone()));
            if saved.upkeep.compact {
                due = Some(saved);
                break;
            }
        }
        let due = due.expect("compaction is due");
        assert!(due.checkpoint.state.spans.parts() > MAX_SPANS);
        tab.engine.upkeep(&sid("s"), due.upkeep).await.unwrap();
        let session = tab.engine.session(&sid("s")).await.unwrap().unwrap();
        assert_eq!(session.state.spans.parts(), 1);
        assert_eq!(session.epoch, due.checkpoint.epoch);
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        messages.push(user("next"));
        tab.put("s", &messages, &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        for (checkpoint, messages) in written.iter().rev().take(3) {
            assert_eq!(tab.at("s", &checkpoint.id).await, shot(messages, &[]));
        }
        tab.undo("s").await.unwrap();
        messages.pop();
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        tab.clean().await;
    }

    /// However a put shuffles its messages, its header stays small.
    async fn a_put_that_shuffles_everything_makes_a_small_header(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..3000);
        tab.put("s", &messages, &[]).await.unwrap();
        let reversed: Vec<Msg> = messages.iter().rev().cloned().collect();
        let saved = tab.put("s", &reversed, &[]).await.unwrap();
        assert!(saved.state.spans.parts() <= MAX_SPANS + 1);
        assert_eq!(tab.live("s").await, shot(&reversed, &[]));
        let repeated: Vec<Msg> = (0..1000).flat_map(|_| [user("yes"), assistant("no").saying(&"n".repeat(25_000))]).collect();
        tab.put("s", &repeated, &[]).await.unwrap();
        assert_eq!(tab.live("s").await, shot(&repeated, &[]));
        kit.rows_are_small().await;
        tab.clean().await;
    }

    async fn a_chat_of_many_turns_reads_as_few_rows(kit) {
        let tab = kit.tab().await;
        let messages = chat("m", 0..1000);
        for turn in messages.chunks(2) {
            tab.append("s", turn).await.unwrap();
        }
        let rows = kit.rows(Store::Messages).await.len();
        assert!(rows < 40, "{rows}");
        assert_eq!(tab.live("s").await, shot(&messages, &[]));
        kit.rows_are_small().await;
        tab.clean().await;
    }

    /// As does a whole state, for an engine that knows the one before.
    async fn a_put_of_one_more_message_writes_the_same_at_any_length(kit) {
        let cost = async |session: &str, length: usize| {
            let tab = kit.tab().await;
            let messages = chat("m", 0..length + 20);
            tab.put(session, &messages[..length], &[("x", "1")]).await.unwrap();
            tab.counted();
            for n in 0..20 {
                tab.put(session, &messages[..=length + n], &[("x", "1")]).await.unwrap();
            }
            let counts = tab.counted();
            [counts.requests, counts.rounds, counts.puts, counts.deletes]
        };
        let (short, long) = (cost("short", 100).await, cost("long", 5000).await);
        for (short, long) in short.iter().zip(&long) {
            assert!(*long <= short + 20, "{short} at 100 messages, {long} at 5,000");
        }
    }

    /// A turn costs what is new, not what exists.
    async fn a_turn_costs_the_same_at_any_length(kit) {
        let cost = async |session: &str, length: usize| {
            let tab = kit.tab().await;
            tab.put(session, &chat("m", 0..length), &[("x", "1")]).await.unwrap();
            for n in 0..40 {
                tab.append(session, &[user(&n.to_string())]).await.unwrap();
            }
            tab.counted();
            let mut counts = Vec::new();
            for n in 0..320 {
                tab.append(session, &[user(&n.to_string()), assistant("yes")]).await.unwrap();
                counts.push(tab.counted());
            }
            let total = |field: fn(&super::kit::Counts) -> usize| counts.iter().map(field).sum::<usize>();
            [total(|c| c.requests), total(|c| c.rounds), total(|c| c.puts), total(|c| c.deletes), total(|c| c.bytes)]
        };
        let (short, long) = (cost("short", 100).await, cost("long", 10_000).await);
        for (short, long) in short.iter().zip(&long) {
            assert!(*long <= short + short / 10 + 8, "{short} at 100 messages, {long} at 10,000");
        }
        assert!(short[0] < 320 * 4 && short[2] < 320 * 4, "{short:?}");
    }
}
