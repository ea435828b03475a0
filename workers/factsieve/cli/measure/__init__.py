"""Measuring quality: labelled pairs, thresholds swept over them, whole decisions about them, and the page that tells of it."""
