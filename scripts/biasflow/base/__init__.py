"""The foundation of all other modules: errors, files, tables on disk, provenance, progress."""
