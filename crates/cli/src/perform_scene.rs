//! The options of `perform` for what acts on the face, and their parsing.

use crate::outcome::Failure;
use clap::{Args, ValueEnum};
use risorius::jobs::perform::{RegionFactor, SceneSource};
use risorius::perform::ContactMode;
use std::path::PathBuf;

/// What acts on the face.
#[derive(Args, Debug, Clone)]
pub struct SceneArgs {
    /// JSON file with colliders, wind and forces, in meters, seconds and newtons, +Y up, +Z front. See
    /// docs/performing.md.
    #[arg(long, value_name = "FILE")]
    scene: Option<PathBuf>,
    /// Velocity of the wind in the world, m/s, e.g. 0,0,-20 for wind from the front. 0,0,0 is still air,
    /// which a moving head feels. Default: no air at all.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    wind: Option<String>,
    /// Factor on stiffness, positive: a number for all flesh, or regions such as lips=2,cheeks=0.5. Factors
    /// multiply; default 1.
    #[arg(long, value_name = "FACTORS", allow_hyphen_values = true)]
    stiffness: Vec<String>,
    /// Factor on softness, positive: the inverse of --stiffness. cheeks=2 makes cheeks half as stiff.
    #[arg(long, value_name = "FACTORS", allow_hyphen_values = true)]
    soft: Vec<String>,
    /// Factor on mass, positive: a number for all flesh, or regions such as lips=2,cheeks=0.5. Factors
    /// multiply; default 1.
    #[arg(long, value_name = "FACTORS", allow_hyphen_values = true)]
    mass: Vec<String>,
    /// How contacts of lips, lids, teeth and colliders are enforced.
    #[arg(long, value_enum, default_value_t = ContactArg::Wall)]
    contact: ContactArg,
    /// How strongly lips that touch in the neutral resist being parted, Pa, 0 or more, as a film of saliva
    /// does; typical values are 500 to 1500.
    #[arg(long, value_name = "PA", default_value_t = 0.0, allow_negative_numbers = true)]
    pub adhesion: f64,
    /// A further collision pair of two regions, such as cheek_left:nose. May be repeated.
    #[arg(long, value_name = "A:B")]
    touch: Vec<String>,
}

/// See [`ContactMode`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ContactArg {
    /// Penetration is usually below 0.15 mm; more where flesh is coarse or crushed.
    Wall,
    /// A force that grows with penetration depth.
    Penalty,
    /// No contact forces; penetration depth is still reported.
    Off,
}

impl SceneArgs {
    /// How contacts are enforced.
    pub fn contact(&self) -> ContactMode {
        match self.contact {
            ContactArg::Wall => ContactMode::Wall,
            ContactArg::Penalty => ContactMode::Penalty,
            ContactArg::Off => ContactMode::Off,
        }
    }

    /// For a job.
    pub fn scene(&self) -> Result<SceneSource, Failure> {
        let mut stiffness = parse_factors("--stiffness", &self.stiffness)?;
        for RegionFactor { region, factor } in parse_factors("--soft", &self.soft)? {
            if !(factor > 0.0 && factor.is_finite()) {
                return Err(Failure::wrong_call(format!("--soft {factor}: a factor must be positive")));
            }
            stiffness.push(RegionFactor { region, factor: 1.0 / factor });
        }
        Ok(SceneSource {
            scene: self.scene.clone(),
            wind: self
                .wind
                .as_deref()
                .map(|w| parse_vector("--wind", w, "m/s along X,Y,Z: 0,0,-20"))
                .transpose()?,
            touch: self.touch.iter().map(|pair| parse_pair(pair)).collect::<Result<_, _>>()?,
            stiffness,
            mass: parse_factors("--mass", &self.mass)?,
        })
    }
}

/// Three numbers of an option, separated by commas; `wanted` says which.
pub fn parse_vector(option: &str, text: &str, wanted: &str) -> Result<[f64; 3], Failure> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|x| x.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z]) if [x, y, z].iter().all(|x| x.is_finite()) => Ok([x, y, z]),
        _ => Err(Failure::wrong_call(format!("{option} '{text}' is not three numbers; give {wanted}"))),
    }
}

/// Parses `A:B`, where `shape:NAME` is one name.
fn parse_pair(text: &str) -> Result<[String; 2], Failure> {
    let colon = |from: usize| text[from..].find(':').map(|at| from + at);
    let first = if text.starts_with("shape:") { colon("shape:".len()) } else { colon(0) };
    let pair = first.map(|at| [text[..at].to_string(), text[at + 1..].to_string()]);
    pair.filter(|pair| pair.iter().all(|name| !name.is_empty())).ok_or_else(|| {
        Failure::wrong_call(format!("--touch '{text}' is not two regions; give A:B, such as lips:nose"))
    })
}

/// Parses factors, each of a region or, without a name, of all flesh.
fn parse_factors(option: &str, texts: &[String]) -> Result<Vec<RegionFactor>, Failure> {
    let one = |text: &str| {
        let (region, number) = match text.rsplit_once('=') {
            Some((name, number)) => (Some(name.trim().to_string()), number),
            None => (None, text),
        };
        let factor = number.trim().parse().ok().filter(|_| region.as_deref() != Some(""));
        let advice = "give a number, or regions with numbers such as lips=2,cheeks=0.5";
        let factor = factor
            .ok_or_else(|| Failure::wrong_call(format!("{option} '{text}' is not a factor; {advice}")))?;
        Ok(RegionFactor { region, factor })
    };
    texts.iter().flat_map(|text| text.split(',')).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_apart() {
        let texts = vec!["1.5".to_string(), "lips=2,shape:a=b=0.5".to_string()];
        let factors = parse_factors("--mass", &texts).unwrap();
        let found: Vec<_> = factors.iter().map(|f| (f.region.as_deref(), f.factor)).collect();
        assert_eq!(found, [(None, 1.5), (Some("lips"), 2.0), (Some("shape:a=b"), 0.5)]);
        assert!(parse_factors("--mass", &["lips".into()]).unwrap_err().message.contains("'lips'"));
        assert_eq!(parse_pair("lips:nose").unwrap(), ["lips", "nose"]);
        assert_eq!(parse_pair("shape:jawOpen:shape:smile").unwrap(), ["shape:jawOpen", "shape:smile"]);
        assert!(
            parse_pair("lips").is_err() && parse_pair("shape:jawOpen").is_err() && parse_pair(":a").is_err()
        );
        let vector = |text: &str| parse_vector("--wind", text, "m/s");
        assert_eq!(vector("0, -1,2").unwrap(), [0.0, -1.0, 2.0]);
        assert!(vector("1,2").is_err() && vector("1,2,inf").is_err());
    }
}
