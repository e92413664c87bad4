"""Pictures of a trace: text, Mermaid, SVG and an HTML player.

layout                      messages as arrows, intervals, safe text: the data of every format
event_labels, limits        short texts for events; the part of a long trace that is drawn
text, canvas, frame         text for a terminal; a line of it; its legend and footer
mermaid                     Mermaid sequence diagrams
svg, markup                 the space-time diagram as SVG; SVG elements
places, scale               positions and free room in the diagram; time as pixels
processes, messages         lifelines with bars and marks; arrows with labels
html, steps                 the HTML player; the events grouped into its steps
network, stress             positions of processes in the network view
"""
