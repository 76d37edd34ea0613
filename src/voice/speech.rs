//! A client of Wyoming's speech services: a WAV file to text, and text to a WAV file.
//!
//! Source: the `asr` and `tts` events of the protocol as Home Assistant 2026.11 sends them. The services are trusted as
//! little as anybody: each exchange has one time limit, and what comes back has a largest size. Nothing here knows
//! what the text means.

use std::io::Cursor;
use std::time::Duration;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use serde_json::json;
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::frame::{Event, FrameError, read_event, write_event};

/// Bytes of sound in one event.
const CHUNK: usize = 4096;
/// Most sound that is taken back, in bytes.
const MAX_SPEECH: usize = 8 * 1024 * 1024;

/// Where the services are, and what they may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechSettings {
    /// `host:port` of speech-to-text and of text-to-speech; `None`: not there.
    pub stt: Option<String>,
    pub tts: Option<String>,
    /// Longest utterance.
    pub longest: Duration,
    /// Longest wait for one exchange.
    pub within: Duration,
}

/// Why there is no text or no speech.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    #[error("the audio is no WAV file with whole samples: {0}")]
    Wav(#[from] hound::Error),
    #[error(
        "the audio has {channels} channels of {bits} bits at {rate} Hz; expected 1 or 2 of 16 bits at 8000 to 48000 Hz"
    )]
    Format { channels: u16, bits: u16, rate: u32 },
    #[error("the audio lasts {0} s; at most {1} s are taken")]
    TooLong(u64, u64),
    #[error("no speech was heard")]
    Nothing,
    #[error("no {0} service is configured (voice.speech.{0})")]
    NotConfigured(&'static str),
    #[error("the {0} service did not answer within {1} s")]
    Silent(&'static str, u64),
    #[error("the {0} service cannot be reached: {1}")]
    Unreachable(&'static str, std::io::Error),
    #[error("the {0} service broke off: {1}")]
    Broken(&'static str, String),
}

/// Sound as it goes over the wire: 16 bit little endian samples.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sound {
    rate: u32,
    channels: u16,
    samples: Vec<u8>,
}

/// The words in a WAV file.
pub async fn transcribe(
    wav: &[u8],
    language: &str,
    settings: &SpeechSettings,
) -> Result<String, SpeechError> {
    let sound = Sound::read(wav, settings.longest)?;
    let at = settings.stt.as_deref().ok_or(SpeechError::NotConfigured("stt"))?;
    let text = bounded("stt", settings.within, exchange_sound(at, sound, language)).await?;
    let text = text.trim();
    // Recognisers write what is no speech in brackets: [MUSIC], (coughs).
    let noise =
        (text.starts_with('[') && text.ends_with(']')) || (text.starts_with('(') && text.ends_with(')'));
    if text.is_empty() || noise { Err(SpeechError::Nothing) } else { Ok(text.to_owned()) }
}

/// A WAV file of `text`.
pub async fn synthesize(
    text: &str,
    language: &str,
    settings: &SpeechSettings,
) -> Result<Vec<u8>, SpeechError> {
    let at = settings.tts.as_deref().ok_or(SpeechError::NotConfigured("tts"))?;
    let sound = bounded("tts", settings.within, exchange_text(at, text, language)).await?;
    sound.write()
}

async fn bounded<T>(
    service: &'static str,
    within: Duration,
    exchange: impl Future<Output = Result<T, SpeechError>>,
) -> Result<T, SpeechError> {
    match tokio::time::timeout(within, exchange).await {
        Ok(result) => result,
        Err(_) => Err(SpeechError::Silent(service, within.as_secs())),
    }
}

async fn connect(service: &'static str, at: &str) -> Result<TcpStream, SpeechError> {
    let stream = TcpStream::connect(at).await.map_err(|error| SpeechError::Unreachable(service, error))?;
    // Small events in a row must not wait for each other.
    stream.set_nodelay(true).map_err(|error| SpeechError::Unreachable(service, error))?;
    Ok(stream)
}

async fn exchange_sound(at: &str, sound: Sound, language: &str) -> Result<String, SpeechError> {
    const SERVICE: &str = "stt";
    let broken = |error: std::io::Error| SpeechError::Broken(SERVICE, error.to_string());
    let (reader, mut writer) = connect(SERVICE, at).await?.into_split();
    let format = json!({"rate": sound.rate, "width": 2, "channels": sound.channels});
    write_event(&mut writer, &Event::new("transcribe", json!({"language": language})))
        .await
        .map_err(broken)?;
    write_event(&mut writer, &Event::new("audio-start", format.clone())).await.map_err(broken)?;
    for piece in sound.samples.chunks(CHUNK) {
        let mut event = Event::new("audio-chunk", format.clone());
        event.payload = piece.to_vec();
        write_event(&mut writer, &event).await.map_err(broken)?;
    }
    write_event(&mut writer, &Event::new("audio-stop", json!({}))).await.map_err(broken)?;
    let mut reader = BufReader::new(reader);
    loop {
        let event = next(SERVICE, &mut reader).await?;
        match event.kind.as_str() {
            "transcript" => return Ok(event.text("text").unwrap_or_default().to_owned()),
            "error" => return Err(told(SERVICE, &event)),
            _ => {}
        }
    }
}

async fn exchange_text(at: &str, text: &str, language: &str) -> Result<Sound, SpeechError> {
    const SERVICE: &str = "tts";
    let (reader, mut writer) = connect(SERVICE, at).await?.into_split();
    let asked = Event::new("synthesize", json!({"text": text, "voice": {"language": language}}));
    let sent = write_event(&mut writer, &asked).await;
    sent.map_err(|error| SpeechError::Broken(SERVICE, error.to_string()))?;
    let mut reader = BufReader::new(reader);
    let mut sound: Option<Sound> = None;
    loop {
        let event = next(SERVICE, &mut reader).await?;
        match (event.kind.as_str(), &mut sound) {
            ("audio-start", _) => sound = Some(Sound::announced(&event)?),
            ("audio-chunk", Some(sound)) if sound.samples.len() + event.payload.len() <= MAX_SPEECH => {
                sound.samples.extend_from_slice(&event.payload);
            }
            ("audio-chunk", _) => {
                let why = format!("it sent more than {MAX_SPEECH} bytes, or sound before its start");
                return Err(SpeechError::Broken(SERVICE, why));
            }
            ("audio-stop", _) => return sound.ok_or(SpeechError::Nothing),
            ("error", _) => return Err(told(SERVICE, &event)),
            _ => {}
        }
    }
}

async fn next(
    service: &'static str,
    reader: &mut BufReader<tokio::net::tcp::OwnedReadHalf>,
) -> Result<Event, SpeechError> {
    match read_event(reader).await {
        Ok(Some(event)) => Ok(event),
        Ok(None) => Err(SpeechError::Broken(service, "it closed the connection".into())),
        Err(
            error @ (FrameError::Io(_)
            | FrameError::Header
            | FrameError::Data(_)
            | FrameError::TooLong { .. }),
        ) => Err(SpeechError::Broken(service, error.to_string())),
    }
}

fn told(service: &'static str, event: &Event) -> SpeechError {
    SpeechError::Broken(service, event.text("text").unwrap_or("it told an error without words").to_owned())
}

impl Sound {
    /// Reads a WAV file; nothing is guessed about what it lacks.
    fn read(wav: &[u8], longest: Duration) -> Result<Self, SpeechError> {
        let mut reader = WavReader::new(Cursor::new(wav))?;
        let WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format } = reader.spec();
        if !matches!(channels, 1 | 2)
            || bits != 16
            || sample_format != SampleFormat::Int
            || !(8_000..=48_000).contains(&rate)
        {
            return Err(SpeechError::Format { channels, bits, rate });
        }
        let seconds = u64::from(reader.duration()) / u64::from(rate);
        if seconds > longest.as_secs() {
            return Err(SpeechError::TooLong(seconds, longest.as_secs()));
        }
        let mut samples = Vec::with_capacity(wav.len());
        for sample in reader.samples::<i16>() {
            samples.extend_from_slice(&sample?.to_le_bytes());
        }
        if samples.is_empty() { Err(SpeechError::Nothing) } else { Ok(Self { rate, channels, samples }) }
    }

    /// The format that a service announces.
    fn announced(event: &Event) -> Result<Self, SpeechError> {
        let number = |key: &str| event.data.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let (rate, width, channels) = (number("rate"), number("width"), number("channels"));
        match (u32::try_from(rate), width, u16::try_from(channels)) {
            (Ok(rate @ 8_000..=48_000), 2, Ok(channels @ 1..=2)) => {
                Ok(Self { rate, channels, samples: Vec::new() })
            }
            _ => Err(SpeechError::Broken(
                "tts",
                format!("it speaks with {channels} channels of {width} bytes at {rate} Hz"),
            )),
        }
    }

    fn write(&self) -> Result<Vec<u8>, SpeechError> {
        let spec = WavSpec {
            channels: self.channels,
            sample_rate: self.rate,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let mut file = Cursor::new(Vec::with_capacity(self.samples.len() + 44));
        let mut writer = WavWriter::new(&mut file, spec)?;
        for sample in self.samples.chunks_exact(2) {
            if let [low, high] = sample {
                writer.write_sample(i16::from_le_bytes([*low, *high]))?;
            }
        }
        writer.finalize()?;
        Ok(file.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(channels: u16, bits: u16, rate: u32) -> Vec<u8> {
        let spec =
            WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format: SampleFormat::Int };
        let mut file = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut file, spec).unwrap();
        for number in 0..rate {
            for _ in 0..channels {
                writer.write_sample((number % 100) as i8).unwrap();
            }
        }
        writer.finalize().unwrap();
        file.into_inner()
    }

    #[test]
    fn sound_survives_both_ways() {
        let wav = spec(1, 16, 16_000);
        let sound = Sound::read(&wav, Duration::from_secs(1)).unwrap();
        assert_eq!((sound.rate, sound.channels, sound.samples.len()), (16_000, 1, 32_000));
        assert_eq!(Sound::read(&sound.write().unwrap(), Duration::from_secs(1)).unwrap(), sound);
    }

    #[test]
    fn what_no_service_takes_is_refused() {
        let second = Duration::from_secs(1);
        assert!(matches!(Sound::read(b"", second), Err(SpeechError::Wav(_))));
        assert!(matches!(Sound::read(b"RIFF....WAVE", second), Err(SpeechError::Wav(_))));
        let whole = spec(1, 16, 16_000);
        assert!(Sound::read(&whole[..whole.len() / 2], second).is_err(), "half a file");
        assert!(matches!(Sound::read(&spec(1, 8, 16_000), second), Err(SpeechError::Format { bits: 8, .. })));
        assert!(matches!(
            Sound::read(&spec(1, 16, 4_000), second),
            Err(SpeechError::Format { rate: 4_000, .. })
        ));
        assert!(matches!(Sound::read(&whole, Duration::ZERO), Err(SpeechError::TooLong(1, 0))));
    }
}
