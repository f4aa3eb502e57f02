"""The laboratory: methods compared, explanations put to the test, synthetic cohorts with a planted truth.

The product never imports it.
"""
