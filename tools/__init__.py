"""Tools of the repository: installers, generators of documentation, measurements. Not part of the package."""
