"""What `make bench` measures: ratios in one run where two things are compared, never a timed test."""
