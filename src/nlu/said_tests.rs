//! What is executed is what was said: random homes, sentences built for them in every language, and the actions that
//! each sentence must become, worked out from the home alone.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{NLU, request};
use crate::eval::{self, HomeFile};
use crate::home::{Arg, House, Verb};
use crate::nlu::{Dialogue, Intent, Understanding};

/// A language of the test: names of rooms and things, and sentences with `{room}`, `{name}` and `{n}`.
struct Tongue {
    code: &'static str,
    rooms: [&'static str; 6],
    /// Names of single lamps; none of them is in two rooms.
    lamps: [&'static str; 6],
    fans: [&'static str; 3],
    on_name: &'static [&'static str],
    off_name: &'static [&'static str],
    dim_name: &'static [&'static str],
    off_room: &'static [&'static str],
    off_all: &'static [&'static str],
    off_except: &'static [&'static str],
    not_name: &'static [&'static str],
    asks_name: &'static [&'static str],
}

const TONGUES: &[Tongue] = &[
    Tongue {
        code: "en",
        rooms: ["Kitchen", "Library", "Attic", "Cellar", "Studio", "Guest Room"],
        lamps: ["Piano Lamp", "Chandelier", "Reading Light", "Arc Lamp", "Wall Sconce", "Corner Light"],
        fans: ["Tower Fan", "Box Fan", "Ceiling Fan"],
        on_name: &[
            "turn on the {name}",
            "please switch the {name} on",
            "{name} on",
            "could you turn the {name} on?",
        ],
        off_name: &[
            "turn off the {name}",
            "turn the {name} off please",
            "{name} off",
            "switch off the {name} in the {room}",
        ],
        dim_name: &["set the {name} to {n} percent", "dim the {name} to {n} %", "{name} at {n} percent"],
        off_room: &[
            "turn off the lights in the {room}",
            "{room} lights off",
            "turn all the {room} lights off",
        ],
        off_all: &["turn off all the lights", "all lights off", "switch all the lights off"],
        off_except: &[
            "turn off all the lights except the {room}",
            "turn off all lights except in the {room}",
        ],
        not_name: &[
            "don't turn on the {name}",
            "please do not turn the {name} on",
            "never turn on the {name}",
        ],
        asks_name: &["is the {name} on?", "is the {name} on"],
    },
    Tongue {
        code: "zh",
        rooms: ["厨房", "书房", "阁楼", "地下室", "画室", "客房"],
        lamps: ["钢琴灯", "水晶吊灯", "阅读灯", "落地弧灯", "壁灯", "转角灯"],
        fans: ["塔扇", "鸿运扇", "吊扇"],
        on_name: &["打开{name}", "请把{name}打开", "{name}开一下", "帮我开{name}"],
        off_name: &["关掉{name}", "把{name}关了", "请关闭{name}", "把{room}的{name}关掉"],
        dim_name: &["把{name}调到百分之{n}", "{name}亮度调到{n}%", "将{name}设为百分之{n}"],
        off_room: &["关掉{room}的灯", "把{room}的灯都关了", "{room}的灯全部关掉"],
        off_all: &["关掉所有的灯", "把灯都关了", "所有灯都关掉"],
        off_except: &["除了{room}，把所有的灯都关掉", "除了{room}以外的灯都关了"],
        not_name: &["不要打开{name}", "别开{name}", "千万不要打开{name}"],
        asks_name: &["{name}开着吗", "{name}开着吗？"],
    },
    Tongue {
        code: "de",
        rooms: ["Küche", "Bibliothek", "Dachboden", "Keller", "Atelier", "Gästezimmer"],
        lamps: ["Klavierlampe", "Kronleuchter", "Leselampe", "Bogenlampe", "Wandleuchte", "Eckleuchte"],
        fans: ["Turmventilator", "Standventilator", "Deckenventilator"],
        on_name: &["schalte {name} ein", "mach bitte {name} an", "{name} einschalten", "{name} an"],
        off_name: &["schalte {name} aus", "mach {name} aus", "{name} ausschalten", "{name} aus"],
        dim_name: &["stelle {name} auf {n} Prozent", "dimme {name} auf {n} %", "{name} auf {n} Prozent"],
        off_room: &["schalte das Licht in {room} aus", "mach alle Lichter in {room} aus"],
        off_all: &["schalte alle Lichter aus", "mach alle Lampen aus"],
        off_except: &["schalte alle Lichter außer in {room} aus", "mach alle Lichter aus außer {room}"],
        not_name: &["schalte {name} nicht ein", "mach {name} nicht an"],
        asks_name: &["ist {name} an?", "ist {name} eingeschaltet?"],
    },
    Tongue {
        code: "fr",
        rooms: ["Cuisine", "Bibliothèque", "Grenier", "Cave", "Atelier", "Buanderie"],
        lamps: ["Lampe piano", "Grand lustre", "Liseuse", "Lampe arc", "Applique", "Lampe angle"],
        fans: ["Tour de vent", "Grand ventilateur", "Brasseur"],
        on_name: &["allume {name}", "allumer {name} s'il te plaît", "peux-tu allumer {name}"],
        off_name: &["éteins {name}", "éteindre {name}", "peux-tu éteindre {name}"],
        dim_name: &["règle {name} à {n} %", "mets {name} à {n} pour cent"],
        off_room: &["éteins la lumière dans {room}", "éteins les lumières de {room}"],
        off_all: &["éteins toutes les lumières"],
        off_except: &["éteins toutes les lumières sauf {room}"],
        not_name: &["n'allume pas {name}"],
        asks_name: &["est-ce que {name} est allumée ?"],
    },
    Tongue {
        code: "es",
        rooms: ["Cocina", "Biblioteca", "Desván", "Sótano", "Taller", "Lavadero"],
        lamps: ["Lámpara del piano", "Araña grande", "Flexo", "Lámpara de arco", "Aplique", "Lámpara rincón"],
        fans: ["Torre de aire", "Ventilador grande", "Abanico"],
        on_name: &["enciende {name}", "encender {name} por favor", "puedes encender {name}"],
        off_name: &["apaga {name}", "apagar {name}"],
        dim_name: &["pon {name} al {n} por ciento", "ajusta {name} al {n} %"],
        off_room: &["apaga la luz de {room}", "apaga las luces en {room}"],
        off_all: &["apaga todas las luces"],
        off_except: &["apaga todas las luces excepto {room}"],
        not_name: &["no enciendas {name}", "no enciende {name}"],
        asks_name: &["¿está {name} encendida?"],
    },
    Tongue {
        code: "nl",
        rooms: ["Keuken", "Bibliotheek", "Zolder", "Kelder", "Atelier", "Logeerkamer"],
        lamps: ["Pianolamp", "Kroonluchter", "Leeslamp", "Booglamp", "Wandlamp", "Hoeklamp"],
        fans: ["Torenventilator", "Tafelventilator", "Plafondventilator"],
        on_name: &["doe {name} aan", "zet {name} aan", "{name} aanzetten"],
        off_name: &["doe {name} uit", "schakel {name} uit", "{name} uitzetten"],
        dim_name: &["zet {name} op {n} procent", "dim {name} naar {n} %"],
        off_room: &["doe het licht in {room} uit", "zet de lampen in {room} uit"],
        off_all: &["doe alle lampen uit", "zet alle lichten uit"],
        off_except: &["doe alle lampen uit behalve in {room}", "zet alle lampen uit behalve {room}"],
        not_name: &["doe {name} niet aan", "zet {name} niet aan"],
        asks_name: &["is {name} aan?", "staat {name} aan?"],
    },
];

