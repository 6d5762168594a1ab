//! What acts on the face in `perform`: the options, and the scene that they mean on a face.

use crate::files::in_file;
use crate::session::{Failure, Session};
use clap::{Args, ValueEnum};
use glam::DVec3;
use risorius_anatomy::Regions;
use risorius_flesh::Face;
use risorius_io::open::read_file;
use risorius_io::specs::scene;
use risorius_perform::curve::Curve;
use risorius_perform::scene::model::Factor;
use risorius_perform::{ContactMode, Scene};
use std::path::{Path, PathBuf};

/// What acts on the face.
#[derive(Args, Debug, Clone)]
pub struct SceneArgs {
    /// Colliders, wind and forces, as JSON; meters, seconds, newtons, +Y up, +Z front. See
    /// docs/performing.md.
    #[arg(long, value_name = "FILE")]
    scene: Option<PathBuf>,
    /// Wind in the world, m/s: 0,0,-20 blows into the face.
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    wind: Option<String>,
    /// Factor on stiffness: a number for all flesh, or regions such as lips=2,cheeks=0.5. Factors multiply.
    #[arg(long, value_name = "FACTORS", allow_hyphen_values = true)]
    stiffness: Vec<String>,
    /// Factor on mass, likewise.
    #[arg(long, value_name = "FACTORS", allow_hyphen_values = true)]
    mass: Vec<String>,
    /// What keeps lips, lids, teeth and colliders apart.
    #[arg(long, value_enum, default_value_t = ContactArg::Wall)]
    contact: ContactArg,
    /// Two regions that are kept apart as well, such as cheek_left:nose.
    #[arg(long, value_name = "A:B")]
    touch: Vec<String>,
}

/// See [`ContactMode`].
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ContactArg {
    /// Nothing gets deeper than a fraction of a millimeter.
    Wall,
    /// A force that grows with depth.
    Penalty,
    /// Everything passes through everything; depths are told.
    Off,
}

impl SceneArgs {
    /// How contact is kept.
    pub fn contact(&self) -> ContactMode {
        match self.contact {
            ContactArg::Wall => ContactMode::Wall,
            ContactArg::Penalty => ContactMode::Penalty,
            ContactArg::Off => ContactMode::Off,
        }
    }

    /// The scene on a face, and the factors on the stiffness and mass of all flesh.
    pub fn resolve(
        &self,
        face: &Face,
        notes: &mut Vec<String>,
        session: &Session,
    ) -> Result<(Scene, [f64; 2]), Failure> {
        let regions = Regions::new(&face.rig, &face.anatomy);
        let region = |name: &str| regions.vertices(name);
        let wind = self.wind.as_deref().map(parse_vector).transpose()?;
        let pairs = self.touch.iter().map(|pair| parse_pair(pair)).collect::<Result<Vec<_>, _>>()?;
        let [stiffness, mass] = [("--stiffness", &self.stiffness), ("--mass", &self.mass)].map(parse_factors);
        let mut scene = match &self.scene {
            Some(path) => {
                let spec = scene::read(&read_file(path)?).map_err(in_file(path))?;
                let folder = path.parent().unwrap_or(Path::new(""));
                spec.resolve(folder, &region, notes, &session.progress()).map_err(in_file(path))?
            }
            None => Scene::default(),
        };
        if let Some(wind) = wind {
            if !scene.wind.is_empty() {
                return Err(Failure::wrong_call("the scene has wind already; leave out --wind"));
            }
            scene.wind = Curve::constant(wind);
        }
        let find = |option: &str, name: &str| {
            region(name).map_err(|problem| Failure::could_not(format!("{option}: {problem}")))
        };
        let mut global = [1.0; 2];
        let lists = [(&mut scene.stiffness, stiffness?, "--stiffness"), (&mut scene.mass, mass?, "--mass")];
        for ((list, factors, option), global) in lists.into_iter().zip(&mut global) {
            for (name, factor) in factors {
                match name {
                    None => *global *= factor,
                    Some(name) => list.push(Factor { vertices: find(option, name)?, factor }),
                }
            }
        }
        for [a, b] in pairs {
            scene.touch.push([find("--touch", a)?, find("--touch", b)?]);
        }
        Ok((scene, global))
    }
}

fn parse_vector(text: &str) -> Result<DVec3, Failure> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|x| x.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[x, y, z]) if [x, y, z].iter().all(|x| x.is_finite()) => Ok(DVec3::new(x, y, z)),
        _ => Err(Failure::wrong_call(format!(
            "--wind '{text}' is not three numbers; give m/s along X,Y,Z: 0,0,-20"
        ))),
    }
}

/// `A:B`, where `shape:NAME` is one name.
fn parse_pair(text: &str) -> Result<[&str; 2], Failure> {
    let colon = |from: usize| text[from..].find(':').map(|at| from + at);
    let first = if text.starts_with("shape:") { colon("shape:".len()) } else { colon(0) };
    let pair = first
        .map(|at| [&text[..at], &text[at + 1..]])
        .filter(|pair| pair.iter().all(|name| !name.is_empty()));
    pair.ok_or_else(|| {
        Failure::wrong_call(format!("--touch '{text}' is not two regions; give A:B, such as lips:nose"))
    })
}

/// Factors, each of a region or, without a name, of all.
fn parse_factors<'a>(
    (option, texts): (&str, &'a Vec<String>),
) -> Result<Vec<(Option<&'a str>, f64)>, Failure> {
    let one = |text: &'a str| {
        let (name, number) = match text.rsplit_once('=') {
            Some((name, number)) => (Some(name.trim()), number),
            None => (None, text),
        };
        let factor = number.trim().parse().ok().filter(|_| name != Some(""));
        let advice = "give a number, or regions with numbers such as lips=2,cheeks=0.5";
        let factor =
            factor.ok_or_else(|| Failure::wrong_call(format!("{option} '{text}' is no factor; {advice}")))?;
        Ok((name, factor))
    };
    texts.iter().flat_map(|text| text.split(',')).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_apart() {
        let texts = vec!["1.5".to_string(), "lips=2,shape:a=b=0.5".to_string()];
        let factors = parse_factors(("--mass", &texts)).unwrap();
        assert_eq!(factors, [(None, 1.5), (Some("lips"), 2.0), (Some("shape:a=b"), 0.5)]);
        assert!(parse_factors(("--mass", &vec!["lips".into()])).unwrap_err().message.contains("'lips'"));
        assert_eq!(parse_pair("lips:nose").unwrap(), ["lips", "nose"]);
        assert_eq!(parse_pair("shape:jawOpen:shape:smile").unwrap(), ["shape:jawOpen", "shape:smile"]);
        assert!(
            parse_pair("lips").is_err() && parse_pair("shape:jawOpen").is_err() && parse_pair(":a").is_err()
        );
        assert_eq!(parse_vector("0, -1,2").unwrap(), DVec3::new(0.0, -1.0, 2.0));
        assert!(parse_vector("1,2").is_err() && parse_vector("1,2,inf").is_err());
    }
}
