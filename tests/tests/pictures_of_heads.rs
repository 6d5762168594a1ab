//! Pictures of real heads: the face fills them, and they are the same for any number of threads.

use risorius_base::progress::no_progress;
use risorius_io::open::{OpenOptions, open_rig};
use risorius_rig::Evaluator;
use risorius_tests::data;
use risorius_view::{Background, DrawOptions, FaceLook, ScalarField, draw};

#[test]
fn heads_fill_their_pictures_on_any_thread_count() {
    let Some(data) = data("heads_fill_their_pictures_on_any_thread_count") else { return };
    for path in
        ["ict_facekit/ict_expressions.glb", "makehuman_male/makehuman_head_male.glb", "facecap/facecap.glb"]
    {
        let rig = open_rig(&data.join(path), &OpenOptions::default(), &no_progress).unwrap().rig;
        let mut weights = vec![0.0; rig.sliders.len()];
        weights[0] = 1.0;
        let positions = Evaluator::prepare(&rig).positions(&weights);
        let options = DrawOptions {
            width: 160,
            height: 160,
            background: Background::Plain([0, 0, 255, 255]),
            field: None,
            ..DrawOptions::default()
        };
        let picture = |threads: usize, options: &DrawOptions| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw(&FaceLook::prepare(&rig), &positions, options)).unwrap()
        };
        let one = picture(1, &options);
        assert!(one == picture(3, &options), "{path}");
        let face = one.pixels.iter().filter(|p| p[0] > p[2]).count() as f64 / one.pixels.len() as f64;
        assert!(face > 0.3, "{path}: the face covers {face:.2} of the picture");
        let values = (0..rig.n_vertices()).map(|v| v as f32).collect();
        let field = Some(ScalarField::spanning(values, "number"));
        assert!(one != picture(2, &DrawOptions { field, ..options }), "{path}: a field changes the picture");
    }
}
