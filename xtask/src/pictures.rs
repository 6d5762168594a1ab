//! `cargo xtask pictures`: redraws the pictures under `docs/pictures`, from the demo and from the ICT head.

use crate::{root, status};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Vertices of the ICT head that move most in its `browDown` and `mouthSmile` shapes.
const BROW: &str = r#"[{"vertices": [3250, 1030]}]"#;
const CORNERS: &str = r#"[{"vertices": [6156, 5651], "axes": "y"}]"#;
/// Six vertices below the left eye.
const BELOW_EYE: &str = r#"[{"vertices": [3421, 3291, 3380, 3345, 3300, 3410]}]"#;

const PLACED: &str = "browDown_L=0.4,browDown_R=0.4";
const GOING_ON: &str = "browDown_L=0.4,browDown_R=0.4,noseSneer_L=0.9,noseSneer_R=0.9,eyeSquint_L=0.8,eyeSquint_R=0.8,\
                        mouthSmile_L=0.6,jawOpen=0.3";
const SMILE: &str = "mouthSmile_L=0.7,mouthSmile_R=0.7";
const SNEER: &str = "eyeSquint_L=0.7,noseSneer_L=0.7,noseSneer_R=0.7,mouthSmile_L=0.5";

/// Draws everything.
pub fn draw() -> Result<(), String> {
    let data = std::env::var_os("RISORIUS_DATA")
        .map(PathBuf::from)
        .ok_or("RISORIUS_DATA must name the real heads")?;
    let ict = data.join("ict_facekit/ict_expressions.glb");
    let folder = root().join("docs/pictures");
    let scratch = root().join("target/pictures");
    let risorius = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["run", "--release", "--quiet", "--"]).args(arguments);
        status(command.current_dir(root()))
    };
    let text = |path: &Path| path.display().to_string();
    let (head, picture) = (text(&ict), |name: &str| text(&folder.join(name)));

    risorius(&["demo", "--out", &text(&scratch)])?;
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    for (drawn, kept) in [("cutaway.png", "flesh_cutaway.png"), ("muscles.png", "muscles.png")] {
        std::fs::copy(scratch.join(drawn), folder.join(kept)).map_err(|e| e.to_string())?;
    }
    let brow =
        ["--from", PLACED, "--weights", GOING_ON, "--bounds", "--picture", &picture("attenuation_brow.png")];
    risorius(&[&["attenuate", &head, "--pins", BROW][..], &brow].concat())?;
    let corners = ["--weights", SMILE, "--bounds", "--picture", &picture("attenuation_corners.png")];
    risorius(&[&["attenuate", &head, "--pins", CORNERS][..], &corners].concat())?;

    let pins = text(&scratch.join("pins.json"));
    std::fs::write(&pins, BELOW_EYE).map_err(|e| e.to_string())?;
    let poses = [("alpha 25", Some("25")), ("alpha default", None), ("alpha 1000000", Some("1e6"))];
    let mut render = vec!["render".to_string(), head.clone(), "--weights".into(), SNEER.into()];
    for (name, alpha) in poses {
        let output = text(&scratch.join(format!("{name}.json")));
        let mut call = vec!["attenuate", &head, "--pins", &pins, "--weights", SNEER, "--output", &output];
        call.extend(alpha.iter().flat_map(|a| ["--alpha", a]));
        risorius(&call)?;
        render.extend(["--weights".into(), output]);
    }
    let sheet = picture("attenuation_alpha.png");
    let more = ["--pins", &pins, "--size", "480", "--columns", "2", "--view", "25,0", "--output", &sheet];
    render.extend(more.map(String::from));
    risorius(&render.iter().map(String::as_str).collect::<Vec<_>>())?;

    risorius(&["interference", &head, "--most", "40", "--output", &picture("interference.png")])?;
    let pair = ["--sliders", "noseSneer_L,browDown_L", "--output", &picture("interference_pair.png")];
    risorius(&[&["interference", &head][..], &pair].concat())?;

    // Figures that tests draw on request.
    let mut tests = Command::new(env!("CARGO"));
    tests.args(["test", "--release", "--quiet", "-p", "risorius-tests"]);
    tests.args(["--test", "detail_on_heads", "--test", "detail_make"]);
    status(tests.env("RISORIUS_FULL", "1").env("RISORIUS_FIGURES", &folder).current_dir(root()))
}
