"""What people look at: figures and pages made from cohorts, models and results."""
