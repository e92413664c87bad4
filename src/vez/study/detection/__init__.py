"""The quality of failure detectors: measures, and curves of the trade-off.

    quality   the measures of Chen, Toueg and Aguilera
    curves    detection time and mistakes, over all values of a detector's setting
    chart     the curves as a picture

`vez detectors` uses it.
"""
