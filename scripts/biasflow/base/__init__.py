"""What everything stands on: errors, files, tables on disk, provenance, progress."""
