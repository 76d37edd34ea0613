//! Bounded work for any text: counted in allocations, which do not depend on how busy the machine is. Every step of the
//! reading that grows with a sentence allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use chrono::Utc;
use homeloop::eval::{self, HomeFile};
use homeloop::home::House;
use homeloop::nlu::{Dialogue, Nlu, Request};
use serde_json::json;

use crate::sets::now;

/// Counts what each thread allocates.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn house() -> House {
    let entities: Vec<_> = (0..100)
        .map(|number| {
            json!({"id": format!("light.lamp_{number}"), "name": format!("Lamp {number} 灯"), "state": "on",
                "area": format!("room_{}", number % 10), "attributes": {"dimmable": true}})
        })
        .collect();
    let areas: Vec<_> = (0..10)
        .map(|number| json!({"id": format!("room_{number}"), "name": format!("Room {number} 房间")}))
        .collect();
    let file: HomeFile =
        serde_json::from_value(json!({"id": "h", "areas": areas, "entities": entities})).expect("a home");
    eval::house(&file, now().with_timezone(&Utc))
}

/// Allocations of one reading, after the house was read once.
fn work(nlu: &Nlu, house: &House, text: &str, language: &str) -> u64 {
    let request = Request { text, language: Some(language), area: None, device: None, now: now() };
    let before = COUNT.with(Cell::get);
    let _ = nlu.understand(&request, house, &Dialogue::default());
    COUNT.with(Cell::get) - before
}

/// Ways to make a reader work: everything that joins, nests, repeats or nearly fits.
const UNITS: [(&str, &str); 12] = [
    ("en", "turn on the lamp 1 and "),
    ("en", "except lamp 1 except "),
    ("en", "and and and "),
    ("en", "not not "),
    ("en", "twenty one and a half and a quarter "),
    ("en", "in ten minutes for two hours at seven "),
    ("en", "lampp rooom lihgt "),
    ("en", "is it on or off or "),
    ("zh", "把灯关了再"),
    ("zh", "除了除了"),
    ("zh", "百分之二十三点五度半"),
    ("zh", "灯灯灯"),
];

#[test]
fn a_long_text_costs_no_more_than_the_longest_that_is_read() {
    let (nlu, house) = (Nlu::new().expect("the language files"), house());
    for (language, unit) in UNITS {
        work(&nlu, &house, unit, language);
        let some = work(&nlu, &house, &unit.repeat(4), language);
        let most = (1..40).map(|times| work(&nlu, &house, &unit.repeat(times), language)).max().unwrap_or(0);
        let long = work(&nlu, &house, &unit.repeat(20_000), language);
        println!("{unit:?}: 4 times {some}, at most {most}, 20,000 times {long}");
        // Beyond the limit of words a text is refused: only its cutting is left to do.
        assert!(long <= most + 2_000, "{unit:?}: {long} allocations, {most} for what is read");
        // Ten times the words are not a hundred times the work of four and more: no explosion below the limit.
        assert!(most <= some.max(500) * 150, "{unit:?}: {most} allocations, {some} for four times");
    }
}
