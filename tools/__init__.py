"""Tools of the repository: what installs servers, and what generates documentation. Not part of the package."""