/// A home: which room has which lamps and fans.
#[derive(Debug, Clone)]
struct Home {
    tongue: usize,
    /// The room of each lamp, by its index.
    lamps: Vec<usize>,
    fans: Vec<usize>,
}

impl Home {
    fn tongue(&self) -> &'static Tongue {
        &TONGUES[self.tongue]
    }

    fn house(&self) -> House {
        let tongue = self.tongue();
        let areas: Vec<Value> = tongue
            .rooms
            .iter()
            .enumerate()
            .map(|(room, name)| json!({"id": format!("room{room}"), "name": name}))
            .collect();
        let lamp = |(index, room): (usize, &usize)| {
            json!({"id": format!("light.l{index}"), "name": tongue.lamps[index], "area": format!("room{room}"), "state": "on",
                "attributes": {"dimmable": true, "brightness": 120}})
        };
        let fan = |(index, room): (usize, &usize)| {
            json!({"id": format!("fan.f{index}"), "name": tongue.fans[index], "area": format!("room{room}"), "state": "off",
                "attributes": {"percentage": 0}})
        };
        let mut entities: Vec<Value> = self.lamps.iter().enumerate().map(lamp).collect();
        entities.extend(self.fans.iter().enumerate().map(fan));
        let file: HomeFile =
            serde_json::from_value(json!({"id": "random", "areas": areas, "entities": entities})).unwrap();
        eval::house(&file, super::now().to_utc())
    }

    fn lamps_where(&self, fits: impl Fn(usize) -> bool) -> Expected {
        let lamps = self.lamps.iter().enumerate().filter(|(_, room)| fits(**room));
        lamps.map(|(lamp, _)| (Verb::TurnOff.word().to_owned(), format!("light.l{lamp}"), None)).collect()
    }
}

