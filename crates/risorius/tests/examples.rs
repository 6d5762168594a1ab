//! The programs under `examples/` run without error.

#[path = "../../../examples/contact_sheet.rs"]
mod contact_sheet;
#[path = "../../../examples/hold_brow.rs"]
mod hold_brow;
#[path = "../../../examples/shake.rs"]
mod shake;
#[path = "../../../examples/wrinkles.rs"]
mod wrinkles;

#[test]
fn a_brow_is_held() {
    hold_brow::main().unwrap();
}

#[test]
fn a_head_is_shaken() {
    shake::main().unwrap();
}

#[test]
fn a_rig_is_drawn() {
    contact_sheet::main().unwrap();
}

#[test]
fn wrinkles_are_learned_and_applied() {
    wrinkles::main().unwrap();
}
