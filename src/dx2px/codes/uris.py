"""The addresses by which FHIR names the coding systems: those of the standard, and others that are in use."""

from __future__ import annotations

from dx2px.codes.systems import Kind, System

# Both volumes of ICD-9-CM share the first address: the kind of the resource decides which is meant.
_ADDRESSES: dict[System, tuple[str, ...]] = {
    System.ICD9CM: (
        "http://hl7.org/fhir/sid/icd-9-cm",
        "http://hl7.org/fhir/sid/icd-9-cm/diagnosis",
        "urn:oid:2.16.840.1.113883.6.103",
        "http://mimic.mit.edu/fhir/mimic/CodeSystem/mimic-diagnosis-icd9",
    ),
    System.ICD9PCS: (
        "http://hl7.org/fhir/sid/icd-9-cm",
        "http://hl7.org/fhir/sid/icd-9-cm/procedure",
        "urn:oid:2.16.840.1.113883.6.104",
        "http://mimic.mit.edu/fhir/mimic/CodeSystem/mimic-procedure-icd9",
    ),
    System.ICD10CM: (
        "http://hl7.org/fhir/sid/icd-10-cm",
        "urn:oid:2.16.840.1.113883.6.90",
        "http://mimic.mit.edu/fhir/mimic/CodeSystem/mimic-diagnosis-icd10",
    ),
    System.ICD10PCS: (
        "http://www.cms.gov/Medicare/Coding/ICD10",
        "http://hl7.org/fhir/sid/icd-10-pcs",
        "http://www.icd10data.com/icd10pcs",
        "urn:oid:2.16.840.1.113883.6.4",
        "http://mimic.mit.edu/fhir/mimic/CodeSystem/mimic-procedure-icd10",
    ),
}
_SYSTEMS = {
    (system.kind, address.lower()): system for system, named in _ADDRESSES.items() for address in named
}


def system_at(uri: object, kind: Kind) -> System | None:
    """The system that a FHIR address means for codes of this kind; None for another system, or no address."""
    return _SYSTEMS.get((kind, uri.strip().rstrip("/").lower())) if isinstance(uri, str) else None


def uri_of(system: System) -> str:
    """The address that the FHIR standard gives a system."""
    return _ADDRESSES[system][0]
