//! The language-neutral meanings that the data files map words to.

/// Defines an enum of meanings with the words that the data files use for them.
macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$inner])* $variant),+ }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word in the data files.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

mod words;

pub use words::Word;

vocabulary! {
    /// What a verb asks for, before the target says which action that is.
    Pred {
        On = "on",
        Off = "off",
        Open = "open",
        Close = "close",
        /// Chinese 开: on or open, as the target takes it.
        OnOrOpen = "on_or_open",
        /// Chinese 关: off or close.
        OffOrClose = "off_or_close",
        Toggle = "toggle",
        Stop = "stop",
        Lock = "lock",
        Unlock = "unlock",
        Arm = "arm",
        ArmHome = "arm_home",
        ArmAway = "arm_away",
        ArmNight = "arm_night",
        ArmVacation = "arm_vacation",
        Disarm = "disarm",
        /// Light verbs: set, make, turn, 调, 把…弄.
        Set = "set",
        Raise = "raise",
        Lower = "lower",
        Brighter = "brighter",
        Dimmer = "dimmer",
        Louder = "louder",
        Quieter = "quieter",
        Warmer = "warmer",
        Colder = "colder",
        Faster = "faster",
        Slower = "slower",
        Play = "play",
        Pause = "pause",
        Resume = "resume",
        Next = "next",
        Previous = "previous",
        Mute = "mute",
        Unmute = "unmute",
        Start = "start",
        Dock = "dock",
        Clean = "clean",
        Locate = "locate",
        Mow = "mow",
        Water = "water",
        Press = "press",
        Run = "run",
        Activate = "activate",
        Cancel = "cancel",
        Add = "add",
        Remove = "remove",
        Broadcast = "broadcast",
        /// Tell me, show me: a question in the form of a command.
        Tell = "tell",
        Wake = "wake",
        Undo = "undo",
    }
}

vocabulary! {
    /// Words for states, in questions, conditions and "kitchen light off".
    StateWord {
        On = "on",
        Off = "off",
        Open = "open",
        Closed = "closed",
        Locked = "locked",
        Unlocked = "unlocked",
        Playing = "playing",
        Paused = "paused",
        Home = "home",
        Away = "away",
        Armed = "armed",
        Disarmed = "disarmed",
        Detected = "detected",
        Clear = "clear",
        Low = "low",
        Running = "running",
        Cleaning = "cleaning",
        Docked = "docked",
        Charging = "charging",
        Jammed = "jammed",
        Available = "available",
        Unavailable = "unavailable",
        Opening = "opening",
        Closing = "closing",
    }
}

vocabulary! {
    /// Kinds of things that people name.
    Class {
        Light = "light",
        Fan = "fan",
        Switch = "switch",
        Plug = "plug",
        Blind = "blind",
        Curtain = "curtain",
        Shade = "shade",
        Shutter = "shutter",
        Awning = "awning",
        Cover = "cover",
        GarageDoor = "garage_door",
        Gate = "gate",
        Door = "door",
        Window = "window",
        Lock = "lock",
        Alarm = "alarm",
        Climate = "climate",
        AirConditioner = "air_conditioner",
        Heating = "heating",
        Media = "media",
        Music = "music",
        Tv = "tv",
        Speaker = "speaker",
        Vacuum = "vacuum",
        Mower = "mower",
        Valve = "valve",
        Sprinkler = "sprinkler",
        Humidifier = "humidifier",
        WaterHeater = "water_heater",
        Siren = "siren",
        Camera = "camera",
        Scene = "scene",
        Script = "script",
        List = "list",
        ShoppingList = "shopping_list",
        TaskList = "task_list",
        Timer = "timer",
        Schedule = "schedule",
        Sensor = "sensor",
        Motion = "motion",
        Presence = "presence",
        Smoke = "smoke",
        Leak = "leak",
        Person = "person",
        Weather = "weather",
        Coffee = "coffee",
        Everything = "everything",
        Device = "device",
    }
}

vocabulary! {
    /// Settings and measurements.
    Attribute {
        Brightness = "brightness",
        Color = "color",
        ColorTemperature = "color_temperature",
        Temperature = "temperature",
        TargetTemperature = "target_temperature",
        Humidity = "humidity",
        Volume = "volume",
        Position = "position",
        Tilt = "tilt",
        Speed = "speed",
        Mode = "mode",
        FanMode = "fan_mode",
        Swing = "swing",
        Preset = "preset",
        Source = "source",
        Battery = "battery",
        Power = "power",
        Energy = "energy",
        Illuminance = "illuminance",
        CarbonDioxide = "carbon_dioxide",
        Pm25 = "pm25",
        AirQuality = "air_quality",
        Pressure = "pressure",
        Status = "status",
        Title = "title",
        Name = "name",
        Age = "age",
        Clock = "clock",
        Date = "date",
    }
}

vocabulary! {
    /// Named settings of climates, fans and others; the device's own words decide whether it has them.
    Mode {
        Cool = "cool",
        Heat = "heat",
        Auto = "auto",
        Dry = "dry",
        FanOnly = "fan_only",
        Eco = "eco",
        Sleep = "sleep",
        Boost = "boost",
        Comfort = "comfort",
        Away = "away",
        Home = "home",
        Low = "low",
        Medium = "medium",
        High = "high",
        Quiet = "quiet",
        Swing = "swing",
    }
}

vocabulary! {
    /// Occasions that scenes are made for.
    Occasion {
        Sleep = "sleep",
        Leave = "leave",
        Arrive = "arrive",
        Wake = "wake",
        Movie = "movie",
    }
}

vocabulary! {
    /// Remarks that ask for a change.
    Remark {
        Bright = "too_bright",
        Dark = "too_dark",
        Warm = "too_warm",
        Cold = "too_cold",
        Loud = "too_loud",
        Quiet = "too_quiet",
        Humid = "too_humid",
        Dry = "too_dry",
    }
}

vocabulary! {
    /// What people say to a house that is no command: greetings, and questions about itself.
    Talk {
        Hello = "hello",
        Maker = "maker",
        Data = "data",
        Help = "help",
        Listening = "listening",
        Thanks = "thanks",
    }
}

impl Remark {
    /// Whether there is too little of it; `None` for the air, which has no step.
    pub fn wishes_more(self) -> Option<bool> {
        match self {
            Remark::Dark | Remark::Cold | Remark::Quiet => Some(true),
            Remark::Bright | Remark::Warm | Remark::Loud => Some(false),
            Remark::Humid | Remark::Dry => None,
        }
    }
}
