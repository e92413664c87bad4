"""Pictures of a trace: text, Mermaid, SVG and an HTML player."""
