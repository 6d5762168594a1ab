//! Volumes and surfaces cut by a plane, checked by their areas and volumes.

mod volumes;

use glam::DVec3;
use risorius_mesh::{Edges, Polygons, TetMesh, TriMesh};
use risorius_view::{
    Coloring, Colormap, CutPieces, CutPlane, CutStyle, Finish, Piece, ScalarField, TetColors, ViewError,
    clip_piece, clip_surface, cut_tets,
};
use volumes::{ball_of_tets, ball_surface, cube_of_tets};

const GRAY: [f32; 3] = [0.4; 3];

fn cut(mesh: &TetMesh, plane: &CutPlane, style: CutStyle) -> CutPieces {
    cut_tets(mesh, plane, style, TetColors::One(GRAY), |_| Some(GRAY)).unwrap()
}

fn area(surface: &TriMesh) -> DVec3 {
    surface.corners().map(|[a, b, c]| 0.5 * (b - a).cross(c - a)).sum()
}

fn volume(pieces: &CutPieces) -> f64 {
    let mut all = pieces.section.surface.clone();
    all.append(&pieces.boundary.surface);
    all.volume()
}

fn planes() -> Vec<CutPlane> {
    let skew = CutPlane { point: DVec3::new(0.1, -0.2, 0.05), normal: DVec3::new(1.0, -2.0, 0.7) };
    let tilted = CutPlane { point: DVec3::ZERO, normal: DVec3::new(1.0, 1.0, 1.0) };
    vec![CutPlane::sagittal(0.13), CutPlane::transverse(0.0), CutPlane::frontal(-0.5), skew, tilted]
}

#[test]
fn sections_are_flat_and_face_what_was_taken_away() {
    for mesh in [cube_of_tets(4), ball_of_tets(7)] {
        for plane in planes() {
            let section = cut(&mesh, &plane, CutStyle::Flat).section.surface;
            let normal = plane.normal.normalize();
            assert!(!section.triangles.is_empty());
            assert!(
                section.positions.iter().all(|p| (*p - plane.point).dot(normal).abs() < 1e-14),
                "{plane:?}"
            );
            let sum = area(&section);
            assert!(sum.normalize().dot(normal) > 1.0 - 1e-12);
            let each: f64 = section.corners().map(|[a, b, c]| 0.5 * (b - a).cross(c - a).length()).sum();
            assert!((each - sum.length()).abs() < 1e-12, "none is turned around or lies over another");
        }
    }
    let square = area(&cut(&cube_of_tets(4), &CutPlane::sagittal(0.13), CutStyle::Flat).section.surface);
    assert!((square - DVec3::X * 4.0).length() < 1e-12);
    // Through a layer of nodes.
    let square = area(&cut(&cube_of_tets(4), &CutPlane::sagittal(0.5), CutStyle::Flat).section.surface);
    assert!((square - DVec3::X * 4.0).length() < 1e-12);
}

#[test]
fn what_is_left_is_closed_and_has_the_right_volume() {
    let cube = cube_of_tets(4);
    for (plane, expected) in planes().iter().zip([8.0 * 1.13 / 2.0, 4.0, 2.0, f64::NAN, 4.0]) {
        let pieces = cut(&cube, plane, CutStyle::Flat);
        let kept = volume(&pieces);
        assert!(expected.is_nan() || (kept - expected).abs() < 1e-12, "{plane:?}: {kept}");
        let turned = CutPlane { normal: -plane.normal, ..*plane };
        let other = volume(&cut(&cube, &turned, CutStyle::Flat));
        assert!((kept + other - 8.0).abs() < 1e-12, "both sides make the whole: {kept} {other}");
        let gap = area(&pieces.section.surface) + area(&pieces.boundary.surface);
        assert!(gap.length() < 1e-12, "{plane:?}: {gap}");
    }
}

#[test]
fn whole_tets_are_kept_or_not() {
    let mesh = cube_of_tets(5);
    for plane in planes() {
        let pieces = cut(&mesh, &plane, CutStyle::Whole);
        let middle = |t: [u32; 4]| t.iter().map(|&v| mesh.nodes[v as usize]).sum::<DVec3>() / 4.0;
        let below = |t: [u32; 4]| (middle(t) - plane.point).dot(plane.normal) <= 1e-12;
        let expected: f64 = (0..mesh.tets.len())
            .filter(|&t| below(mesh.tets[t]))
            .map(|t| mesh.edges_of(t).determinant() / 6.0)
            .sum();
        assert!((volume(&pieces) - expected).abs() < 1e-9, "{plane:?}");
        assert!((area(&pieces.section.surface) + area(&pieces.boundary.surface)).length() < 1e-12);
    }
}

#[test]
fn quadrilaterals_are_outlined_without_their_diagonals() {
    let nodes = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let mesh = TetMesh { nodes, tets: vec![[0, 1, 2, 3]] };
    let plane = CutPlane { point: DVec3::new(0.25, 0.25, 0.25), normal: DVec3::new(1.0, 1.0, -0.5) };
    let section = cut(&mesh, &plane, CutStyle::Flat).section;
    assert_eq!(section.surface.triangles.len(), 2);
    assert!(section.outlined);
    assert_eq!(section.outline.iter().map(|o| o.count_ones()).sum::<u32>(), 4);
    let edges = Edges::of(&Polygons::from_triangles(&section.surface.triangles));
    let outer: Vec<[u32; 2]> = edges.boundary().into_iter().map(|e| edges.vertices(e)).collect();
    for (t, corners) in section.surface.triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (corners[(k + 1) % 3], corners[(k + 2) % 3]);
            assert_eq!(section.outline[t] & (1 << k) != 0, outer.contains(&[a.min(b), a.max(b)]));
        }
    }
}

