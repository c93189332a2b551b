"""What a deployment would do to what is deployed: said before the engine acts, from plain values.

`deployed` reads what is there, `fields` compares one resource as its provider does, `graphs` a whole graph,
`platforms` pools and teams; `announced` says what is lost by it, and `judging` makes findings of that.
"""
