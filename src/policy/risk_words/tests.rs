//! Words that warn, in every language, and words that do not.

use super::*;

const GROUPS: [Group; 9] = [
    Group::Entry,
    Group::Fire,
    Group::Heat,
    Group::Critical,
    Group::Flow,
    Group::Irrigation,
    Group::Watch,
    Group::Network,
    Group::Administration,
];

#[test]
fn risk_words_are_found_in_ten_languages() {
    for (name, group) in [
        ("Garage Door", Group::Entry),
        ("garage_door_opener", Group::Entry),
        ("GarageDoor1", Group::Entry),
        ("Garage Doors", Group::Entry),
        ("Front dооr", Group::Entry), // two Cyrillic letters
        ("ga\u{200b}rage", Group::Entry),
        ("Garagentor", Group::Entry),
        ("Haustür", Group::Entry),
        ("Portail", Group::Entry),
        ("Cerradura", Group::Entry),
        ("Cancello", Group::Entry),
        ("Portão", Group::Entry),
        ("Voordeur", Group::Entry),
        ("Гараж", Group::Entry),
        ("车库门", Group::Entry),
        ("小院的门", Group::Entry),
        ("玄関の鍵", Group::Entry),
        ("Ｇａｒａｇｅ", Group::Entry),
        ("Oven", Group::Fire),
        ("Wasserkocher", Group::Fire),
        ("Fer à repasser", Group::Fire),
        ("厨房烤箱", Group::Fire),
        ("Freezer", Group::Critical),
        ("холодильник", Group::Critical),
        ("Sump pump", Group::Critical),
        ("Pump", Group::Flow),
        ("燃气总阀", Group::Flow),
        ("Doorbell chime", Group::Watch),
        ("客厅摄像头", Group::Watch),
        ("Wi-Fi", Group::Network),
        ("路由器插座", Group::Network),
        ("Permit join", Group::Administration),
    ] {
        assert!(holds(name, group), "{name} {group:?}");
    }
}

#[test]
fn lamps_and_parts_of_words_are_no_risk() {
    for name in [
        "Garage light",
        "Garage door light",
        "Garage ceiling light",
        "Light of the garage",
        "Lampe du garage",
        "车库灯",
        "车库的灯带",
        "ガレージのライト",
        "Door LED",
        "Outdoor socket",
        "Investigate",
        "Environment",
        "Blockade",
        "门厅插座",
        "厦门",
        "Fan",
        "",
    ] {
        for group in GROUPS {
            assert!(!holds(name, group), "{name} {group:?}");
        }
    }
}

#[test]
fn a_lamp_elsewhere_in_the_name_excuses_nothing() {
    assert!(holds("Garage door and light", Group::Entry));
    assert!(holds("Light switch panel garage opener", Group::Entry));
}

/// A name for each group in each language, as people write names: in order English, German, French, Spanish, Italian,
/// Portuguese, Dutch, Russian, Chinese, Japanese.
const NAMES: [(Group, [&str; 10]); 9] = [
    (
        Group::Entry,
        [
            "Side Gate 2",
            "Garagentor links",
            "Serrure d'entrée",
            "Puerta del patio",
            "Cancello auto",
            "Portão da rua",
            "Voordeur slot",
            "Ворота во двор",
            "后院大门",
            "ガレージのシャッター",
        ],
    ),
    (
        Group::Fire,
        [
            "Kitchen Oven",
            "Wasserkocher Küche",
            "Bouilloire",
            "Horno cocina",
            "Ferro da stiro",
            "Fogão",
            "Strijkijzer",
            "Чайник на кухне",
            "厨房电磁炉",
            "台所のコンロ",
        ],
    ),
    (
        Group::Heat,
        [
            "Bedroom heater",
            "Heizlüfter Bad",
            "Radiateur salon",
            "Calefactor baño",
            "Stufa a pellet",
            "Aquecedor quarto",
            "Verwarming zolder",
            "Обогреватель спальня",
            "卧室取暖器",
            "寝室のヒーター",
        ],
    ),
    (
        Group::Critical,
        [
            "Garage freezer",
            "Kühlschrank Keller",
            "Congélateur",
            "Acuario",
            "Frigorifero",
            "Geladeira",
            "Koelkast",
            "Холодильник",
            "客厅鱼缸",
            "冷蔵庫",
        ],
    ),
    (
        Group::Flow,
        [
            "Well pump",
            "Ventil Heizraum",
            "Vanne principale",
            "Bomba de agua",
            "Valvola gas",
            "Válvula de gás",
            "Kraan buiten",
            "Насос подвал",
            "燃气阀门",
            "井戸のポンプ",
        ],
    ),
    (
        Group::Irrigation,
        [
            "Lawn sprinkler",
            "Rasensprenger",
            "Arrosage jardin",
            "Riego huerto",
            "Irrigazione orto",
            "Rega do jardim",
            "Tuinsproeier",
            "Полив газона",
            "花园浇花",
            "庭のスプリンクラー",
        ],
    ),
    (
        Group::Watch,
        [
            "Porch camera",
            "Rauchmelder Flur",
            "Sonnette",
            "Cámara entrada",
            "Telecamera",
            "Campainha",
            "Rookmelder",
            "Камера двор",
            "走廊摄像头",
            "玄関カメラ",
        ],
    ),
    (
        Group::Network,
        [
            "Router",
            "WLAN Gäste",
            "Routeur",
            "Reiniciar",
            "Riavvia",
            "Roteador",
            "Netwerk herstart",
            "Роутер",
            "书房路由器",
            "ルーター再起動",
        ],
    ),
    (
        Group::Administration,
        [
            "Permit join",
            "Anlernen",
            "Appairage",
            "Emparejar",
            "Abbinamento",
            "Emparelhar",
            "Koppelen",
            "Прошивка",
            "恢复出厂设置",
            "ペアリング",
        ],
    ),
];

#[test]
fn every_group_warns_in_each_of_the_ten_languages() {
    for (group, names) in NAMES {
        for name in names {
            for written in [name.to_owned(), name.to_uppercase(), name.replace(' ', "_"), format!("{name} 3")]
            {
                assert!(holds(&written, group), "{written} {group:?}");
            }
        }
    }
}

/// Whatever is listed is found, also beside other words, and a light beside it excuses it.
#[test]
fn every_listed_word_is_found() {
    let mut listed = 0;
    for (group, words) in WORDS {
        for word in *words {
            listed += 1;
            for name in [(*word).to_owned(), format!("{word} 1"), format!("No. 2 {word}")] {
                assert!(holds(&name, *group), "{name} {group:?}");
            }
            for name in [format!("{word} lamp"), format!("{word}灯")] {
                assert!(!holds(&name, *group), "{name} {group:?}");
            }
        }
    }
    assert!(listed > 400, "{listed}");
}

/// ガス is gas, and カス is none.
#[test]
fn a_mark_that_makes_another_letter_is_no_accent() {
    assert!(holds("ガス", Group::Flow));
    assert!(!holds("カス", Group::Flow));
}

/// A gate and a light behind one relay are two things; a gate's light is one.
#[test]
fn a_middle_dot_parts_two_things() {
    assert!(!holds("門灯", Group::Entry) && !holds("門の灯", Group::Entry));
    assert!(holds("門・灯", Group::Entry));
}
