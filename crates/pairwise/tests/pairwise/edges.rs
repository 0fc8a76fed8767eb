//! Cases that GATK's results do not have.

use readmill_pairwise::{CigarBuilder, CigarError, CigarOperator, HaplotypeEvent, MAX_ELEMENT_LENGTH};

#[test]
fn elements_that_are_too_long_together_are_refused() {
    let mut builder = CigarBuilder::new();
    builder.add(MAX_ELEMENT_LENGTH, CigarOperator::HardClip).unwrap();
    let expected = CigarError::ElementTooLong { length: MAX_ELEMENT_LENGTH + 1 };
    assert_eq!(builder.add(1, CigarOperator::HardClip), Err(expected));
}

#[test]
fn alleles_with_a_common_end_are_shortened() {
    let event = |reference: &str, alternate: &str| {
        HaplotypeEvent::new(7, reference.into(), alternate.into())
            .map(|event| (event.reference, event.alternate))
    };
    assert_eq!(event("ACGTT", "AGTT"), Some((b"AC".to_vec(), b"A".to_vec())));
    for (reference, alternate) in [("AC", "AC"), ("A", "A"), ("", "A"), ("AC", ""), ("CAC", "AC")] {
        assert_eq!(event(reference, alternate), None, "{reference} {alternate}");
    }
}