/// Verb, entity and percentage of every action.
type Expected = BTreeSet<(String, String, Option<u32>)>;

fn home() -> impl Strategy<Value = Home> {
    (0..TONGUES.len(), prop::collection::vec(0..6usize, 2..=6), prop::collection::vec(0..6usize, 0..=3))
        .prop_map(|(tongue, lamps, fans)| Home { tongue, lamps, fans })
}

fn done(understanding: &Understanding) -> Option<Expected> {
    let Understanding::Act(intents) = understanding else { return None };
    let mut done = Expected::new();
    for intent in intents {
        let Intent::Actions(actions) = intent else { return None };
        for action in actions {
            let level = action.args.get(&Arg::BrightnessPct).and_then(|value| value.as_number());
            done.insert((
                action.verb.word().to_owned(),
                action.entity.to_string(),
                level.map(|level| level as u32),
            ));
        }
    }
    Some(done)
}

fn said(home: &Home, sentence: &str) -> Understanding {
    let request = crate::nlu::Request { language: Some(home.tongue().code), ..request(sentence, None) };
    NLU.understand(&request, &home.house(), &Dialogue::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_executed_is_what_was_said(home in home(), kind in 0..8usize, form in 0..4usize, pick in 0..6usize, level in 1..=100u32) {
        let tongue = home.tongue();
        let lamp = pick % home.lamps.len();
        let room = home.lamps[lamp];
        let fill = |forms: &[&str]| {
            forms[form % forms.len()]
                .replace("{name}", tongue.lamps[lamp])
                .replace("{room}", tongue.rooms[room])
                .replace("{n}", &level.to_string())
        };
        let one = |verb: Verb, level: Option<u32>| {
            Some(Expected::from([(verb.word().to_owned(), format!("light.l{lamp}"), level)]))
        };
        let (sentence, expected) = match kind {
            0 => (fill(tongue.on_name), one(Verb::TurnOn, None)),
            1 => (fill(tongue.off_name), one(Verb::TurnOff, None)),
            2 => (fill(tongue.dim_name), one(Verb::TurnOn, Some(level))),
            3 => (fill(tongue.off_room), Some(home.lamps_where(|there| there == room))),
            4 => (fill(tongue.off_all), Some(home.lamps_where(|_| true))),
            5 => (fill(tongue.off_except), Some(home.lamps_where(|there| there != room)).filter(|all| !all.is_empty())),
            6 => (fill(tongue.not_name), None),
            _ => (fill(tongue.asks_name), None),
        };
        let understanding = said(&home, &sentence);
        prop_assert_eq!(done(&understanding), expected, "{} in {:?}: {:?}", sentence, home, understanding);
        if kind == 7 {
            prop_assert!(matches!(understanding, Understanding::Answer { .. }), "{}: {:?}", sentence, understanding);
        }
    }
}
