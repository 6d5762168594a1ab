//! `cargo xtask pictures`: redraws the pictures under `docs/pictures`, from the demo and from the ICT head.
//! `cargo xtask pictures physics` redraws only those of simulations, which need no real heads.

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

/// Flesh nodes of the built-in head in pictures of simulations.
const NODES: &str = "4000";
/// Looks of `perform`, from calm to wild.
const LOOKS: [&str; 4] = ["subtle", "natural", "strong", "cartoon"];
/// Frames of the strip of looks: landing from the hop.
const LANDING: &str = "78,80,82,84,86,88";

/// A clip of three poses that wrinkle the skin: brows up, a smile, brows down.
const WRINKLING: &str = "\
time,browInnerUp,browOuterUpLeft,browOuterUpRight,mouthSmileLeft,mouthSmileRight,\
cheekSquintLeft,cheekSquintRight,browDownLeft,browDownRight
0,1,1,1,0,0,0,0,0,0
0.1,0,0,0,1,1,1,1,0,0
0.2,0,0,0,0,0,0,0,1,1
";

/// Draws the pictures of simulations, then, unless `only_physics`, all others.
pub fn draw(only_physics: bool) -> Result<(), String> {
    let scratch = root().join("target/pictures");
    risorius(&["demo", "--nodes", NODES, "--out", &text(&scratch)])?;
    draw_physics(&scratch)?;
    if only_physics { Ok(()) } else { draw_others(&scratch) }
}

/// Sliders of the mouth whose pairs are baked for the pictures.
const BAKED: &str = "jawOpen,mouthFunnel,mouthPucker,mouthRollLower,mouthSmile*,mouthStretch*,mouthUpperUp*";

/// The strongest correctives of the mouth beside the simulation, and errors over the clip.
fn draw_baking(scratch: &Path, data: &Path) -> Result<(), String> {
    let file = |name: &str| text(&scratch.join(name));
    let (rig, face) = (text(&data.join("facecap/facecap_plain.glb")), file("facecap.face"));
    risorius(&["build", &rig, "--nodes", "3000", "--output", &face])?;
    let call = ["bake", &face, "--shapes", BAKED, "--clip", &file("talk.csv"), "--pictures", &file("baked")];
    risorius(&[&call[..], &["--output", &file("baked.glb")]].concat())?;
    for (drawn, kept) in [("correctives.png", "bake_correctives.png"), ("clip.png", "bake_clip.png")] {
        let to = root().join("docs/pictures").join(kept);
        std::fs::copy(scratch.join("baked").join(drawn), to).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The input beside two looks, as a picture that plays; and a strip of all looks.
fn draw_physics(scratch: &Path) -> Result<(), String> {
    let file = |name: &str| text(&scratch.join(name));
    let (face, clip, head) = (file("head.face"), file("talk.csv"), file("lively.csv"));
    let takes = LOOKS.map(|look| file(&format!("{look}.glb")));
    for (look, output) in LOOKS.iter().zip(&takes) {
        risorius(&["perform", &face, "--clip", &clip, "--head", &head, "--look", look, "--output", output])?;
    }
    let movie = text(&root().join("docs/pictures/performing.webp"));
    let mut call = vec!["render", &face, "--clip", &clip, "--head", &head, "--with-head"];
    call.extend(["--take", &takes[1], "--take", &takes[2], "--label", "input,natural,strong"]);
    call.extend(["--view", "25,0", "--size", "320x380", "--output", &movie]);
    risorius(&call)?;

    let labels = format!("input,{}", LOOKS.join(","));
    let strip = text(&root().join("docs/pictures/looks.png"));
    let mut call = vec!["render", &face, "--clip", &clip, "--difference", "--label", &labels];
    takes.iter().for_each(|take| call.extend(["--take", take.as_str()]));
    call.extend(["--frames", LANDING, "--view", "25,0", "--size", "230", "--output", &strip]);
    risorius(&call)
}

/// Wrinkles made for the ICT head, and the same ones transferred to two others.
fn draw_transfer(scratch: &Path, data: &Path) -> Result<(), String> {
    let file = |name: &str| text(&scratch.join(name));
    let heads = [
        ("detail_source", "ict_facekit/ict_expressions.glb"),
        ("detail_on_makehuman", "makehuman_male/makehuman_head_male.glb"),
        ("detail_on_facecap", "facecap/facecap_plain.glb"),
    ];
    let poses = file("wrinkling.csv");
    std::fs::write(&poses, WRINKLING).map_err(|e| e.to_string())?;
    let (source, source_detail) = (text(&data.join(heads[0].1)), file("detail_source.detail"));
    risorius(&["detail", "make", &source, "--age", "55", "--output", &source_detail])?;
    for (name, rig) in heads {
        let (rig, detail) = (text(&data.join(rig)), file(&format!("{name}.detail")));
        if detail != source_detail {
            let transfer = ["detail", "transfer", &source_detail, "--from", &source];
            risorius(&[&transfer[..], &["--to", &rig, "--output", &detail]].concat())?;
        }
        let take = file(&format!("{name}.npz"));
        risorius(&["detail", "apply", &detail, "--rig", &rig, "--clip", &poses, "--output", &take])?;
        let picture = text(&root().join(format!("docs/pictures/{name}.png")));
        let row = ["--frames", "0,1,2", "--view", "25,0", "--size", "330x340", "--columns", "3"];
        risorius(&[&["render", &detail, "--take", &take][..], &row, &["--output", &picture]].concat())?;
    }
    Ok(())
}

fn risorius(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--release", "--quiet", "--"]).args(arguments);
    status(command.current_dir(root()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn draw_others(scratch: &Path) -> Result<(), String> {
    let data = std::env::var_os("RISORIUS_DATA")
        .map(PathBuf::from)
        .ok_or("RISORIUS_DATA must name the real heads")?;
    let ict = data.join("ict_facekit/ict_expressions.glb");
    let folder = root().join("docs/pictures");
    let (head, picture) = (text(&ict), |name: &str| text(&folder.join(name)));

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

    draw_transfer(scratch, &data)?;
    draw_baking(scratch, &data)?;

    // Figures that tests draw on request.
    let mut tests = Command::new(env!("CARGO"));
    tests.args(["test", "--release", "--quiet", "-p", "risorius-tests"]);
    tests.args(["--test", "detail_on_heads", "--test", "detail_make"]);
    status(tests.env("RISORIUS_FULL", "1").env("RISORIUS_FIGURES", &folder).current_dir(root()))
}