#[test]
fn clipped_surfaces_end_in_the_plane_and_keep_their_colors() {
    let ball = ball_surface([0.0; 3], 1.0);
    for plane in planes() {
        let half = clip_surface(&ball, &plane);
        let height = |p: DVec3| (p - plane.point).dot(plane.normal.normalize());
        assert!(half.positions.iter().all(|&p| height(p) < 1e-8), "{plane:?}");
        let edges = Edges::of(&Polygons::from_triangles(&half.triangles));
        let rim = edges.boundary();
        assert!(rim.len() > 20 && edges.inconsistent().is_empty() && edges.non_manifold().is_empty());
        for v in rim.iter().flat_map(|&e| edges.vertices(e)) {
            assert!(height(half.positions[v as usize]).abs() < 1e-8, "only the rim is open");
        }
    }
    // Colors given as a function of position remain that function.
    let color = |p: DVec3| [p.x as f32, p.y as f32, p.z as f32];
    let colors = ball.positions.iter().map(|&p| color(p)).collect();
    let piece =
        Piece { coloring: Coloring::Vertices(colors), ..Piece::new("ball", ball.clone(), Finish::Matte) };
    let half = clip_piece(&piece, &planes()[3]);
    let Coloring::Vertices(kept) = &half.coloring else { panic!("vertices") };
    assert!(
        half.surface
            .positions
            .iter()
            .zip(kept)
            .all(|(&p, c)| (0..3).all(|k| (color(p)[k] - c[k]).abs() < 1e-6))
    );
    let values: Vec<f32> = ball.corners().map(|[a, ..]| a.y as f32).collect();
    let field = ScalarField { values, range: [-1.0, 1.0], unit: "m".into(), colormap: Colormap::Diverging };
    let half = clip_piece(&Piece { coloring: Coloring::Values(field), ..piece }, &planes()[0]);
    let Coloring::Values(kept) = &half.coloring else { panic!("values") };
    let near = |([a, b, c], &v): ([DVec3; 3], &f32)| [a, b, c].iter().any(|p| (p.y as f32 - v).abs() < 0.15);
    assert!(
        kept.values.len() == half.surface.triangles.len()
            && half.surface.corners().zip(&kept.values).all(near)
    );
}

#[test]
fn sections_know_their_tets() {
    let mesh = cube_of_tets(4);
    let middle = |t: usize| mesh.tets[t].iter().map(|&v| mesh.nodes[v as usize]).sum::<DVec3>() / 4.0;
    let values: Vec<f32> = (0..mesh.tets.len()).map(|t| middle(t).y as f32).collect();
    let field = ScalarField { values, range: [-1.0, 1.0], unit: "m".into(), colormap: Colormap::Diverging };
    for style in [CutStyle::Flat, CutStyle::Whole] {
        let plane = CutPlane::sagittal(0.13);
        let section = cut_tets(&mesh, &plane, style, TetColors::Values(&field), |_| None).unwrap();
        assert!(section.boundary.surface.triangles.is_empty(), "left out as asked");
        let Coloring::Values(shown) = &section.section.coloring else { panic!("values") };
        for ([a, b, c], value) in section.section.surface.corners().zip(&shown.values) {
            assert!((((a + b + c) / 3.0).y as f32 - value).abs() < 0.35);
        }
        assert_eq!((shown.range, shown.unit.as_str()), ([-1.0, 1.0], "m"));
    }
}

#[test]
fn broken_volumes_are_refused_or_cut_anyway() {
    let mut mesh = cube_of_tets(2);
    let colors = vec![GRAY; 3];
    let plane = CutPlane::sagittal(0.1);
    let refused = cut_tets(&mesh, &plane, CutStyle::Flat, TetColors::Each(&colors), |_| None).unwrap_err();
    assert_eq!(refused, ViewError::ColorCount { piece: "the volume".into(), expected: 48, found: 3 });
    mesh.nodes[3] = DVec3::NAN;
    mesh.nodes[5] = DVec3::splat(1e300);
    for style in [CutStyle::Flat, CutStyle::Whole] {
        for normal in [DVec3::X, DVec3::ZERO, DVec3::NAN, DVec3::splat(1e300)] {
            cut(&mesh, &CutPlane { point: DVec3::ZERO, normal }, style);
        }
    }
    mesh.tets.push([0, 1, 2, 99]);
    let refused = cut_tets(&mesh, &plane, CutStyle::Flat, TetColors::One(GRAY), |_| None).unwrap_err();
    assert!(matches!(refused, ViewError::Vertex { what: "a tet", vertex: 99, .. }));
    assert_eq!(cut(&TetMesh::default(), &plane, CutStyle::Flat).section.surface, TriMesh::default());
    let broken = TriMesh { positions: vec![DVec3::ZERO; 3], triangles: vec![[0, 1, 7], [0, 1, 2]] };
    assert_eq!(clip_surface(&broken, &plane).triangles.len(), 1);
}
